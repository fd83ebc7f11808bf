use std::collections::BTreeMap;
use std::time::Duration;

use crate::domain::Region;

use super::NodesRule;

/// What an operator decides about the side task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// For how long a STACKIT ID must have been seen before its server is labelled.
    pub quarantine: Duration,
    /// How long after the ID was first seen a renewal of the Lease `machine-controller` counts as evidence.
    pub evidence_after: Duration,
    /// How long it is waited for the server of a Machine without an ID.
    pub inflight_timeout: Duration,
    /// What is asked of the Nodes before a shoot is armed.
    pub nodes: NodesRule,
    /// The domain of the labels `<domain>/machine` and `<domain>/machineclass`.
    pub label_domain: String,
    /// Regions of OpenStack classes, and what they are called in the IaaS API.
    pub regions: BTreeMap<String, Region>,
    /// Whether Machines that nobody writes are touched.
    pub touch: bool,
    /// Whether boot volumes of migrated servers are set to be deleted with them.
    pub boot_volume_care: bool,
    /// For how long a Machine's server may be gone, or not to be labelled, before the Machine is excepted; none: for ever.
    pub force_after: Option<Duration>,
    /// How often the labels of a finished shoot are looked at.
    pub drift_every: Duration,
}

impl Settings {
    /// Below this a machine-controller-manager may still hold an informer's old copy: a client-go watch lives 5 to 10 minutes.
    pub const SAFE_QUARANTINE: Duration = Duration::from_secs(11 * 60);
    /// How long after the ID was first seen a renewal of the Lease is asked for, at least.
    pub const EVIDENCE_AFTER: Duration = Duration::from_secs(60);
    /// A LIST of servers that is older is not acted on.
    pub const LIST_MAX_AGE: Duration = Duration::from_secs(60);
    /// How long a shoot may be restoring before it is an alarm.
    pub const RESTORE_ALARM: Duration = Duration::from_secs(10 * 60);
}
