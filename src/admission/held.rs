use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcm_migration_core::domain::Reason;

/// How long one namespace, resource and reason are silent after they spoke.
const SILENCE: Duration = Duration::from_secs(60);

/// How many of them are remembered: four for each of 250 shoots, and some room.
const REMEMBERED: usize = 2048;

/// Who may speak: what is held as it is, or refused, is written again by its controllers, each time with the same reason.
#[derive(Debug, Default)]
pub(super) struct HeldLog {
    spoken: Mutex<HashMap<Topic, Spoken>>,
}

/// Namespace, resource and reason.
type Topic = (Box<str>, &'static str, Reason);

#[derive(Debug)]
struct Spoken {
    at: Instant,
    repeated: u64,
}

/// Whether a held or refused write is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Yes, for itself and for as many before it that were silent.
    Speak { repeated: u64 },
    /// No; it is counted.
    Silent,
}

impl HeldLog {
    pub(super) fn turn(&self, namespace: &str, resource: &'static str, reason: Reason) -> Turn {
        self.turn_at(namespace, resource, reason, Instant::now())
    }

    fn turn_at(&self, namespace: &str, resource: &'static str, reason: Reason, now: Instant) -> Turn {
        // The map holds counters only; one that a panic left half written is still a map of counters.
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Box::from(namespace), resource, reason);
        if let Some(last) = spoken.get_mut(&key) {
            if now.saturating_duration_since(last.at) < SILENCE {
                last.repeated += 1;
                return Turn::Silent;
            }
            let repeated = std::mem::take(&mut last.repeated);
            last.at = now;
            return Turn::Speak { repeated };
        }
        if spoken.len() >= REMEMBERED {
            spoken.retain(|_, last| now.saturating_duration_since(last.at) < SILENCE);
        }
        // A full memory makes the log longer, never shorter.
        if spoken.len() < REMEMBERED {
            spoken.insert(key, Spoken { at: now, repeated: 0 });
        }
        Turn::Speak { repeated: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speaks_once_a_minute_and_counts_the_rest() {
        let log = HeldLog::default();
        let start = Instant::now();
        assert_eq!(log.turn_at("a", "machines", Reason::NoGuard, start), Turn::Speak { repeated: 0 });
        assert_eq!(log.turn_at("a", "machines", Reason::NoGuard, start + Duration::from_secs(59)), Turn::Silent);
        assert_eq!(log.turn_at("a", "machines", Reason::Paused, start), Turn::Speak { repeated: 0 });
        assert_eq!(log.turn_at("a", "machineclasses", Reason::NoGuard, start), Turn::Speak { repeated: 0 });
        assert_eq!(log.turn_at("b", "machines", Reason::NoGuard, start), Turn::Speak { repeated: 0 });
        assert_eq!(
            log.turn_at("a", "machines", Reason::NoGuard, start + Duration::from_secs(60)),
            Turn::Speak { repeated: 1 }
        );
    }

    #[test]
    fn its_memory_is_bounded() {
        let log = HeldLog::default();
        let start = Instant::now();
        for i in 0..2 * REMEMBERED {
            assert_eq!(log.turn_at(&i.to_string(), "machines", Reason::NoGuard, start), Turn::Speak { repeated: 0 });
        }
        assert_eq!(log.spoken.lock().map(|spoken| spoken.len()).ok(), Some(REMEMBERED));
    }
}
