use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcm_migration_core::domain::Reason;

use crate::VERSION;

/// How long a topic is silent after it spoke.
const SILENCE: Duration = Duration::from_secs(60);

/// How many topics are remembered: four for each of 250 shoots, and as many again for dry runs.
const REMEMBERED: usize = 2048;

/// Who may speak: what is held as it is, or refused, is written again by its controllers, each time with the same reason.
///
/// No repeat gets lost: how many were silent is said by the next record of the topic, or by one of its own when the topic is forgotten,
/// at the latest when the program ends.
#[derive(Debug, Default)]
pub(super) struct HeldLog {
    spoken: Mutex<HashMap<Topic, Spoken>>,
}

/// What is said once a minute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Topic {
    pub(super) namespace: Box<str>,
    /// The plural.
    pub(super) resource: &'static str,
    /// `held` or `refused`.
    pub(super) decision: &'static str,
    pub(super) reason: Reason,
    /// A dry run takes no turn from a write that counts.
    pub(super) dry_run: bool,
}

#[derive(Debug)]
struct Spoken {
    at: Instant,
    repeated: u64,
}

impl Spoken {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.at) >= SILENCE
    }
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
    /// Whether `topic` may speak now.
    pub(super) fn turn(&self, topic: Topic) -> Turn {
        let (turn, forgotten) = self.turn_at(topic, Instant::now());
        forgotten.iter().for_each(tell);
        turn
    }

    /// The turn, and what was forgotten to make room: each with how many of it were silent, at least one.
    fn turn_at(&self, topic: Topic, now: Instant) -> (Turn, Vec<(Topic, u64)>) {
        // The map holds counters only; one that a panic left half written is still a map of counters.
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = spoken.get_mut(&topic) {
            if !last.is_over(now) {
                last.repeated += 1;
                return (Turn::Silent, Vec::new());
            }
            let repeated = std::mem::take(&mut last.repeated);
            last.at = now;
            return (Turn::Speak { repeated }, Vec::new());
        }
        let mut forgotten = Vec::new();
        if spoken.len() >= REMEMBERED {
            forgotten = untold(spoken.extract_if(|_, last| last.is_over(now)));
        }
        // A full memory makes the log longer, never shorter.
        if spoken.len() < REMEMBERED {
            spoken.insert(topic, Spoken { at: now, repeated: 0 });
        }
        (Turn::Speak { repeated: 0 }, forgotten)
    }

    /// What was silent and will have no next record.
    fn rest(&mut self) -> Vec<(Topic, u64)> {
        untold(self.spoken.get_mut().unwrap_or_else(PoisonError::into_inner).drain())
    }
}

impl Drop for HeldLog {
    fn drop(&mut self) {
        self.rest().iter().for_each(tell);
    }
}

fn untold(forgotten: impl Iterator<Item = (Topic, Spoken)>) -> Vec<(Topic, u64)> {
    forgotten.map(|(topic, last)| (topic, last.repeated)).filter(|(_, repeated)| *repeated > 0).collect()
}

fn tell((topic, repeated): &(Topic, u64)) {
    tracing::info!(
        target: "audit",
        resource = topic.resource,
        namespace = &*topic.namespace,
        dry_run = topic.dry_run,
        decision = topic.decision,
        reason = topic.reason.name(),
        repeated,
        build = VERSION,
        "repeats"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(namespace: &str) -> Topic {
        let namespace = namespace.into();
        Topic { namespace, resource: "machines", decision: "held", reason: Reason::NoGuard, dry_run: false }
    }

    const SPEAKS: Turn = Turn::Speak { repeated: 0 };

    #[test]
    fn speaks_once_a_minute_and_counts_the_rest() {
        let log = HeldLog::default();
        let start = Instant::now();
        let turn = |topic, seconds| {
            let (turn, forgotten) = log.turn_at(topic, start + Duration::from_secs(seconds));
            assert_eq!(forgotten, []);
            turn
        };
        assert_eq!(turn(topic("a"), 0), SPEAKS);
        assert_eq!(turn(topic("a"), 59), Turn::Silent);
        assert_eq!(turn(Topic { reason: Reason::Paused, ..topic("a") }, 0), SPEAKS);
        assert_eq!(turn(Topic { resource: "machineclasses", ..topic("a") }, 0), SPEAKS);
        assert_eq!(turn(topic("b"), 0), SPEAKS);
        assert_eq!(turn(topic("a"), 60), Turn::Speak { repeated: 1 });
        assert_eq!(turn(topic("a"), 120), SPEAKS);
    }

    #[test]
    fn a_dry_run_has_a_turn_of_its_own() {
        let log = HeldLog::default();
        let start = Instant::now();
        let dry = || Topic { dry_run: true, ..topic("a") };
        assert_eq!(log.turn_at(dry(), start).0, SPEAKS);
        assert_eq!(log.turn_at(dry(), start).0, Turn::Silent);
        assert_eq!(log.turn_at(topic("a"), start).0, SPEAKS);
        let later = start + SILENCE;
        assert_eq!(log.turn_at(topic("a"), later).0, SPEAKS);
        assert_eq!(log.turn_at(dry(), later).0, Turn::Speak { repeated: 1 });
    }

    #[test]
    fn its_memory_is_bounded() {
        let log = HeldLog::default();
        let start = Instant::now();
        for i in 0..2 * REMEMBERED {
            assert_eq!(log.turn_at(topic(&i.to_string()), start), (SPEAKS, Vec::new()));
        }
        assert_eq!(log.spoken.lock().map(|spoken| spoken.len()).ok(), Some(REMEMBERED));
    }

    #[test]
    fn what_was_silent_is_told_when_its_topic_is_forgotten_or_at_the_end() {
        let mut log = HeldLog::default();
        let start = Instant::now();
        for i in 0..REMEMBERED {
            log.turn_at(topic(&i.to_string()), start);
        }
        for _ in 0..3 {
            assert_eq!(log.turn_at(topic("7"), start).0, Turn::Silent);
        }
        let (turn, forgotten) = log.turn_at(topic("new"), start + SILENCE);
        assert_eq!((turn, forgotten), (SPEAKS, vec![(topic("7"), 3)]));
        assert_eq!(log.turn_at(topic("new"), start + SILENCE).0, Turn::Silent);
        assert_eq!(log.rest(), [(topic("new"), 1)]);
        assert_eq!(log.rest(), []);
    }
}
