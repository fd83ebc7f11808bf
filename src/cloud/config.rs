use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::Url;

use super::{InvalidRate, Rate, RetrySchedule};

/// The variable that names the IaaS API, without `/v2`.
const IAAS_VARIABLE: &str = "STACKIT_IAAS_ENDPOINT";
/// The variable that names the token endpoint, with its whole path, whatever the word says.
const TOKEN_VARIABLE: &str = "STACKIT_TOKEN_BASEURL";

/// How STACKIT is called.
#[derive(Debug, Clone, PartialEq)]
pub struct CloudConfig {
    /// Where the IaaS API is.
    pub iaas_endpoint: Endpoint,
    /// Where tokens are given out. None: what the key says, else STACKIT's own place.
    pub token_endpoint: Option<Endpoint>,
    /// How many requests all shoots may make together; none lifts the limit.
    pub rate: Option<Rate>,
    /// How many requests the shoots of one project may make; none lifts the limit.
    pub rate_project: Option<Rate>,
    /// A file of certificates (PEM) that are trusted besides those of the system.
    pub ca_bundle: Option<PathBuf>,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long one request may take, its answer included.
    pub request_timeout: Duration,
    /// How long a call may take with all its tries and pauses, not counted the time in the limiters' queues. Getting a
    /// token has a deadline of its own, as long as this one.
    pub call_deadline: Duration,
    /// When a call is tried again.
    pub retries: RetrySchedule,
}

/// Why STACKIT cannot be called as configured.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A variable's value is of no use.
    #[error("{name}: {error}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What is wrong.
        error: InvalidEndpoint,
    },
    /// A default of this program is wrong.
    #[error(transparent)]
    Endpoint(#[from] InvalidEndpoint),
    /// A default of this program is wrong.
    #[error(transparent)]
    Rate(#[from] InvalidRate),
    /// The CA bundle.
    #[error("--ca-bundle {}: {message}", path.display())]
    CaBundle {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The HTTP client.
    #[error("cannot set up the HTTP client: {0}; an image without certificate authorities needs --ca-bundle")]
    Client(String),
}

impl CloudConfig {
    /// The defaults, with the endpoints that the environment names: `STACKIT_IAAS_ENDPOINT` (without `/v2`) and
    /// `STACKIT_TOKEN_BASEURL` (the whole URL of the token endpoint), as STACKIT's Go SDK understands them.
    ///
    /// # Errors
    /// [`ConfigError::Variable`] when one of them is no endpoint.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// As [`Self::from_env`], with the environment as an argument. An empty value is none.
    ///
    /// # Errors
    /// As [`Self::from_env`].
    pub fn from_variables(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let endpoint = |name: &'static str, parse: fn(&str) -> Result<Endpoint, InvalidEndpoint>| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(|value| parse(value.to_str().unwrap_or_default()))
                .transpose()
                .map_err(|error| ConfigError::Variable { name, error })
        };
        Ok(Self {
            iaas_endpoint: endpoint(IAAS_VARIABLE, Endpoint::iaas)?
                .map_or_else(|| Endpoint::iaas("https://iaas.api.stackit.cloud"), Ok)?,
            token_endpoint: endpoint(TOKEN_VARIABLE, Endpoint::token)?,
            rate: Some(Rate::per_second(5.0)?),
            rate_project: Some(Rate::per_second(2.0)?),
            ca_bundle: None,
            connect_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(60),
            call_deadline: Duration::from_secs(180),
            retries: RetrySchedule::default(),
        })
    }
}

/// A URL that credentials may be sent to: HTTPS, or plain HTTP to this very machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(Url);

/// The text is no endpoint. It is not quoted, for a password can stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEndpoint {
    /// No URL.
    #[error("not a URL, for example https://iaas.api.stackit.cloud")]
    NoUrl,
    /// Unprotected.
    #[error("not an https:// URL; credentials go over plain HTTP to the same machine alone")]
    Unprotected,
    /// A user, a query or a fragment.
    #[error("the URL has a user, a query or a fragment; give host and path alone")]
    Extras,
    /// The version is part of it.
    #[error("the URL ends in /v2; give it without the version")]
    Version,
    /// A key may not send assertions anywhere.
    #[error(
        "credentials.tokenEndpoint of the service-account key is no https:// URL of *.stackit.cloud; name another token \
         endpoint with STACKIT_TOKEN_BASEURL"
    )]
    Foreign,
}

impl Endpoint {
    /// The base of the IaaS API, without `/v2`; slashes at the end do not matter.
    ///
    /// # Errors
    /// [`InvalidEndpoint`] for everything else.
    pub fn iaas(text: &str) -> Result<Self, InvalidEndpoint> {
        let endpoint = Self::token(text.trim_end_matches('/'))?;
        if endpoint.0.path().ends_with("/v2") { Err(InvalidEndpoint::Version) } else { Ok(endpoint) }
    }

