//! Stop and abort, by signal or by hand.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::ServingError;

/// Tells all that serve when to stop, and when to stop at once. Clones are the same switch.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    stop: CancellationToken,
    abort: CancellationToken,
}

impl Shutdown {
    /// A switch that only [`Self::stop`] and [`Self::abort`] turn.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A switch that SIGTERM and SIGINT turn as well: the first one stops, the second one aborts.
    ///
    /// # Errors
    /// [`ServingError::Signals`] where the process may not listen to signals.
    pub fn on_signals() -> Result<Self, ServingError> {
        let mut terminate = signal(SignalKind::terminate()).map_err(ServingError::Signals)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(ServingError::Signals)?;
        let shutdown = Self::new();
        let switch = shutdown.clone();
        tokio::spawn(async move {
            let signal = next(&mut terminate, &mut interrupt).await;
            tracing::info!(signal, "stopping");
            switch.stop();
            let signal = next(&mut terminate, &mut interrupt).await;
            tracing::warn!(signal, "aborting: a second signal came");
            switch.abort();
        });
        Ok(shutdown)
    }

    /// Asks for an end that loses no call.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Asks for an end at once.
    pub fn abort(&self) {
        self.stop.cancel();
        self.abort.cancel();
    }

    /// Waits until an end is asked for.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Waits until an end at once is asked for.
    pub async fn aborted(&self) {
        self.abort.cancelled().await;
    }
}

async fn next(terminate: &mut Signal, interrupt: &mut Signal) -> &'static str {
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}
