//! The last LISTs of one kind of thing, which all shoots of a project share.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::Region;
use mcm_migration_core::plan::{Listed, ListedParts, Moment};

use super::{Clock, because};
use crate::cloud::{Check, CloudError};

/// A LIST that another shoot of the project asked for this long ago will do.
const SHARED_FOR: Duration = Duration::from_secs(20);

/// A LIST of a region; its copies share what it shows.
pub(super) trait Dated: Clone {
    /// No later than the moment that it shows.
    fn at(&self) -> Moment;
}

impl Dated for Listed {
    fn at(&self) -> Moment {
        self.at
    }
}

impl Dated for ListedParts {
    fn at(&self) -> Moment {
        self.at
    }
}

/// The last LIST of each region.
#[derive(Debug)]
pub(super) struct SharedLists<L>(tokio::sync::Mutex<BTreeMap<Region, L>>);

impl<L> Default for SharedLists<L> {
    fn default() -> Self {
        Self(tokio::sync::Mutex::default())
    }
}

impl<L: Dated> SharedLists<L> {
    /// A LIST of a region, asked for by `ask` with a check that has to be told of each try, and dated by `date`; or the one that another shoot of
    /// the project has just asked for, if it shows a later moment than the one that the caller has.
    pub(super) async fn list<T, F: Future<Output = Result<Vec<T>, CloudError>> + Send>(
        &self,
        clock: &impl Clock,
        region: &Region,
        known: Option<Moment>,
        ask: impl FnOnce(Check) -> F,
        date: impl FnOnce(Vec<T>, Moment) -> L,
    ) -> Result<L, Because> {
        let mut lists = self.0.lock().await;
        let shared = lists.get(region).filter(|listed| clock.now().saturating_sub(listed.at()) < SHARED_FOR);
        if let Some(listed) = shared.filter(|listed| known.is_none_or(|known| listed.at() > known)) {
            return Ok(listed.clone());
        }
        // It may wait for its turn for longer than it may be acted on, and be tried again; what counts is when the try was sent that is answered.
        let sent = Arc::new(Mutex::new(clock.now()));
        let (told, clock) = (Arc::clone(&sent), clock.clone());
        let check = Check::of_lists(move || *told.lock().unwrap_or_else(PoisonError::into_inner) = clock.now());
        let found = ask(check).await.map_err(|error| because(&error))?;
        let at = *sent.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = date(found, at);
        lists.insert(region.clone(), listed.clone());
        Ok(listed)
    }

    /// Changes the last LIST of a region by what a call has just shown.
    pub(super) async fn take_up(&self, region: &Region, take_up: impl FnOnce(&mut L)) {
        if let Some(listed) = self.0.lock().await.get_mut(region) {
            take_up(listed);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// A clock that stands still until it is set.
    #[derive(Clone, Default)]
    struct Hands(Arc<Mutex<Moment>>);

    impl Hands {
        fn set(&self, seconds: u64) {
            *self.0.lock().unwrap() = Duration::from_secs(seconds);
        }
    }

    impl Clock for Hands {
        fn now(&self) -> Moment {
            *self.0.lock().unwrap()
        }

        async fn sleep(&self, _: Duration) {}

        fn jitter(&self) -> f64 {
            0.0
        }
    }

    #[tokio::test]
    async fn a_list_is_dated_by_the_try_that_is_answered_and_shared_for_a_while() {
        let (lists, clock, region) = (SharedLists::default(), Hands::default(), Region::parse("eu01").unwrap());
        let list = async |known| {
            let ask = |check: Check| {
                let clock = clock.clone();
                async move {
                    // A minute in the queue, and once more after a try that came to nothing.
                    for passed in [60, 10] {
                        clock.set(clock.now().as_secs() + passed);
                        check.ask().await.unwrap();
                    }
                    clock.set(clock.now().as_secs() + 5);
                    Ok(Vec::new())
                }
            };
            lists.list(&clock, &region, known, ask, Listed::new).await.unwrap().at.as_secs()
        };
        assert_eq!(list(None).await, 70);
        assert_eq!(list(None).await, 70, "another shoot's, of 5 seconds ago");
        assert_eq!(list(Some(Duration::from_secs(70))).await, 75 + 70, "the caller has that one");
        clock.set(145 + 20);
        assert_eq!(list(None).await, 165 + 70, "it is too old to be shared");
    }
}