    /// The whole URL of a token endpoint, its path included: it is called as it stands.
    ///
    /// # Errors
    /// [`InvalidEndpoint`] for everything else.
    pub fn token(text: &str) -> Result<Self, InvalidEndpoint> {
        let url = Url::parse(text).map_err(|_| InvalidEndpoint::NoUrl)?;
        let endpoint = Self(url);
        let url = &endpoint.0;
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidEndpoint::Extras);
        }
        match url.scheme() {
            "https" => Ok(endpoint),
            "http" if endpoint.is_here() => Ok(endpoint),
            _ => Err(InvalidEndpoint::Unprotected),
        }
    }

    /// The token endpoint that a key names. Whoever may write a shoot's Secret must not make this program, which stands in
    /// the seed, call any place: only STACKIT's own domain is taken.
    pub(super) fn of_key(text: &str) -> Result<Self, InvalidEndpoint> {
        let endpoint = Self::token(text).map_err(|_| InvalidEndpoint::Foreign)?;
        let host = endpoint.0.host_str().unwrap_or_default();
        let own = endpoint.0.scheme() == "https" && host.ends_with(".stackit.cloud") && endpoint.0.port().is_none();
        if own { Ok(endpoint) } else { Err(InvalidEndpoint::Foreign) }
    }

    /// Where STACKIT itself gives out tokens.
    pub(super) fn default_token() -> Result<Self, InvalidEndpoint> {
        Self::token("https://service-account.api.stackit.cloud/token")
    }

    /// Whether it lies on this machine. No proxy is asked for it, as in Go.
    pub(super) fn is_here(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let address: Option<IpAddr> = host.trim_start_matches('[').trim_end_matches(']').parse().ok();
        host == "localhost" || address.is_some_and(|address| address.is_loopback())
    }

    /// The URL.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// The URL with further segments of a path, each of them encoded.
    pub(super) fn join<'a>(&self, segments: impl IntoIterator<Item = &'a str>) -> Url {
        let mut url = self.0.clone();
        // Only a URL such as `mailto:` has no segments.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_the_endpoints_as_for_the_go_sdk() {
        let config = CloudConfig::from_variables(|_| None).unwrap();
        assert_eq!(config.iaas_endpoint.url().as_str(), "https://iaas.api.stackit.cloud/");
        assert_eq!(config.token_endpoint, None);
        let config = CloudConfig::from_variables(|name| match name {
            "STACKIT_IAAS_ENDPOINT" => Some("https://iaas.example/base/".into()),
            "STACKIT_TOKEN_BASEURL" => Some("http://127.0.0.1:7/token".into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(config.iaas_endpoint.join(["v2", "a/b"]).as_str(), "https://iaas.example/base/v2/a%2Fb");
        assert_eq!(config.token_endpoint.unwrap().url().as_str(), "http://127.0.0.1:7/token");
        let error = CloudConfig::from_variables(|name| (name == "STACKIT_IAAS_ENDPOINT").then(|| "hush".into()));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("STACKIT_IAAS_ENDPOINT") && !error.contains("hush"), "{error}");
        assert_eq!(CloudConfig::from_variables(|_| Some(OsString::new())).unwrap().token_endpoint, None);
    }

    #[test]
    fn credentials_go_only_where_nobody_listens() {
        for text in ["https://a.example", "http://localhost:80", "http://127.0.0.1:1/x", "http://[::1]:1"] {
            assert!(Endpoint::iaas(text).is_ok(), "{text}");
        }
        for (text, error) in [
            ("", InvalidEndpoint::NoUrl),
            ("iaas.example", InvalidEndpoint::NoUrl),
            ("http://iaas.example", InvalidEndpoint::Unprotected),
            ("http://127.0.0.1.example", InvalidEndpoint::Unprotected),
            ("ftp://127.0.0.1", InvalidEndpoint::Unprotected),
            ("https://me:hush@a.example", InvalidEndpoint::Extras),
            ("https://a.example?x=1", InvalidEndpoint::Extras),
            ("https://a.example/#x", InvalidEndpoint::Extras),
            ("https://a.example/v2/", InvalidEndpoint::Version),
        ] {
            assert_eq!(Endpoint::iaas(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_key_names_a_place_of_stackit_alone() {
        assert!(Endpoint::of_key("https://service-account.api.stackit.cloud/token").is_ok());
        for text in [
            "https://evil.example/token",
            "https://stackit.cloud.evil.example",
            "https://evilstackit.cloud",
            "http://127.0.0.1/token",
            "https://127.0.0.1/.stackit.cloud",
            "https://a.stackit.cloud:8443/",
            "https://a.stackit.cloud@evil.example/",
            "hush",
        ] {
            assert_eq!(Endpoint::of_key(text), Err(InvalidEndpoint::Foreign), "{text}");
        }
    }
}
