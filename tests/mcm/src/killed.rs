//! Who was about to die, and why.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// A server of a live Machine that the stand-in would have deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{by} would have deleted server {server} of the live Machine {machine} ({machine_id}): {why}")]
pub struct Killed {
    /// The cloud's ID of the server.
    pub server: String,
    /// `namespace/name` of the Machine that names it.
    pub machine: String,
    /// The `spec.providerID` that the Machine has in truth.
    pub machine_id: String,
    /// The pod of the stand-in.
    pub by: String,
    /// What the stand-in believed.
    pub why: String,
}

/// What has been recorded; one entry a server.
#[derive(Debug)]
pub(crate) struct Verdicts {
    killed: Mutex<Vec<Killed>>,
    first: watch::Sender<Option<Killed>>,
    read: AtomicBool,
}

impl Verdicts {
    pub(crate) fn new() -> Self {
        Self { killed: Mutex::new(Vec::new()), first: watch::channel(None).0, read: AtomicBool::new(false) }
    }

    /// Keeps it, and says so at once at the terminal if it is `loud`: the test may look only at its end.
    pub(crate) fn record(&self, new: Killed, loud: bool) {
        let mut killed = self.killed.lock().unwrap_or_else(PoisonError::into_inner);
        if killed.iter().any(|old| old.server == new.server) {
            return;
        }
        if loud {
            crate::background::say(&new.to_string());
        }
        self.read.store(false, Ordering::SeqCst);
        self.first.send_modify(|first| {
            first.get_or_insert_with(|| new.clone());
        });
        killed.push(new);
    }

    /// All of them; they count as read.
    pub(crate) fn read(&self) -> Vec<Killed> {
        let killed = self.killed.lock().unwrap_or_else(PoisonError::into_inner);
        self.read.store(true, Ordering::SeqCst);
        killed.clone()
    }

    /// Those that nobody has read.
    pub(crate) fn unread(&self) -> Vec<Killed> {
        if self.read.load(Ordering::SeqCst) { Vec::new() } else { self.read() }
    }

    /// Returns the first one as soon as there is one; it counts as read.
    pub(crate) async fn first(&self) -> Killed {
        let mut receiver = self.first.subscribe();
        loop {
            let first = receiver.borrow_and_update().clone();
            if let Some(killed) = first {
                self.read();
                return killed;
            }
            // The sender lives as long as `self`.
            let _ = receiver.changed().await;
        }
    }
}
