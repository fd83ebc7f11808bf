use std::time::Duration;

use crate::decide::Because;
use crate::domain::Reason;

/// A moment, as the time since this process started. Clocks of others are never compared with ours.
pub type Moment = Duration;

/// A Node of the seed, as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeSeen {
    /// Its name.
    pub name: String,
    /// Since when this process has seen it Ready without a break; none when it is not Ready now.
    pub ready_since: Option<Moment>,
}

/// What is asked of the Nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodesRule {
    /// For how long each must have been Ready: longer than an OpenStack provider that wakes up on a hung Node can act.
    pub ready_for: Duration,
    /// Nodes that an operator excepts, because their machines are known to be off.
    pub except: Vec<String>,
}

/// Whether every Node of the seed has been seen Ready for long enough, after `since`: the moment at which this process saw the
/// shoot's last OpenStack pod gone or, failing that, started.
///
/// A pod that is gone from the API may still run on a Node that hangs, so a Node that is lost closes the step.
///
/// # Errors
/// The Node that is not Ready, or how long the wait still is.
pub fn every_node_ready_long_enough(
    nodes: &[NodeSeen],
    since: Moment,
    now: Moment,
    rule: &NodesRule,
) -> Result<(), (Because, Duration)> {
    let asked: Vec<&NodeSeen> = nodes.iter().filter(|node| !rule.except.contains(&node.name)).collect();
    if let Some(node) = asked.iter().find(|node| node.ready_since.is_none()) {
        return Err((Because::about(Reason::SeedNodeLost, &*node.name), rule.ready_for));
    }
    let newest = asked.iter().max_by_key(|node| node.ready_since);
    let from = newest.and_then(|node| node.ready_since).unwrap_or(since).max(since);
    let left = rule.ready_for.saturating_sub(now.saturating_sub(from));
    if left.is_zero() {
        return Ok(());
    }
    let subject = newest.map(|node| node.name.clone()).unwrap_or_default();
    Err((Because::about(Reason::SeedNodeLost, subject), left))
}
