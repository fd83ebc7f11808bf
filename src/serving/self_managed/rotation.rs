//! What to do next with CA and certificate: a pure function of what they are and for how long that has been seen.
//!
//! A CA is replaced in three steps, so that no call fails: the new CA is appended to the bundle; once every webhook configuration has
//! been seen with that bundle for a while, the leaf is made anew from the new CA; once that has been served for a while, the old CA
//! leaves the bundle.

use std::time::Duration;

use super::super::issue::Validity;

/// How long things live.
#[derive(Debug, Clone, Copy)]
pub struct Lifetimes {
    /// Of a CA, in seconds.
    pub ca: i64,
    /// Of a leaf, in seconds.
    pub leaf: i64,
    /// How long a new bundle, or a new leaf, must have been seen everywhere before the next step leans on it.
    pub settle: Duration,
}

impl Lifetimes {
    /// Two years, 90 days, ten minutes.
    pub const DEFAULT: Self = Self { ca: 2 * 365 * 86_400, leaf: 90 * 86_400, settle: Duration::from_secs(600) };
}

/// The certificates as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// The CAs of the bundle, oldest first; the key of the last is at hand.
    pub cas: Vec<Validity>,
    /// The leaf.
    pub leaf: Validity,
    /// Which CA of the bundle signed the leaf, by its place; none when none did.
    pub leaf_signed_by: Option<usize>,
}

/// For how long this process has seen something without a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Every webhook configuration carries exactly this bundle.
    pub bundle_published_for: Duration,
    /// The Secret holds this leaf.
    pub leaf_in_secret_for: Duration,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing is left that a client could trust: make a CA and a leaf from nothing.
    StartOver,
    /// Put a new CA behind the others.
    AppendCa,
    /// Make the leaf anew from the last CA.
    RenewLeaf,
    /// Leave only the last CA in the bundle.
    DropOldCas,
}

/// What to do at `now` (seconds since the epoch); none when all is well.
#[must_use]
pub fn next_step(state: &State, seen: Seen, lifetimes: Lifetimes, now: i64) -> Option<Step> {
    let last = state.cas.last()?;
    let signer = state.leaf_signed_by.and_then(|place| state.cas.get(place));
    if now >= last.not_after || now < last.not_before {
        return Some(Step::StartOver);
    }
    // A leaf that nobody can verify any more is made anew at once, from whatever CA there is.
    if signer.is_none_or(|ca| now >= ca.not_after) || now >= state.leaf.not_after || now < state.leaf.not_before {
        return Some(Step::RenewLeaf);
    }
    let on_last = state.leaf_signed_by == Some(state.cas.len() - 1);
    if state.cas.len() > 1 {
        if !on_last {
            // Waiting for the configurations must not let the leaf run out.
            let due = seen.bundle_published_for >= lifetimes.settle || nearly_over(state.leaf, now);
            return due.then_some(Step::RenewLeaf);
        }
        return (seen.leaf_in_secret_for >= lifetimes.settle).then_some(Step::DropOldCas);
    }
    if two_thirds_over(*last, now) {
        return Some(Step::AppendCa);
    }
    two_thirds_over(state.leaf, now).then_some(Step::RenewLeaf)
}

/// Until when a leaf made at `now` holds: never longer than its CA.
#[must_use]
pub fn leaf_validity(ca: Validity, lifetimes: Lifetimes, now: i64) -> Validity {
    let validity = Validity::starting(now, lifetimes.leaf);
    Validity { not_before: validity.not_before.max(ca.not_before), not_after: validity.not_after.min(ca.not_after) }
}

fn two_thirds_over(validity: Validity, now: i64) -> bool {
    now - validity.not_before >= (validity.not_after - validity.not_before) / 3 * 2
}

