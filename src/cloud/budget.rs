use std::time::Duration;

use tokio::time::Instant;

/// What is left of a call's deadline. It runs while a request is under way and during the pauses between tries, not while
/// the call stands in the queue of a limiter: many shoots in a queue are no failure of the API.
#[derive(Debug)]
pub(super) struct Budget {
    left: Duration,
}

impl Budget {
    pub(super) fn new(deadline: Duration) -> Self {
        Self { left: deadline }
    }

    pub(super) fn left(&self) -> Duration {
        self.left
    }

    /// Awaits what counts.
    pub(super) async fn spend<T>(&mut self, work: impl Future<Output = T>) -> T {
        let start = Instant::now();
        let done = work.await;
        self.left = self.left.saturating_sub(start.elapsed());
        done
    }
}
