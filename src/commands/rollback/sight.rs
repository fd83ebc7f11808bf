//! What is known of the shoot: read past every cache, and what this process has seen.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{GuardLabel, Reason, keys};
use mcm_migration_core::plan::way_back::{Next, WayBack};
use mcm_migration_core::plan::{CloudView, Direction, Moment, NodeSeen, Seen, Settings};

use crate::commands::node_watch::NodeWatch;
use crate::seed::Seed;
use crate::sidetask::read_lease;
use crate::world::{MachineMigration, WayBackSnapshot, way_back_snapshot};

/// How often is looked while it waits: no longer than a pod may come and go between.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);
/// After so long without a look a pod may have come and gone unseen, so that the wait for its Node begins anew.
const UNSEEN: Duration = Duration::from_secs(20);

/// As much may the clock that counts and the one on the wall differ between two looks; time servers correct by less.
const CLOCKS_DIFFER: Duration = Duration::from_secs(10);
/// Why what was planned is not done.
pub(super) const SLEPT: &str = "this machine slept meanwhile, or its clock was set: everything is looked at again";

/// What may have gone unseen between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    /// Nothing that lasts.
    None,
    /// A pod may have come and gone.
    Unseen,
    /// The clock that counts stood still, as it does while the machine of an operator sleeps: nothing that was timed by it is worth anything, the
    /// age of an ID, which may have gone forward and back meanwhile, or of a LIST.
    Slept,
}

/// The gap between two looks, each with the clock that counts and the one on the wall. A wall clock that was set looks like sleep, and costs one wait.
fn gap(before: (Moment, SystemTime), now: (Moment, SystemTime)) -> Gap {
    let counted = now.0.saturating_sub(before.0);
    let differ = match now.1.duration_since(before.1) {
        Ok(passed) => passed.abs_diff(counted),
        Err(back) => back.duration() + counted,
    };
    if differ > CLOCKS_DIFFER {
        return Gap::Slept;
    }
    if counted > UNSEEN { Gap::Unseen } else { Gap::None }
}

/// What is known of one shoot.
pub(super) struct Sight {
    pub(super) seed: Seed,
    pub(super) namespace: String,
    pub(super) settings: Settings,
    pub(super) leave_behind: BTreeSet<Box<str>>,
    pub(super) cloud: CloudView,
    pub(super) snapshot: WayBackSnapshot,
    pub(super) migration: Option<MachineMigration>,
    nodes_now: Option<Vec<NodeSeen>>,
    nodes: Option<NodeWatch>,
    seen: Seen,
    looked: Option<(Moment, SystemTime)>,
    /// How often it slept.
    pub(super) sleeps: u32,
    started: Instant,
}

impl Sight {
    /// Nothing is known yet. Without `nodes` the Nodes are not looked at.
    pub(super) fn new(
        seed: Seed,
        namespace: &str,
        settings: Settings,
        leave_behind: BTreeSet<Box<str>>,
        nodes: Option<NodeWatch>,
    ) -> Self {
        Self {
            seed,
            namespace: namespace.to_owned(),
            settings,
            leave_behind,
            cloud: CloudView::default(),
            snapshot: WayBackSnapshot::default(),
            migration: None,
            nodes_now: None,
            nodes,
            seen: Seen::of(Direction::Back),
            looked: None,
            sleeps: 0,
            started: Instant::now(),
        }
    }

    /// The present moment.
    pub(super) fn now(&self) -> Moment {
        self.nodes.as_ref().map_or_else(|| self.started.elapsed(), NodeWatch::now)
    }

    /// Reads everything again, past every cache, and remembers what was seen.
    pub(super) async fn look(&mut self) -> Result<(), Because> {
        let not_read = |error: &dyn std::fmt::Display| Because::about(Reason::ReadFailed, error.to_string());
        let client = self.seed.client();
        match self.gap() {
            Gap::None => {}
            Gap::Unseen => self.seen.lose_sight(),
            Gap::Slept => {
                (self.seen, self.cloud) = (Seen::of(Direction::Back), CloudView::default());
                self.sleeps += 1;
            }
        }
        // Asked before the Machines are listed: one that the list lacks was made when nobody could make servers in STACKIT's way any more.
        let off = self.stackit_is_off();
        let read = way_back_snapshot(&client, &self.namespace).await;
        let migration = self.seed.migration(&self.namespace).await;
        let (Ok(snapshot), Ok(migration)) = (read.as_ref(), migration.as_ref()) else {
            // A pod may come and go unseen.
            self.seen.lose_sight();
            return Err(match (read, migration) {
                (Err(error), _) => not_read(&error),
                (_, Err(error)) => not_read(&error),
                _ => Because::of(Reason::ReadFailed),
            });
        };
        (self.snapshot, self.migration) = (snapshot.clone(), migration.clone());
        let answered = self.now();
        self.looked = Some((answered, SystemTime::now()));
        self.seen.observe(&self.snapshot.facts, false, answered);
        if off {
            self.seen.observe_machines(self.snapshot.facts.machines.keys().map(|name| &**name));
        }
        let asked = self.now();
        match read_lease(&client, &self.namespace).await {
            Ok(lease) => self.seen.observe_lease(lease, asked, self.now()),
            Err(error) => return Err(not_read(&error)),
        }
        self.nodes_now = self.nodes.as_ref().and_then(|nodes| nodes.seen().ok());
        Ok(())
    }

