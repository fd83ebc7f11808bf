use std::time::Duration;

use crate::decide::Because;
use crate::domain::Reason;

use super::seen::PodSeen;
use super::{Direction, Moment, NodeSeen, NodesNotYet, Seen, Settings, every_node_ready_long_enough};

/// Why a Machine's server may not be labelled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotYet {
    /// The reason.
    pub because: Because,
    /// How long the wait is, where time alone ends it.
    pub left: Option<Duration>,
}

/// Whether the Machine's new ID is old enough to be in the cache of every machine-controller-manager that could act, and whether
/// that is proved.
///
/// Time alone proves nothing: a machine-controller-manager that is cut off from the API server and not from the cloud goes on with
/// an old cache. So every Node of the seed must be Ready, the Lease must have been renewed well after the ID was seen, by a pod that runs the
/// provider that the shoot moves to, and every other pod that was there must have been restarted, be a healthy standby, or be gone.
///
/// # Errors
/// What is still to be waited for.
pub fn quarantine_is_over(
    seen: &Seen,
    machine: &str,
    nodes: Option<&[NodeSeen]>,
    now: Moment,
    settings: &Settings,
) -> Result<(), NotYet> {
    let Some(since) = seen.id_since(machine) else {
        return Err(NotYet { because: Because::of(Reason::Quarantined), left: None });
    };
    let left = settings.quarantine.saturating_sub(now.saturating_sub(since));
    if !left.is_zero() {
        return Err(NotYet { because: Because::of(Reason::Quarantined), left: Some(left) });
    }
    let nodes = nodes.ok_or(NotYet { because: Because::about(Reason::SeedNodeLost, "not listed yet"), left: None })?;
    // A pod that is gone from the API, perhaps before this leader began, may still run on a Node that hangs; and one that has just woken up
    // acts for some seconds before its lost Lease ends it.
    every_node_ready_long_enough(nodes, Moment::ZERO, now, &settings.nodes).map_err(|not_yet| NotYet {
        because: not_yet.because(),
        left: match not_yet {
            NodesNotYet::Wait { left, .. } => Some(left),
            NodesNotYet::Lost(_) => None,
        },
    })?;
    evidence(seen, since, nodes, now, settings).map_err(|because| NotYet { because, left: None })
}

fn evidence(seen: &Seen, since: Moment, nodes: &[NodeSeen], now: Moment, settings: &Settings) -> Result<(), Because> {
    let alive = || seen.pods.values().filter(|pod| pod.gone.is_none());
    if alive().next().is_none() {
        // Nobody holds a cache.
        return Ok(());
    }
    let lease = seen.lease.as_ref().ok_or_else(|| Because::about(Reason::NoLeaseEvidence, "no Lease"))?;
    let holder = alive()
        .find(|pod| pod.name == lease.sighting.holder && seen.direction.is_alone(pod.containers))
        .ok_or_else(|| Because::about(Reason::NoLeaseEvidence, &*lease.sighting.holder))?;
    let renewed_after = |moment: Moment| {
        lease.changed_after.is_some_and(|after| after >= moment.saturating_add(settings.evidence_after))
    };
    // Whether the wait is over and proved, had the ID been seen only at `moment`.
    let proved_since = |moment: Moment| now.saturating_sub(moment) >= settings.quarantine && renewed_after(moment);
    // A holder that froze with its Node and woke up may renew its Lease before it has caught up, so a renewal well after that is asked for.
    let awake = ready_since(nodes, holder).is_none_or(renewed_after);
    if !awake || !proved_since(since) {
        return Err(Because::about(Reason::NoLeaseEvidence, &*holder.name));
    }
    let mut others = alive().filter(|pod| !std::ptr::eq(*pod, holder));
    match others.find(|pod| !is_harmless(pod, seen.direction, since, nodes, proved_since)) {
        Some(pod) => Err(Because::about(Reason::McmUnproven, &*pod.name)),
        None => Ok(()),
    }
}

/// Whether a pod that does not hold the Lease cannot act on a cache from before `since`. One that is gone is off: every Node is Ready.
fn is_harmless(
    pod: &PodSeen,
    direction: Direction,
    since: Moment,
    nodes: &[NodeSeen],
    proved_since: impl Fn(Moment) -> bool,
) -> bool {
    // One without a Node has never run.
    if pod.node.is_empty() || pod.restarted.is_some_and(|restarted| restarted > since) {
        return true;
    }
    if !direction.is_alone(pod.containers) {
        return false;
    }
    // A healthy standby: its Node Ready throughout, the Lease never its own. Where that was broken, the wait is begun again from there,
    // as a new leader would begin it.
    let Some(ready) = ready_since(nodes, pod) else { return false };
    let held = pod.held.map_or(since, |held| held.saturating_add(Duration::from_nanos(1)));
    proved_since(since.max(ready).max(held))
}

fn ready_since(nodes: &[NodeSeen], pod: &PodSeen) -> Option<Moment> {
    nodes.iter().find(|node| *node.name == *pod.node).and_then(|node| node.ready_since)
}
