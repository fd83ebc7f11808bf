use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::{Endpoint, InvalidEndpoint, InvalidRate, Rate, RetrySchedule};

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
}
