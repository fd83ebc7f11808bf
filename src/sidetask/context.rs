use std::sync::Arc;
use std::time::Duration;

use mcm_migration_core::plan::{Moment, NodeSeen, Settings};
use tokio::sync::{Semaphore, watch};

use super::projects::Projects;
use super::{Clock, Clouds, Cluster, Fence, Owners, SideTaskMetrics};

/// How the side task is run, beside what [`Settings`] say of each step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What the planner goes by.
    pub settings: Settings,
    /// How often a shoot that is under way is passed over without anything new.
    pub pass_every: Duration,
    /// How many shoots label at the same time. Each has what it listed labelled before that is too old to be acted on; with all of them in
    /// one queue, each would list again and again.
    pub labelling_at_once: usize,
    /// Plan and say, and write nothing.
    pub dry_run: bool,
}

/// The Nodes, as this leader has seen them.
#[derive(Debug, Clone, Default)]
pub(super) struct Nodes {
    pub(super) seen: Vec<NodeSeen>,
    /// When the last list was asked for; none before the first.
    pub(super) until: Option<Moment>,
}

/// What all shoots share.
pub(super) struct Context<C, P, K, F, O> {
    pub(super) cluster: Arc<C>,
    pub(super) clouds: Arc<P>,
    pub(super) clock: K,
    pub(super) fence: F,
    pub(super) owners: O,
    pub(super) config: Config,
    pub(super) metrics: SideTaskMetrics,
    pub(super) nodes: watch::Receiver<Nodes>,
    pub(super) projects: Projects,
    pub(super) labelling: Arc<Semaphore>,
    /// Places for steps that speak to the API server: with hundreds of shoots at once every call would take seconds there, the renewal of the
    /// Lease too.
    pub(super) steps: Semaphore,
}

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Context<C, P, K, F, O> {
    /// The Nodes of the last list, if that is not too old to say that they were watched.
    pub(super) fn nodes(&self) -> Option<Vec<NodeSeen>> {
        let nodes = self.nodes.borrow();
        let until = nodes.until?;
        let age = self.clock.now().saturating_sub(until);
        (age <= mcm_migration_core::plan::NodeBook::LONGEST_GAP).then(|| nodes.seen.clone())
    }
}
