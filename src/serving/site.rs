//! One listener: its connection cap, its handshakes, and the tasks of its connections.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use futures::FutureExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::ServingMetrics;
use super::connection::{self, ConnectionLimits};
use super::exchange::CallLimits;

/// How long to wait after the system refused to hand out a connection (too many open files).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What all connections of one listener share.
pub(super) struct Site {
    pub(super) router: Router,
    /// Without it, plain HTTP.
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) call_limits: CallLimits,
    pub(super) connection_limits: ConnectionLimits,
    pub(super) metrics: ServingMetrics,
    pub(super) places: Arc<Semaphore>,
    /// A connection waits for a place.
    pub(super) crowded: AtomicBool,
    /// Every answer is the last one of its connection.
    pub(super) closing: Arc<AtomicBool>,
    /// Connections that carry no call are closed.
    pub(super) drain: CancellationToken,
}

impl Site {
    /// Whether an answer given now should be the last one of its connection: the end is near, or others wait for the place.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire) || self.crowded.load(Ordering::Acquire)
    }

    pub(super) async fn draining(&self) {
        self.drain.cancelled().await;
    }

    /// Accepts connections until `until`, and returns those that are then open. One that finds no place waits here, and all
    /// behind it in the kernel's queue.
    pub(super) async fn accept(self: Arc<Self>, listener: TcpListener, until: impl Future<Output = ()>) -> JoinSet<()> {
        let mut until = std::pin::pin!(until);
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = &mut until => break,
                accepted = listener.accept() => accepted,
            };
            while let Some(ended) = connections.try_join_next() {
                report(ended);
            }
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let place = tokio::select! {
                biased;
                place = self.place() => place,
                () = &mut until => {
                    self.spawn(&mut connections, stream, None);
                    break;
                }
            };
            self.spawn(&mut connections, stream, place);
        }
        // Whoever the kernel has let in already believes to be connected.
        tokio::task::yield_now().await;
        while let Some(Ok((stream, _))) = listener.accept().now_or_never() {
            self.spawn(&mut connections, stream, None);
        }
        connections
    }

    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        self.crowded.store(true, Ordering::Release);
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        self.crowded.store(false, Ordering::Release);
        place
    }

    fn spawn(self: &Arc<Self>, connections: &mut JoinSet<()>, stream: TcpStream, place: Option<OwnedSemaphorePermit>) {
        let site = Arc::clone(self);
        connections.spawn(async move {
            site.connected(stream).await;
            drop(place);
        });
    }

    async fn connected(self: &Arc<Self>, stream: TcpStream) {
        // Without it the first answer on a connection waits some 40 ms for the client's delayed acknowledgement.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "connection ended");
            return;
        }
        let Some(tls) = &self.tls else { return connection::serve(stream, self).await };
        let _connected = self.metrics.connected();
        match timeout(self.connection_limits.first_request, tls.accept(stream)).await {
            Ok(Ok(stream)) => connection::serve(stream, self).await,
            // A probe of the port, no failure.
            Ok(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Ok(Err(error)) => {
                self.metrics.handshake_failed();
                tracing::debug!(%error, "TLS handshake failed");
            }
            Err(_) => {
                self.metrics.handshake_failed();
                tracing::debug!("TLS handshake took too long");
            }
        }
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "the task of a connection failed");
    }
}
