use std::future::Future;
use std::time::Duration;

use mcm_migration_core::plan::Moment;

/// The one source of time of the side task, so that the same code runs in virtual time.
pub trait Clock: Clone + Send + Sync + 'static {
    /// The time since this process started.
    fn now(&self) -> Moment;

    /// Waits.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;

    /// A number from 0 to 1 that spreads pauses.
    fn jitter(&self) -> f64;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock(std::time::Instant);

impl SystemClock {
    /// Starts to count.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "the one place of the side task where the time comes from")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }
}

#[allow(clippy::disallowed_methods, reason = "the one place of the side task where time passes")]
impl Clock for SystemClock {
    fn now(&self) -> Moment {
        self.0.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn jitter(&self) -> f64 {
        rand::random()
    }
}
