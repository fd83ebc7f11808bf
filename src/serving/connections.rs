use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response, StatusCode};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::ServingMetrics;

/// What a connection may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    connections: u32,
    /// From the connection to the end of the handshake.
    handshake: Duration,
    /// From the handshake to the first request's headers.
    first_request: Duration,
    /// Between requests, and for the headers of one: the API server keeps idle connections for 90 s and must be the one that closes
    /// them, since a POST that races with a close is not sent again.
    idle: Duration,
    /// For a request's body and the answer. The API server waits 2 s.
    answer: Duration,
}

impl Limits {
    pub(super) fn new(connections: u32) -> Self {
        Self {
            connections,
            handshake: Duration::from_secs(10),
            first_request: Duration::from_secs(10),
            idle: Duration::from_secs(150),
            answer: Duration::from_secs(5),
        }
    }
}

/// The admission connections.
#[derive(Debug)]
pub(super) struct Connections {
    acceptor: Acceptor,
    shared: Arc<Shared>,
    permits: Arc<Semaphore>,
    tasks: TaskTracker,
}

/// `TlsAcceptor` cannot be printed.
struct Acceptor(TlsAcceptor);

impl std::fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Acceptor")
    }
}

#[derive(Debug)]
struct Shared {
    routes: Router,
    metrics: ServingMetrics,
    limits: Limits,
    /// Each answer says that its connection closes.
    closing: AtomicBool,
    /// Idle connections close now.
    drain: CancellationToken,
}

impl Connections {
    pub(super) fn new(tls: Arc<ServerConfig>, routes: Router, metrics: ServingMetrics, limits: Limits) -> Self {
        Self {
            acceptor: Acceptor(TlsAcceptor::from(tls)),
            shared: Arc::new(Shared {
                routes,
                metrics,
                limits,
                closing: AtomicBool::new(false),
                drain: CancellationToken::new(),
            }),
            permits: Arc::new(Semaphore::new(limits.connections as usize)),
            tasks: TaskTracker::new(),
        }
    }

    /// Takes connections for ever. Above the cap they wait in the system's queue, where none is lost.
    pub(super) async fn accept(&self, listener: &TcpListener) {
        loop {
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (acceptor, shared) = (self.acceptor.0.clone(), Arc::clone(&self.shared));
                    self.tasks.spawn(serve_one(stream, acceptor, shared, permit));
                }
                Err(error) => {
                    // The client gave up, or no file descriptor is left; both pass.
                    tracing::debug!(%error, "cannot accept");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    /// From now on every answer closes its connection.
    pub(super) fn close_after_each_answer(&self) {
        self.shared.closing.store(true, Ordering::Relaxed);
    }

    /// Closes what is idle and waits for the rest. Whether all ended in time.
    pub(super) async fn drain(&self, timeout: Duration) -> bool {
        self.shared.drain.cancel();
        self.tasks.close();
        tokio::time::timeout(timeout, self.tasks.wait()).await.is_ok()
    }
}

async fn serve_one(stream: TcpStream, acceptor: TlsAcceptor, shared: Arc<Shared>, permit: OwnedSemaphorePermit) {
    let _permit = permit;
    let _connected = shared.metrics.connected();
    // With Nagle's algorithm the first answer on a connection waits for an acknowledgement.
    drop(stream.set_nodelay(true));
    let stream = match tokio::time::timeout(shared.limits.handshake, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            shared.metrics.handshake_failed();
            return tracing::debug!(%error, "no handshake");
        }
        Err(_) => {
            shared.metrics.handshake_failed();
            return tracing::debug!("no handshake in time");
        }
    };
    let asked = Arc::new(AtomicBool::new(false));
    let service = {
        let (shared, asked) = (Arc::clone(&shared), Arc::clone(&asked));
        service_fn(move |request| {
            asked.store(true, Ordering::Relaxed);
            answer(Arc::clone(&shared), request)
        })
    };
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(shared.limits.idle)
            .max_headers(100)
            .max_buf_size(64 * 1024)
            .serve_connection(TokioIo::new(stream), service)
    );
    let mut first_request = pin!(tokio::time::sleep(shared.limits.first_request));
    let (mut awaiting_first, mut draining) = (true, false);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended");
                }
                return;
            }
            () = first_request.as_mut(), if awaiting_first => {
                if !asked.load(Ordering::Relaxed) {
                    return tracing::debug!("no request in time");
                }
                awaiting_first = false;
            }
            () = shared.drain.cancelled(), if !draining => {
                draining = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Answers one request within the deadline for its body and answer together.
async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let answered =
        tokio::time::timeout(shared.limits.answer, shared.routes.clone().oneshot(request.map(Body::new))).await;
    let (mut response, late) = match answered {
        Ok(Ok(response)) => (response, false),
        Ok(Err(never)) => match never {},
        Err(_) => {
            shared.metrics.deadline_passed();
            ((StatusCode::REQUEST_TIMEOUT, "the body did not come in time\n").into_response(), true)
        }
    };
    // The rest of a body that was given up must not be taken for the next request.
    if late || response.status() == StatusCode::PAYLOAD_TOO_LARGE || shared.closing.load(Ordering::Relaxed) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    Ok(response)
}
