use std::collections::BTreeMap;
use std::time::Duration;

use crate::decide::Because;
use crate::domain::Reason;

/// A moment, as the time since this process started. Clocks of others are never compared with ours.
pub type Moment = Duration;

/// One Node, as one list of the API server shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSighting {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`: a Node that was deleted and made again is another one.
    pub uid: String,
    /// The condition `Ready` is `True`.
    pub ready: bool,
    /// `lastTransitionTime` of the condition `Ready`, as text. It is only ever compared with itself: when it differs, the
    /// Node was not Ready in between.
    pub ready_changed: String,
}

/// A Node of the seed, as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSeen {
    /// Its name.
    pub name: String,
    /// Since when this process has seen it Ready without a break; none when it is not Ready now.
    pub ready_since: Option<Moment>,
}

/// What this process has seen of the Nodes, kept from list to list.
#[derive(Debug, Clone, Default)]
pub struct NodeBook {
    seen: BTreeMap<String, (NodeSighting, Option<Moment>)>,
    asked_last: Option<Moment>,
}

impl NodeBook {
    /// The longest time between two lists that still counts as having watched the Nodes throughout.
    pub const LONGEST_GAP: Duration = Duration::from_secs(10);

    /// Takes up one list, asked for at `asked` and answered at `answered`.
    ///
    /// A Node counts as Ready from the answer on, and is known about up to the question: both err to the longer wait.
    pub fn take_up(&mut self, list: impl IntoIterator<Item = NodeSighting>, asked: Moment, answered: Moment) {
        let watched = self.asked_last.is_some_and(|last| answered.saturating_sub(last) <= Self::LONGEST_GAP);
        let mut before = std::mem::take(&mut self.seen);
        for node in list {
            let since =
                before.remove(&node.name).filter(|(old, _)| watched && *old == node).and_then(|(_, since)| since);
            let since = node.ready.then(|| since.unwrap_or(answered));
            self.seen.insert(node.name.clone(), (node, since));
        }
        self.asked_last = Some(asked);
    }

    /// The Nodes of the last list, by name.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeSeen> {
        self.seen.iter().map(|(name, (_, since))| NodeSeen { name: name.clone(), ready_since: *since }).collect()
    }

    /// The moment up to which the Nodes are known: when the last list was asked for; none before the first.
    #[must_use]
    pub fn known_until(&self) -> Option<Moment> {
        self.asked_last
    }
}

/// What is asked of the Nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodesRule {
    /// For how long each must have been Ready: longer than an OpenStack provider that wakes up on a hung Node can act.
    pub ready_for: Duration,
    /// Nodes that an operator excepts, because their machines are known to be off.
    pub except: Vec<String>,
}

/// Why the Nodes do not let a shoot be armed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodesNotYet {
    /// These Nodes are not Ready now.
    Lost(Vec<String>),
    /// All are Ready, but not for long enough.
    Wait {
        /// How long the wait still is.
        left: Duration,
        /// The Node that was the last to be seen Ready; none where no Node is asked.
        newest: Option<String>,
    },
}

impl NodesNotYet {
    /// The reason, with the Nodes that it is about.
    #[must_use]
    pub fn because(&self) -> Because {
        match self {
            Self::Lost(nodes) => Because::about(Reason::SeedNodeLost, nodes.join(", ")),
            Self::Wait { newest, .. } => Because::about(Reason::SeedNodeLost, newest.clone().unwrap_or_default()),
        }
    }
}

/// Whether every Node of the seed has been seen Ready for long enough at `now`, after `since`: the moment at which this process
/// saw the shoot's last OpenStack pod gone or, failing that, started.
///
/// A pod that is gone from the API may still run on a Node that hangs, so a Node that is lost closes the step. Without any Node
/// the time is waited all the same.
///
/// # Errors
/// The Nodes that are not Ready, or how long the wait still is.
pub fn every_node_ready_long_enough(
    nodes: &[NodeSeen],
    since: Moment,
    now: Moment,
    rule: &NodesRule,
) -> Result<(), NodesNotYet> {
    let asked = || nodes.iter().filter(|node| !rule.except.contains(&node.name));
    let lost: Vec<String> = asked().filter(|node| node.ready_since.is_none()).map(|node| node.name.clone()).collect();
    if !lost.is_empty() {
        return Err(NodesNotYet::Lost(lost));
    }
    let newest = asked().max_by_key(|node| node.ready_since);
    let from = newest.and_then(|node| node.ready_since).unwrap_or(since).max(since);
    let left = rule.ready_for.saturating_sub(now.saturating_sub(from));
    if left.is_zero() {
        return Ok(());
    }
    Err(NodesNotYet::Wait { left, newest: newest.map(|node| node.name.clone()) })
}
