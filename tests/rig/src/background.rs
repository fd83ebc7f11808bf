//! A small runtime of its own for servers of the rig, so that they go on serving while a test blocks its own runtime,
//! and may be shared by tests on different ones.

use anyhow::{Context as _, Result};
use tokio::runtime::{Builder, Handle, Runtime};

/// Dropping it aborts everything that was spawned on it.
#[derive(Debug)]
pub(crate) struct Background(Option<Runtime>);

impl Background {
    pub(crate) fn start(name: &str) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name(name)
            .enable_all()
            .build()
            .with_context(|| format!("cannot start the runtime of the {name}"))?;
        Ok(Self(Some(runtime)))
    }

    pub(crate) fn handle(&self) -> Result<Handle> {
        Ok(self.0.as_ref().context("the runtime has ended")?.handle().clone())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // The plain drop of a runtime panics inside another one.
            runtime.shutdown_background();
        }
    }
}
