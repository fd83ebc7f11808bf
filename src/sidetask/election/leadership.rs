use std::time::{Duration, Instant};

use tokio::sync::watch;

#[derive(Debug, Clone, Copy)]
struct Hold {
    deadline: Instant,
    ended: bool,
}

impl Hold {
    fn left(self, now: Instant) -> Duration {
        if self.ended { Duration::ZERO } else { self.deadline.saturating_duration_since(now) }
    }
}

/// One term from the side of whoever grants it. Dropping it ends the term.
#[derive(Debug)]
pub struct Term(watch::Sender<Hold>);

impl Term {
    /// A term until `deadline`, and the leadership that it grants.
    #[must_use]
    pub fn start(deadline: Instant) -> (Self, Leadership) {
        let (sender, receiver) = watch::channel(Hold { deadline, ended: false });
        (Self(sender), Leadership(receiver))
    }

    /// Moves the deadline. A term that has ended, or whose deadline has passed, stays so: then this is `false`.
    #[must_use]
    pub fn extend(&self, deadline: Instant) -> bool {
        self.0.send_if_modified(|hold| {
            // Under the lock, so that nobody who was told "lost" is told "holds" later.
            let holds = !hold.left(Instant::now()).is_zero();
            if holds {
                hold.deadline = deadline;
            }
            holds
        })
    }

    /// Whether it goes on at this moment.
    #[must_use]
    pub fn holds(&self) -> bool {
        let hold = self.0.borrow();
        !hold.left(Instant::now()).is_zero()
    }

    /// Ends the term now.
    pub fn end(&self) {
        self.0.send_modify(|hold| hold.ended = true);
    }

    /// Waits until every clone of the leadership is gone.
    pub async fn gone(&self) {
        self.0.closed().await;
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.end();
    }
}

/// The right to act as the leader, for one term. Whoever acts asks [`Self::holds`] right before each write, and keeps a
/// clone for as long as it may act: the next term does not begin before all clones of the last one are gone.
#[derive(Debug, Clone)]
pub struct Leadership(watch::Receiver<Hold>);

impl Leadership {
    /// Whether it holds at this moment, by the monotonic clock. Once it is `false` it stays so.
    #[must_use]
    pub fn holds(&self) -> bool {
        !self.left().is_zero()
    }

    /// The time until the renew deadline, which renewals move; zero when it is lost.
    #[must_use]
    pub fn left(&self) -> Duration {
        let hold = self.0.borrow();
        // The clock is read while the deadline cannot change.
        hold.left(Instant::now())
    }

    /// Waits until it is lost: the deadline passed, or the term was ended.
    pub async fn lost(&self) {
        let mut changes = self.0.clone();
        loop {
            changes.mark_unchanged();
            let left = self.left();
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                result = changes.changed() => if result.is_err() { return },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn ago(duration: Duration) -> Instant {
        Instant::now().checked_sub(duration).unwrap()
    }

    #[test]
    fn holds_until_its_deadline_and_is_not_revived() {
        let (term, leadership) = Term::start(Instant::now() + LONG);
        assert!(leadership.holds() && leadership.left() > LONG / 2);
        assert!(term.extend(ago(Duration::from_secs(1))));
        assert!(!leadership.holds());
        assert!(!term.extend(Instant::now() + LONG));
        assert!(!leadership.holds());
    }

    #[test]
    fn holds_no_more_after_a_pause_in_which_no_task_ran() {
        let (_term, leadership) = Term::start(Instant::now() + Duration::from_millis(50));
        assert!(leadership.holds());
        // The whole thread stands, as a stopped process does.
        std::thread::park_timeout(Duration::from_millis(60));
        assert!(!leadership.holds());
    }

    #[tokio::test]
    async fn is_lost_when_the_term_ends_or_is_dropped_or_its_deadline_passes() {
        let (term, leadership) = Term::start(Instant::now() + LONG);
        term.end();
        leadership.lost().await;
        assert!(!leadership.holds() && !term.extend(Instant::now() + LONG));

        let (term, leadership) = Term::start(Instant::now() + LONG);
        drop(term);
        leadership.lost().await;
        assert!(!leadership.holds());

        let (_term, leadership) = Term::start(Instant::now() + Duration::from_millis(20));
        leadership.lost().await;
        assert!(!leadership.holds());
    }

    #[tokio::test]
    async fn waits_on_after_the_deadline_was_moved() {
        let (term, leadership) = Term::start(Instant::now() + Duration::from_millis(100));
        let waiting = tokio::spawn({
            let leadership = leadership.clone();
            async move {
                leadership.lost().await;
                leadership.left()
            }
        });
        assert!(term.extend(Instant::now() + Duration::from_millis(300)));
        assert_eq!(waiting.await.unwrap(), Duration::ZERO);
        assert!(!leadership.holds());
    }

    #[tokio::test]
    async fn a_term_is_gone_with_the_last_clone() {
        let (term, leadership) = Term::start(Instant::now() + LONG);
        let clone = leadership.clone();
        drop(leadership);
        assert!(tokio::time::timeout(Duration::from_millis(20), term.gone()).await.is_err());
        drop(clone);
        term.gone().await;
    }
}
