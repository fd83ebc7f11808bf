//! What a candidate does next, from what it has seen of the Lease and when. No I/O and no clock: times come in.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::ElectionConfig;
use super::record::Record;

/// One candidate over the life of its process.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    identity: String,
    lease_duration: Duration,
    renew_deadline: Duration,
    view: Option<View>,
    /// The last record that was seen, also when it is gone now.
    last: Option<Record>,
    /// Until when this candidate leads; `None` for a follower.
    deadline: Option<Instant>,
}

/// What the Lease says, and since when this process has seen it say so.
#[derive(Debug, Clone)]
struct View {
    record: Option<Record>,
    since: Instant,
}

/// What to do next. A write succeeds only if the Lease is still the one that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Read the Lease: nothing is known yet.
    Look,
    /// Create the Lease with this record, which names nobody: taking it is a step of its own, see [`Candidate::prepare`].
    Prepare(Record),
    /// Create the Lease with this record, which goes on with a term.
    Create(Record),
    /// Replace the record of the Lease with this one.
    Replace(Record),
    /// Somebody else may lead, at least until then unless the Lease changes.
    Wait(Instant),
    /// The term is over.
    Lost(Loss),
}

/// How a term ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Loss {
    #[error("no renewal succeeded within the renew deadline")]
    Deadline,
    #[error("the Lease names another holder, `{0}`")]
    Taken(String),
}

impl Candidate {
    pub(super) fn new(config: &ElectionConfig) -> Self {
        Self {
            identity: config.identity.clone(),
            lease_duration: config.lease_duration,
            renew_deadline: config.renew_deadline,
            view: None,
            last: None,
            deadline: None,
        }
    }

    /// Takes in what a read gave, which arrived at `now`: later than it was true, so that no wait becomes too short.
    pub(super) fn saw(&mut self, record: Option<Record>, now: Instant) {
        let unchanged = self.view.as_ref().is_some_and(|view| view.record == record);
        if !unchanged {
            self.last = record.clone().or_else(|| self.last.take());
            self.view = Some(View { record, since: now });
        }
    }

    /// Takes in that a write of ours, sent at `sent`, succeeded; gives the deadline of the leadership that follows.
    /// `None` when the term had ended before the answer came: that end stands.
    pub(super) fn wrote(&mut self, record: Record, sent: Instant, now: Instant) -> Option<Instant> {
        self.saw(Some(record), sent);
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return None;
        }
        self.deadline = Some(sent + self.renew_deadline);
        self.deadline
    }

    /// Until when this candidate leads; `None` for a follower.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Ends the term.
    pub(super) fn follow(&mut self) {
        self.deadline = None;
    }

    /// What to do at `now`; `wall` is what the clock on the wall says, for the record alone.
    pub(super) fn next(&self, now: Instant, wall: Timestamp) -> Step {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return Step::Lost(Loss::Deadline);
        }
        let Some(view) = &self.view else { return Step::Look };
        let leads = self.deadline.is_some();
        let free_at = view.since + self.patience();
        match &view.record {
            // Emptied by hand, or made anew by another after somebody deleted it: nobody can have taken it meanwhile.
            Some(record) if leads && (record.holder == self.identity || record.is_vacant()) => {
                Step::Replace(self.claim(wall))
            }
            Some(record) if leads => Step::Lost(Loss::Taken(record.holder.clone())),
            // Its own name too has to expire for a follower: a write that it gave up may have arrived late, over nobody
            // knows what.
            Some(record) if record.is_released() || free_at <= now => Step::Replace(self.claim(wall)),
            Some(_) => Step::Wait(free_at),
            None if leads => Step::Create(self.claim(wall)),
            None => Step::Prepare(self.prepare(wall)),
        }
    }

    /// The record that gives the Lease back, if it names this candidate.
    pub(super) fn release(&self, wall: Timestamp) -> Option<Record> {
        let record = self.view.as_ref()?.record.as_ref()?;
        (record.holder == self.identity).then(|| record.released(wall))
    }

    /// Who holds the Lease, as far as is known.
    pub(super) fn holder(&self) -> Option<&str> {
        let record = self.view.as_ref()?.record.as_ref()?;
        (!record.holder.is_empty()).then_some(record.holder.as_str())
    }

    /// The record of a Lease that was absent. It names nobody and has to be seen unchanged before it is taken, like one
    /// that names a holder: the Lease may have been deleted under a leader. An absence that is merely waited for would
    /// not do: that the Lease was there in between and is gone again cannot be seen.
    fn prepare(&self, wall: Timestamp) -> Record {
        Record {
            holder: String::new(),
            duration: self.patience(),
            acquired: None,
            renewed: Some(microseconds(wall)),
            transitions: self.last.as_ref().map_or(0, |last| last.transitions),
        }
    }

    /// For how long what is seen has to stay unchanged before nobody can lead by it any more. What the record says
    /// counts only if it is longer: it is written by hand too, and outlives a change of the flags.
    fn patience(&self) -> Duration {
        self.last.as_ref().map_or(self.lease_duration, |last| last.duration.max(self.lease_duration))
    }

    /// The record by which this candidate holds or goes on holding.
    fn claim(&self, wall: Timestamp) -> Record {
        let last = self.last.as_ref();
        let holds = last.is_some_and(|last| last.holder == self.identity);
        let renewed = after(last.and_then(|last| last.renewed), microseconds(wall));
        let acquired = last.filter(|_| holds).and_then(|last| last.acquired);
        Record {
            holder: self.identity.clone(),
            duration: self.lease_duration,
            acquired: Some(acquired.unwrap_or(renewed)),
            renewed: Some(renewed),
            transitions: last.map_or(0, |last| last.transitions.saturating_add(i32::from(!holds))),
        }
    }
}

/// `wall`, or a moment later than `last` while the wall clock stands still or was set back a little: others have to see
/// each renewal as one, also if they miss every other.
fn after(last: Option<Timestamp>, wall: Timestamp) -> Timestamp {
    let little = SignedDuration::from_mins(1);
    let last = last.filter(|last| *last >= wall && last.duration_since(wall) < little);
    last.and_then(|last| last.checked_add(SignedDuration::from_micros(1)).ok()).unwrap_or(wall)
}

/// What a Lease can hold of a time.
fn microseconds(time: Timestamp) -> Timestamp {
    Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
