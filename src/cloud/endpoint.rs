use std::net::IpAddr;

use reqwest::Url;

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
mod tests {
    use super::*;

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
