use std::collections::BTreeMap;
use std::time::Duration;

use crate::decide::Because;

use super::{Action, Moment};

/// Steps that failed, each with its own growing pause. One that fails never holds up another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Backoff {
    failed: BTreeMap<(&'static str, Box<str>), Failed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Failed {
    because: Because,
    times: u32,
    until: Moment,
}

impl Backoff {
    /// The first pause.
    pub const FIRST: Duration = Duration::from_secs(5);
    /// The longest pause.
    pub const LONGEST: Duration = Duration::from_secs(5 * 60);

    /// Why a step is not tried now, and for how long.
    #[must_use]
    pub fn held(&self, action: &Action, now: Moment) -> Option<(&Because, Duration)> {
        let failed = self.failed.get(&(action.step(), action.subject().into()))?;
        let left = failed.until.saturating_sub(now);
        (!left.is_zero()).then_some((&failed.because, left))
    }

    /// A step failed at `now`. `jitter`, from 0 to 1, spreads the pauses of many shoots: the pause is half of its full length to all of it.
    pub fn failed(&mut self, action: &Action, because: Because, now: Moment, jitter: f64) {
        let key = (action.step(), action.subject().into());
        let times = self.failed.get(&key).map_or(0, |failed| failed.times.saturating_add(1));
        let full = Self::FIRST.saturating_mul(2_u32.saturating_pow(times.min(16))).min(Self::LONGEST);
        let pause = full.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0));
        self.failed.insert(key, Failed { because, times, until: now.saturating_add(pause) });
    }

    /// A step went well, or is not needed any more.
    pub fn done(&mut self, action: &Action) {
        self.failed.remove(&(action.step(), action.subject().into()));
    }

    /// Forgets the failures of everything that is not in the namespace any more; asked with each step and its subject.
    pub fn retain(&mut self, mut there: impl FnMut(&str, &str) -> bool) {
        self.failed.retain(|(step, subject), _| there(step, subject));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Reason;

    #[test]
    fn the_pause_grows_to_its_bound_and_ends_with_success() {
        let (mut backoff, action) = (Backoff::default(), Action::Touch { machine: "a".into() });
        let other = Action::Touch { machine: "b".into() };
        let mut before = Duration::ZERO;
        for _ in 0..40 {
            backoff.failed(&action, Because::of(Reason::WriteFailed), Duration::ZERO, 1.0);
            let left = backoff.held(&action, Duration::ZERO).map(|(_, left)| left).unwrap_or_default();
            assert!(left >= before && left <= Backoff::LONGEST && left >= Backoff::FIRST);
            before = left;
        }
        assert_eq!(before, Backoff::LONGEST);
        assert_eq!(backoff.held(&other, Duration::ZERO), None);
        assert_eq!(backoff.held(&action, Backoff::LONGEST), None);
        backoff.done(&action);
        assert_eq!(backoff.held(&action, Duration::ZERO), None);
    }
}