    fn gap(&self) -> Gap {
        self.looked.map_or(Gap::None, |looked| gap(looked, (self.now(), SystemTime::now())))
    }

    /// Whether this machine has slept since the last look.
    pub(super) fn has_slept(&self) -> bool {
        self.gap() == Gap::Slept
    }

    /// Waits for a call to the cloud, and goes on looking meanwhile: a cloud that is slow must not cost what was seen. What such a look shows is
    /// planned from after the call.
    pub(super) async fn beside<T>(&mut self, call: impl Future<Output = T>) -> T {
        let mut call = Box::pin(call);
        loop {
            let look = async {
                tokio::time::sleep(LOOK_EVERY).await;
                // One that fails forgets by itself what it must, and is made again after the call.
                Box::pin(self.look()).await.ok()
            };
            tokio::select! {
                biased;
                done = &mut call => return done,
                _ = look => {}
            }
        }
    }

    /// The ID that a Machine was last seen with; empty without any.
    pub(super) fn provider_id(&self, machine: &str) -> Box<str> {
        self.snapshot.facts.machines.get(machine).map(|machine| machine.provider_id.clone()).unwrap_or_default()
    }

    /// Whether no process of the STACKIT provider can be left, on a Node that hung either.
    fn stackit_is_off(&self) -> bool {
        let nodes = self.nodes.as_ref().and_then(|nodes| nodes.seen().ok());
        self.seen.other_is_off(nodes.as_deref(), self.now(), &self.settings.nodes)
    }

    /// Why the Nodes are not known, where the API server does not give them.
    pub(super) fn nodes_error(&self) -> Option<String> {
        self.nodes.as_ref().and_then(|nodes| nodes.seen().err().flatten())
    }

    /// What is planned from.
    pub(super) fn way_back(&self) -> WayBack<'_> {
        WayBack {
            namespace: &self.namespace,
            facts: &self.snapshot.facts,
            classes: &self.snapshot.classes,
            previous: &self.snapshot.previous,
            paused_by_us: self.paused_by_us(),
            seen: &self.seen,
            nodes: self.nodes_now.as_deref(),
            cloud: &self.cloud,
            settings: &self.settings,
            leave_behind: &self.leave_behind,
        }
    }

    /// What comes next.
    pub(super) fn next(&self) -> Next {
        self.way_back().next(self.now())
    }

    /// Whether nothing of this way back was done yet: the guard is closed, and the pause none of ours.
    pub(super) fn begins_anew(&self) -> bool {
        self.snapshot.facts.guard() == Some(GuardLabel::Closed) && !self.paused_by_us()
    }

    /// Whether the pause is one that a rollback has set.
    pub(super) fn paused_by_us(&self) -> bool {
        let annotations = self.migration.as_ref().and_then(|migration| migration.metadata.annotations.as_ref());
        annotations
            .is_some_and(|annotations| annotations.get(keys::PAUSED_BY_ROLLBACK).is_some_and(|set| set == keys::TRUE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_and_a_gap_are_told_apart() {
        let (wall, secs) = (SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000), Duration::from_secs);
        let before = (secs(100), wall);
        let gap = |counted: u64, passed: i64| {
            let passed_by = secs(passed.unsigned_abs());
            gap(before, (secs(100 + counted), if passed < 0 { wall - passed_by } else { wall + passed_by }))
        };
        assert_eq!([gap(2, 2), gap(20, 20), gap(2, 11), gap(15, 6)], [Gap::None; 4]);
        assert_eq!([gap(21, 21), gap(600, 605)], [Gap::Unseen; 2]);
        // It slept: for some seconds, for hours, within a long call; or somebody set the clock.
        assert_eq!([gap(2, 13), gap(2, 7200), gap(30, 300), gap(2, -9), gap(60, 40)], [Gap::Slept; 5]);
    }
}
