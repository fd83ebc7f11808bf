//! Both listeners from start to shutdown.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, ResolvesServerCert};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::connection::ConnectionLimits;
use super::exchange::CallLimits;
use super::listeners::{Listeners, ServingError};
use super::site::Site;
use super::{Admin, ServingMetrics, Shutdown, admin};

/// Two objects of 3 MiB, the most that the API server takes in, and the envelope.
const BODY_BYTES: usize = 7 << 20;

/// The API server waits 2 s for an answer; longer than this nobody does.
const CALL_DEADLINE: Duration = Duration::from_secs(5);

/// The API server closes its idle connections after 90 s, and has to be the side that does: a call that meets a close is lost.
const ADMISSION_CONNECTION: ConnectionLimits = ConnectionLimits {
    first_request: Duration::from_secs(10),
    idle: Duration::from_secs(150),
    age: Duration::from_secs(600),
    header_bytes: 16 << 10,
    keep_alive: true,
};

const ADMIN_CONNECTION: ConnectionLimits = ConnectionLimits {
    first_request: Duration::from_secs(10),
    idle: Duration::from_secs(10),
    age: Duration::from_secs(20),
    header_bytes: 16 << 10,
    keep_alive: false,
};

/// Probes and scrapes: one connection a call.
const ADMIN_CONNECTIONS: usize = 32;

/// Serves `admission` over TLS with what `certificates` holds, and `admin` in the clear, until `shutdown`. Then
///
/// 1. `/readyz` answers 503 at once and every answer closes its connection, but new connections are still accepted for the
///    shutdown delay, because the API server hears late that this replica goes;
/// 2. connections without a call are closed, and those with one have the drain timeout to end;
/// 3. the admin listener ends last.
///
/// # Errors
/// [`ServingError::Aborted`] when `shutdown` was told to end at once.
pub async fn serve(
    listeners: Listeners,
    admission: Router,
    certificates: Arc<dyn ResolvesServerCert>,
    admin: Admin,
    metrics: ServingMetrics,
    shutdown: Shutdown,
) -> Result<(), ServingError> {
    let Listeners {
        admission: listener, admin: admin_listener, max_connections, shutdown_delay, drain_timeout, ..
    } = listeners;
    let stopping = admin.readiness.stopping();
    let closing = Arc::new(AtomicBool::new(false));
    let drain = CancellationToken::new();
    let site = Arc::new(Site {
        router: admission,
        tls: Some(TlsAcceptor::from(Arc::new(tls_config(certificates)?))),
        call_limits: CallLimits { body: BODY_BYTES, deadline: CALL_DEADLINE },
        connection_limits: ADMISSION_CONNECTION,
        metrics: metrics.clone(),
        places: Arc::new(Semaphore::new(max_connections as usize)),
        crowded: AtomicBool::new(false),
        closing: Arc::clone(&closing),
        drain: drain.clone(),
    });
    let admin_site = Arc::new(Site {
        router: admin::router(admin),
        tls: None,
        call_limits: CallLimits { body: 64 << 10, deadline: CALL_DEADLINE },
        connection_limits: ADMIN_CONNECTION,
        metrics,
        places: Arc::new(Semaphore::new(ADMIN_CONNECTIONS)),
        crowded: AtomicBool::new(false),
        closing: Arc::default(),
        drain: CancellationToken::new(),
    });

    let until = async {
        shutdown.stopped().await;
        stopping.store(true, Ordering::Release);
        closing.store(true, Ordering::Release);
        tokio::select! {
            () = sleep(shutdown_delay) => {}
            () = shutdown.aborted() => {}
        }
    };
    let calls = async {
        let mut connections = site.accept(listener, until).await;
        drain.cancel();
        tracing::info!(connections = connections.len(), "no new connections are accepted");
        let ended = timeout(drain_timeout, async { while connections.join_next().await.is_some() {} });
        tokio::select! {
            biased;
            () = shutdown.aborted() => return Err(ServingError::Aborted { connections: connections.len() }),
            ended = ended => if ended.is_err() {
                tracing::warn!(connections = connections.len(), "the drain timeout is over; open connections are cut off");
            },
        }
        Ok(())
    };
    tokio::select! {
        ended = calls => ended,
        _ = admin_site.accept(admin_listener, std::future::pending()) => Ok(()),
    }
}

/// TLS 1.2 and 1.3, HTTP/1.1 alone, and no resumption: the API server asks for none, and it would outlive a certificate.
fn tls_config(certificates: Arc<dyn ResolvesServerCert>) -> Result<ServerConfig, ServingError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13, &rustls::version::TLS12])
        .map_err(ServingError::Tls)?
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}
