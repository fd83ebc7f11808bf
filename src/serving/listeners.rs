use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connections::{Connections, Limits};
use super::{CertificateStore, ServingMetrics, tls};

/// Where to listen, and how to leave.
#[derive(Debug, Clone)]
pub struct ListenConfig {
    /// The admission listener (HTTPS).
    pub listen: SocketAddr,
    /// The admin listener (HTTP).
    pub admin_listen: SocketAddr,
    /// Admission connections at the same time; further ones wait in the system's queue.
    pub max_connections: u32,
    /// How long calls are still taken after the signal to leave.
    pub shutdown_delay: Duration,
    /// How long calls that are under way may take to end after that.
    pub drain_timeout: Duration,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address} for {listener}: {source}; name a free address with --{flag}")]
    Bind {
        /// `admission` or `admin`.
        listener: &'static str,
        /// The flag that names the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// What was wrong.
        source: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The admin listener ended.
    #[error("the admin listener ended: {0}; start the program again")]
    Admin(std::io::Error),
}

/// Both listeners, bound.
#[derive(Debug)]
pub struct Listeners {
    admission: TcpListener,
    admin: TcpListener,
    tls: Arc<ServerConfig>,
    config: ListenConfig,
    metrics: ServingMetrics,
}

impl Listeners {
    /// Binds both addresses, and logs the ones that they got.
    ///
    /// # Errors
    /// When one cannot be had.
    pub async fn bind(
        config: ListenConfig,
        certificates: Arc<CertificateStore>,
        metrics: ServingMetrics,
    ) -> Result<Self, ServingError> {
        let tls = tls::server_config(certificates)?;
        let admission = bind("admission", "listen", config.listen).await?;
        let admin = bind("admin", "admin-listen", config.admin_listen).await?;
        Ok(Self { admission, admin, tls, config, metrics })
    }

    /// Serves until `leave` is cancelled, and then until every call is answered.
    ///
    /// After `leave`, calls are still taken for `shutdown_delay`, each answered with `Connection: close`, because API servers keep
    /// coming for as long as they have not heard of it. Then the calls under way are given `drain_timeout`. `abort` cuts both short.
    /// The admin listener answers until the end.
    ///
    /// # Errors
    /// When the admin listener ends by itself.
    pub async fn serve(
        self,
        admission_routes: Router,
        admin_routes: Router,
        leave: CancellationToken,
        abort: CancellationToken,
    ) -> Result<(), ServingError> {
        let Self { admission, admin, tls, config, metrics } = self;
        let ListenConfig { max_connections, shutdown_delay, drain_timeout, .. } = config;
        let connections = Connections::new(tls, admission_routes, metrics, Limits::new(max_connections));
        let accepting = async {
            let accept = connections.accept(&admission);
            let delay = async {
                leave.cancelled().await;
                tracing::info!(seconds = shutdown_delay.as_secs(), "leaving: not ready any more, still taking calls");
                connections.close_after_each_answer();
                tokio::select! {
                    () = tokio::time::sleep(shutdown_delay) => {}
                    () = abort.cancelled() => {}
                }
            };
            tokio::select! {
                () = accept => {}
                () = delay => {}
            }
            drop(admission);
            tokio::select! {
                all = connections.drain(drain_timeout) => tracing::info!(all, "drained"),
                () = abort.cancelled() => tracing::warn!("stopped at once by a second signal"),
            }
        };
        tokio::select! {
            () = accepting => Ok(()),
            ended = axum::serve(admin, admin_routes).into_future() => Err(ServingError::Admin(
                ended.err().unwrap_or_else(|| std::io::Error::other("it returned")),
            )),
        }
    }
}

async fn bind(listener: &'static str, flag: &'static str, address: SocketAddr) -> Result<TcpListener, ServingError> {
    let broken = |source| ServingError::Bind { listener, flag, address, source };
    let bound = match TcpListener::bind(address).await {
        // Where IPv6 is off, every address of the host means every IPv4 address.
        Err(_) if address.is_ipv6() && address.ip().is_unspecified() && !has_ipv6().await => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    }
    .map_err(broken)?;
    let address = bound.local_addr().map_err(broken)?;
    tracing::info!(listener, address = %address, "listening");
    Ok(bound)
}

async fn has_ipv6() -> bool {
    TcpListener::bind("[::]:0").await.is_ok()
}
