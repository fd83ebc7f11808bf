//! A process that is frozen together with its Node, and one that is not.

use std::time::Duration;

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Frost(watch::Sender<bool>);

impl Frost {
    pub(crate) fn new() -> Self {
        Self(watch::channel(false).0)
    }

    pub(crate) fn set(&self, frozen: bool) {
        self.0.send_replace(frozen);
    }

    /// Returns when the process is not frozen; each step of it begins here.
    pub(crate) async fn thawed(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.subscribe().wait_for(|frozen| !frozen).await;
    }

    /// The same for what comes over a connection, which is dead by then and takes so long to be made again.
    pub(crate) async fn reconnected(&self, after: Duration) {
        while *self.0.borrow() {
            self.thawed().await;
            tokio::time::sleep(after).await;
        }
    }
}
