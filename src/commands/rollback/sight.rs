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

/// After so long without a look a pod may have come and gone unseen, so that the wait for its Node begins anew.
const UNSEEN: Duration = Duration::from_secs(20);

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
        // The clock that counts stands still while the machine of an operator sleeps; the one on the wall does not.
        let slept = |wall: SystemTime| SystemTime::now().duration_since(wall).is_ok_and(|passed| passed > UNSEEN);
        if self.looked.is_some_and(|(looked, wall)| self.now().saturating_sub(looked) > UNSEEN || slept(wall)) {
            self.seen.lose_sight();
        }
        let were_gone = self.seen.other_gone().is_some();
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
        if were_gone {
            // The list was asked for after the last STACKIT pod had been seen gone.
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
