//! One connection: from its first byte of HTTP to its end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep, sleep_until};

use super::exchange;
use super::site::Site;

/// How long a connection may take, and how much its headers.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    /// For the TLS handshake, and then again for the first request's headers.
    pub(super) first_request: Duration,
    /// Between an answer and the end of the next request's headers.
    pub(super) idle: Duration,
    /// After which an answer is the last one. Sooner or later a client meets every replica and every renewed certificate.
    pub(super) age: Duration,
    /// Bytes of a request's line and headers.
    pub(super) header_bytes: usize,
    /// Whether a connection may carry more than one call.
    pub(super) keep_alive: bool,
}

/// Serves HTTP/1.1 on `io` until the client, a limit or the site's end closes it.
pub(super) async fn serve<Io>(io: Io, site: &Arc<Site>)
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let limits = site.connection_limits;
    let opened = Instant::now();
    let requested = Arc::new(AtomicBool::new(false));
    let service = service_fn(|request| {
        requested.store(true, Ordering::Release);
        let site = Arc::clone(site);
        async move {
            let last = || site.is_closing() || opened.elapsed() > limits.age;
            let router = site.router.clone();
            Ok::<_, Infallible>(exchange::answer(router, request, site.call_limits, &site.metrics, last).await)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        .max_header_size(limits.header_bytes)
        .keep_alive(limits.keep_alive)
        .serve_connection(TokioIo::new(io), service);
    let mut connection = pin!(connection);
    let mut first_request = pin!(sleep(limits.first_request));
    // A client that never reads its answer is bound by no other time.
    let mut end = pin!(sleep_until(opened + limits.age + limits.idle + limits.first_request));
    let (mut waited, mut draining) = (false, false);
    loop {
        tokio::select! {
            // First of all what has arrived, so that a call that came before the end is not taken for silence.
            biased;
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "connection ended");
                }
                return;
            }
            () = &mut first_request, if !waited => {
                waited = true;
                if !requested.load(Ordering::Acquire) {
                    tracing::debug!("connection closed: no request came");
                    return;
                }
            }
            () = &mut end => {
                tracing::debug!("connection closed: too old");
                return;
            }
            () = site.draining(), if !draining => {
                draining = true;
                // On a new connection a call is most likely on its way; its answer will be the last one anyway.
                if requested.load(Ordering::Acquire) {
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}
