use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM and SIGINT: the first asks the program to leave, the second to stop at once.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

/// The signals cannot be listened for.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for signals: {0}; start the program where it may")]
pub struct SignalsError(#[from] std::io::Error);

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the system does not let it.
    pub fn listen() -> Result<Self, SignalsError> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
