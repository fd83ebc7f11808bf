use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, RateLimiter};
use mcm_migration_core::domain::ProjectId;

use super::Rate;

/// So many requests a second; whoever asks first goes first.
///
/// One second's worth may go at once after a pause.
#[derive(Debug)]
pub(super) struct Limiter {
    /// None: lifted.
    bucket: Option<DefaultDirectRateLimiter>,
    clock: DefaultClock,
    /// Held by who is next: the bucket itself knows no order, so somebody could wait for ever.
    turn: tokio::sync::Mutex<()>,
}

impl Limiter {
    /// A limiter of `rate`; `None` lifts it.
    pub(super) fn new(rate: Option<Rate>) -> Self {
        let bucket = rate.map(|rate| RateLimiter::direct(rate.0));
        Self { bucket, clock: DefaultClock::default(), turn: tokio::sync::Mutex::new(()) }
    }

    /// Waits for the turn. Who stops waiting has used nothing up.
    pub(super) async fn turn(&self) {
        let Some(bucket) = &self.bucket else { return };
        let _next = self.turn.lock().await;
        while let Err(later) = bucket.check() {
            tokio::time::sleep(later.wait_time_from(self.clock.now())).await;
        }
    }
}

/// One limiter a project, shared by all shoots in it, and forgotten when nobody holds it.
#[derive(Debug)]
pub(super) struct ProjectLimiters {
    rate: Option<Rate>,
    known: Mutex<HashMap<ProjectId, Weak<Limiter>>>,
}

impl ProjectLimiters {
    pub(super) fn new(rate: Option<Rate>) -> Self {
        Self { rate, known: Mutex::default() }
    }

    /// The project's limiter.
    pub(super) fn of(&self, project: ProjectId) -> Arc<Limiter> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(limiter) = known.get(&project).and_then(Weak::upgrade) {
            return limiter;
        }
        known.retain(|_, limiter| limiter.strong_count() > 0);
        let limiter = Arc::new(Limiter::new(self.rate));
        known.insert(project, Arc::downgrade(&limiter));
        limiter
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::time::{Duration, Instant};

    use futures::future::join_all;

    use super::*;

    fn project(n: u8) -> ProjectId {
        ProjectId::parse(&format!("3b0f8c0e-0000-4000-8000-0000000000{n:02x}")).unwrap()
    }

    #[tokio::test]
    async fn the_rate_holds_among_many_and_a_lifted_one_never_waits() {
        let limiter = Limiter::new(Some(Rate::per_second(50.0).unwrap()));
        let start = Instant::now();
        join_all((0..70).map(|_| limiter.turn())).await;
        // 50 at once, the other 20 one every 20 ms.
        assert!(start.elapsed() >= Duration::from_millis(390), "{:?}", start.elapsed());
        let lifted = Limiter::new(None);
        join_all((0..10_000).map(|_| lifted.turn())).await;
    }

    #[test]
    fn a_project_has_one_limiter_for_as_long_as_it_is_used() {
        let limiters = ProjectLimiters::new(Some(Rate::per_second(2.0).unwrap()));
        let (one, two) = (limiters.of(project(1)), limiters.of(project(2)));
        assert!(Arc::ptr_eq(&one, &limiters.of(project(1))) && !Arc::ptr_eq(&one, &two));
        drop(two);
        let _three = limiters.of(project(3));
        assert_eq!(limiters.known.lock().unwrap().len(), 2);
    }
}
