//! The two sockets.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpListener;

/// Where to listen, and the numbers an operator sets.
#[derive(Debug, Clone)]
pub struct ListenConfig {
    /// The API server's calls, over TLS. Port 0: any free one.
    pub listen: SocketAddr,
    /// `/livez`, `/readyz` and `/metrics`, in the clear. Port 0: any free one.
    pub admin_listen: SocketAddr,
    /// Connections of `listen` at one time. Further ones wait in the kernel's queue, and while any number waits every answer
    /// closes its connection, so that a place becomes free with the next answer.
    pub max_connections: u32,
    /// How long new connections are still accepted after the end was asked for.
    pub shutdown_delay: Duration,
    /// How long the calls that then run may take to end.
    pub drain_timeout: Duration,
}

/// Why nothing is served, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ServingError {
    /// A socket could not be bound.
    #[error("cannot listen on {address} (--{flag}): {source}; choose an address of this host and a free port")]
    Bind {
        /// The flag that named the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Signals cannot be listened to.
    #[error("cannot listen to SIGTERM and SIGINT: {0}")]
    Signals(#[source] io::Error),
    /// The TLS library refused the configuration.
    #[error("cannot set up TLS 1.2 and 1.3: {0}")]
    Tls(#[source] rustls::Error),
    /// A second signal ended it.
    #[error("aborted by a second signal with {connections} connections open")]
    Aborted {
        /// Connections that were cut off.
        connections: usize,
    },
}

/// Both sockets, bound.
#[derive(Debug)]
pub struct Listeners {
    pub(super) admission: TcpListener,
    pub(super) admin: TcpListener,
    pub(super) max_connections: u32,
    pub(super) shutdown_delay: Duration,
    pub(super) drain_timeout: Duration,
    addresses: [SocketAddr; 2],
}

impl Listeners {
    /// Binds both sockets and logs their addresses.
    ///
    /// # Errors
    /// [`ServingError::Bind`], which names the flag.
    pub async fn bind(config: &ListenConfig) -> Result<Self, ServingError> {
        let &ListenConfig { listen, admin_listen, max_connections, shutdown_delay, drain_timeout } = config;
        let (admission, admission_address) = bind("listen", "admission", listen).await?;
        let (admin, admin_address) = bind("admin-listen", "admin", admin_listen).await?;
        let addresses = [admission_address, admin_address];
        Ok(Self { admission, admin, max_connections, shutdown_delay, drain_timeout, addresses })
    }

    /// Where the API server's calls are answered.
    #[must_use]
    pub fn admission_address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// Where probes and scrapes are answered.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        self.addresses[1]
    }
}

async fn bind(
    flag: &'static str,
    listener: &'static str,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), ServingError> {
    let failed = |source| ServingError::Bind { flag, address, source };
    let socket = match TcpListener::bind(address).await {
        // Where IPv6 is off, every address of the host means every IPv4 address.
        Err(_) if address.is_ipv6() && address.ip().is_unspecified() && !has_ipv6().await => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    }
    .map_err(failed)?;
    let bound = socket.local_addr().map_err(failed)?;
    tracing::info!(listener, address = %bound, "listening");
    Ok((socket, bound))
}

async fn has_ipv6() -> bool {
    TcpListener::bind("[::]:0").await.is_ok()
}
