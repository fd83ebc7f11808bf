//! The running server.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::cloud::Cloud;
use crate::http::{Line, Lines, router};

/// A [`Cloud`] behind plain HTTP on loopback. It runs on a thread and a runtime of its own, so that tests on several runtimes
/// can share it, and stops when it is dropped: open connections are closed.
#[derive(Debug)]
pub struct Simulator {
    address: SocketAddr,
    cloud: Arc<Cloud>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Simulator {
    /// Listens on loopback, on a port that is free.
    pub fn start() -> Result<Self> {
        Self::start_on((Ipv4Addr::LOCALHOST, 0).into())
    }

    /// Listens on this address.
    pub fn start_on(address: SocketAddr) -> Result<Self> {
        let listener = std::net::TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))?;
        listener.set_nonblocking(true).context("cannot make the listener asynchronous")?;
        let address = listener.local_addr().context("the listener has no address")?;
        let cloud = Arc::new(Cloud::new());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot make a runtime for the simulator")?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener).context("cannot hand the listener to the runtime")?
        };
        let service = router(Arc::clone(&cloud)).into_make_service_with_connect_info::<Line>();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("simulator".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        // The sender was dropped or used: either way nobody needs the server.
                        _ = stopped => {}
                        _ = axum::serve(Lines(listener), service).into_future() => {}
                    }
                });
                runtime.shutdown_background();
            })
            .context("cannot start the simulator's thread")?;
        Ok(Self { address, cloud, stop: Some(stop), thread: Some(thread) })
    }

    /// What `STACKIT_IAAS_ENDPOINT` is set to: `http://127.0.0.1:PORT`, without a slash at the end.
    #[must_use]
    pub fn iaas_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The same for one of several callers: its name stands in the [`crate::Call::path`] of what it calls.
    #[must_use]
    pub fn iaas_url_for(&self, caller: &str) -> String {
        format!("http://{}{}{caller}", self.address, crate::http::CALLER)
    }

    /// What `STACKIT_TOKEN_BASEURL` is set to: the whole URL of the token endpoint, `/token` included.
    #[must_use]
    pub fn token_url(&self) -> String {
        format!("http://{}/token", self.address)
    }

    /// The state.
    #[must_use]
    pub fn cloud(&self) -> Arc<Cloud> {
        Arc::clone(&self.cloud)
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed when it happened.
            let _ = thread.join();
        }
    }
}