fn nearly_over(validity: Validity, now: i64) -> bool {
    now - validity.not_before >= (validity.not_after - validity.not_before) / 10 * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    /// A Secret, a webhook configuration, and two replicas that each look at both only now and then.
    struct Rehearsal {
        state: State,
        /// The numbers of the CAs in the bundle, and the one that signed the leaf.
        bundle: Vec<u32>,
        signer: u32,
        published: Vec<u32>,
        served: [(u32, Validity); 2],
        published_since: i64,
        leaf_since: i64,
        made: u32,
    }

    impl Rehearsal {
        fn act(&mut self, step: Step, lifetimes: Lifetimes, now: i64) {
            match step {
                Step::StartOver => panic!("a rotation in time never starts over"),
                Step::AppendCa => {
                    self.made += 1;
                    self.bundle.push(self.made);
                    self.state.cas.push(Validity::starting(now, lifetimes.ca));
                }
                Step::RenewLeaf => {
                    self.state.leaf = leaf_validity(*self.state.cas.last().unwrap(), lifetimes, now);
                    self.signer = *self.bundle.last().unwrap();
                    self.leaf_since = now;
                }
                Step::DropOldCas => {
                    self.bundle = vec![*self.bundle.last().unwrap()];
                    self.state.cas = vec![*self.state.cas.last().unwrap()];
                }
            }
            self.state.leaf_signed_by = self.bundle.iter().position(|ca| *ca == self.signer);
        }
    }

    #[test]
    fn for_five_years_every_served_leaf_verifies_against_the_published_bundle() {
        let lifetimes = Lifetimes::DEFAULT;
        let start = Validity::starting(0, lifetimes.ca);
        let leaf = leaf_validity(start, lifetimes, 0);
        let mut world = Rehearsal {
            state: State { cas: vec![start], leaf, leaf_signed_by: Some(0) },
            bundle: vec![0],
            signer: 0,
            published: vec![0],
            served: [(0, leaf), (0, leaf)],
            published_since: 0,
            leaf_since: 0,
            made: 0,
        };
        let (mut steps, mut dropped) = (0, 0);
        for minute in 0..5 * 365 * 24 * 60 / 2 {
            let now = minute * 120;
            // The replicas read the Secret one after the other, and whoever looks writes the bundle where it differs.
            let replica = usize::try_from(minute % 2).unwrap();
            world.served[replica] = (world.signer, world.state.leaf);
            if world.published != world.bundle {
                world.published.clone_from(&world.bundle);
                world.published_since = now;
            }
            let since = |at: i64| Duration::from_secs(u64::try_from(now - at).unwrap());
            let seen = Seen {
                bundle_published_for: since(world.published_since),
                leaf_in_secret_for: since(world.leaf_since),
            };
            if let Some(step) = next_step(&world.state, seen, lifetimes, now) {
                world.act(step, lifetimes, now);
                steps += 1;
                dropped += u32::from(step == Step::DropOldCas);
            }
            for (signer, leaf) in world.served {
                assert!(world.published.contains(&signer), "day {}: the bundle lacks the leaf's CA", now / DAY);
                assert!(now < leaf.not_after, "day {}: the leaf has ended", now / DAY);
            }
        }
        assert!(dropped >= 3 && steps < 100, "{steps} steps, {dropped} CAs replaced");
    }

    fn healthy() -> State {
        let ca = Validity::starting(0, 300 * DAY);
        State { cas: vec![ca], leaf: Validity::starting(0, 90 * DAY), leaf_signed_by: Some(0) }
    }

    fn step(state: &State, now: i64) -> Option<Step> {
        next_step(state, Seen::default(), Lifetimes { ca: 300 * DAY, leaf: 90 * DAY, ..Lifetimes::DEFAULT }, now)
    }

    #[test]
    fn what_has_ended_is_made_anew_at_once() {
        assert_eq!(step(&healthy(), DAY), None);
        assert_eq!(step(&healthy(), 91 * DAY), Some(Step::RenewLeaf));
        assert_eq!(step(&healthy(), 301 * DAY), Some(Step::StartOver));
        assert_eq!(step(&State { leaf_signed_by: None, ..healthy() }, DAY), Some(Step::RenewLeaf));
    }

    #[test]
    fn a_new_ca_waits_until_it_was_seen_published() {
        let mut state = healthy();
        state.leaf = Validity::starting(200 * DAY, 90 * DAY);
        let now = 201 * DAY;
        assert_eq!(step(&state, now), Some(Step::AppendCa));
        state.cas.push(Validity::starting(now, 300 * DAY));
        assert_eq!(step(&state, now), None);
        let seen = Seen { bundle_published_for: Lifetimes::DEFAULT.settle, ..Seen::default() };
        assert_eq!(next_step(&state, seen, Lifetimes::DEFAULT, now), Some(Step::RenewLeaf));
    }
}
