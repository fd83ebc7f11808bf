//! One request and its answer over HTTP.

use std::error::Error;
use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use reqwest::{Certificate, Client, RequestBuilder, Response};

use super::message::clean;
use super::retry::retry_after;
use super::{CloudConfig, ConfigError};
use crate::error_chain::chain;

/// The most that is read of the body of an answer that is no success.
const ERROR_BODY: usize = 64 * 1024;

/// An answer, whatever its status.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) request_id: Option<Box<str>>,
    pub(super) trace_id: Option<Box<str>>,
    pub(super) retry_after: Option<Duration>,
    /// A `Link` header points to a next page.
    pub(super) has_next: bool,
    pub(super) body: Vec<u8>,
}

/// No answer, or not all of it.
#[derive(Debug)]
pub(super) enum Broken {
    /// No connection, one that broke off, or none in time.
    Lost(Box<str>),
    /// The certificate of the other side is not trusted.
    Untrusted(Box<str>),
    /// A successful answer of more bytes than any real one has.
    TooLarge,
}

/// The HTTP client: no redirections (they would carry the token elsewhere), no tries of its own.
pub(super) fn client(config: &CloudConfig) -> Result<Client, ConfigError> {
    // The provider of cryptography is one for the process; a second call finds it installed.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let mut builder = Client::builder()
        .user_agent(concat!("mcm-migration-webhook/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(config.connect_timeout)
        .pool_idle_timeout(Duration::from_secs(30));
    if config.iaas_endpoint.is_here() && config.token_endpoint.as_ref().is_none_or(super::Endpoint::is_here) {
        builder = builder.no_proxy();
    }
    if let Some(path) = &config.ca_bundle {
        let fault = |message: String| ConfigError::CaBundle { path: path.clone(), message };
        let pem = std::fs::read(path).map_err(|error| fault(error.to_string()))?;
        let certificates =
            Certificate::from_pem_bundle(&pem).map_err(|_| fault("a certificate in it is no PEM".to_owned()))?;
        if certificates.is_empty() {
            return Err(fault("no certificate is in it".to_owned()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| ConfigError::Client(chain(&error)))
}

/// Sends a request and reads its answer, at most `limit` bytes of it.
pub(super) async fn send(request: RequestBuilder, limit: usize) -> Result<Answer, Broken> {
    let response = request.send().await.map_err(|error| broken(&error.without_url()))?;
    let status = response.status();
    let headers = response.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let id = |name: &str| text(name).map(|value| clean(value.get(..128).unwrap_or(value))).filter(|id| !id.is_empty());
    let mut answer = Answer {
        status: status.as_u16(),
        request_id: id("x-request-id"),
        trace_id: id("x-trace-id"),
        retry_after: text("retry-after").and_then(|value| retry_after(value, Timestamp::now())),
        has_next: has_next(headers),
        body: Vec::new(),
    };
    if status.is_success() {
        read_body(response, limit, &mut answer.body).await?;
    } else if let Err(Broken::Lost(message)) = read_body(response, ERROR_BODY, &mut answer.body).await {
        // The status says enough.
        tracing::debug!(status = answer.status, "the body of an error broke off: {message}");
    }
    Ok(answer)
}

async fn read_body(mut response: Response, limit: usize, body: &mut Vec<u8>) -> Result<(), Broken> {
    while let Some(chunk) = response.chunk().await.map_err(|error| broken(&error.without_url()))? {
        if body.len() + chunk.len() > limit {
            body.extend_from_slice(&chunk[..limit - body.len()]);
            return Err(Broken::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(())
}

fn has_next(headers: &HeaderMap) -> bool {
    headers.get_all("link").iter().filter_map(|value| value.to_str().ok()).any(|value| {
        let value = value.to_ascii_lowercase();
        value.contains("rel=next") || value.contains("rel=\"next\"")
    })
}

fn broken(error: &reqwest::Error) -> Broken {
    let message = clean(&chain(error));
    if is_untrusted(error) {
        Broken::Untrusted(message)
    } else if error.is_timeout() {
        Broken::Lost(format!("no answer in time ({message})").into())
    } else {
        Broken::Lost(message)
    }
}

/// Whether the reason is the other side's certificate. An `io::Error` hides what it wraps from `source`.
fn is_untrusted(error: &(dyn Error + 'static)) -> bool {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return matches!(tls, rustls::Error::InvalidCertificate(_));
    }
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.is_some_and(|wrapped| is_untrusted(wrapped)) || error.source().is_some_and(is_untrusted)
}
