//! When a call is tried again.

use std::time::Duration;

use jiff::Timestamp;

/// How often and how long after each other a call is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetrySchedule {
    /// How often a call is tried at most, the first time included.
    pub tries: u32,
    /// The longest pause after the first try; it doubles with each further one.
    pub base: Duration,
    /// No pause is longer, unless the API asks for it.
    pub cap: Duration,
}

impl Default for RetrySchedule {
    /// 6 tries; 0.5 s, doubled up to 30 s.
    fn default() -> Self {
        Self { tries: 6, base: Duration::from_millis(500), cap: Duration::from_secs(30) }
    }
}

impl RetrySchedule {
    /// The pause after the `tried`-th try (from 1): what the API asked for, else a random part ("full jitter") of the
    /// exponentially growing one. `random` lies in 0..1.
    pub(super) fn pause(&self, tried: u32, asked_for: Option<Duration>, random: f64) -> Duration {
        // An API that asks for no pause at all would be called in a tight loop.
        if let Some(asked_for) = asked_for.filter(|pause| !pause.is_zero()) {
            return asked_for;
        }
        let doublings = tried.saturating_sub(1).min(31);
        self.base.saturating_mul(1 << doublings).min(self.cap).mul_f64(random.clamp(0.0, 1.0))
    }
}

/// Reads `Retry-After`: seconds, or a date (RFC 9110, 10.2.3). None when it is neither.
pub(super) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // So many digits that they are no u64 mean: later than any deadline.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let until = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for (value, seconds) in [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 01 Mar 2026 12:00:30 GMT", Some(30)),
            ("Sun, 01 Mar 2026 11:00:00 GMT", Some(0)),
            ("", None),
            ("soon", None),
            ("-1", None),
            ("1.5", None),
        ] {
            assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs), "{value:?}");
        }
    }

    #[test]
    fn the_longest_pauses_double_up_to_the_cap() {
        let schedule = RetrySchedule::default();
        let pauses: Vec<u64> =
            (1..=8).map(|n| u64::try_from(schedule.pause(n, None, 1.0).as_millis()).unwrap()).collect();
        assert_eq!(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    }

    proptest! {
        #[test]
        fn a_pause_never_passes_the_cap_unless_asked_for(
            tried in 0u32.., asked: Option<u32>, random in 0.0..1.0f64, base in 0u64..100_000, cap in 0u64..100_000,
        ) {
            let schedule = RetrySchedule {
                tries: 6, base: Duration::from_millis(base), cap: Duration::from_millis(cap),
            };
            let asked = asked.map(|s| Duration::from_secs(s.into()));
            let pause = schedule.pause(tried, asked, random);
            match asked {
                Some(asked) if !asked.is_zero() => prop_assert_eq!(pause, asked),
                _ => prop_assert!(pause <= schedule.cap),
            }
        }
    }
}
