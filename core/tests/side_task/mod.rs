//! Generated shoots with everything that a plan is made from, and the same questions asked a second time in the plainest form.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

pub mod example;
pub mod generate;
pub mod nearly;
pub mod oracle;
pub mod parts;
pub mod script;
pub mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mcm_migration_core::decide::{Because, NamespaceFacts};
use mcm_migration_core::domain::{Provider, Region, ServerId};
use mcm_migration_core::plan::{
    Action, Backoff, ClassDetails, CloudView, LeaseSighting, Moment, NodeSeen, NodesRule, Plan, Proof, Report, Seen,
    Settings, Shoot, plan, report,
};
use serde_json::json;

pub const NETWORK: &str = "0a0b0c0d-1111-4222-8333-444455556666";
/// The domain of the labels.
pub const DOMAIN: &str = "kubernetes.io";
/// The shoot.
pub const NAMESPACE: &str = "shoot--p--s";
pub const CIDR: &str = "100.64.0.0/12";

pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The n-th server of a test.
pub fn server_id(n: usize) -> ServerId {
    ServerId::parse(&format!("{n:08x}-aaaa-4bbb-8ccc-ddddeeeeffff")).unwrap()
}

pub fn eu01() -> Region {
    Region::parse("eu01").unwrap()
}

pub fn settings() -> Settings {
    Settings {
        quarantine: secs(900),
        evidence_after: Settings::EVIDENCE_AFTER,
        inflight_timeout: secs(600),
        nodes: NodesRule { ready_for: secs(120), except: Vec::new() },
        label_domain: DOMAIN.to_owned(),
        regions: [("RegionOne".to_owned(), eu01())].into(),
        touch: true,
        boot_volume_care: false,
        force_after: None,
        drift_every: secs(3600),
    }
}

pub fn stackit_class() -> ClassDetails {
    let labels = json!({"kubernetes.io/cluster": "shoot--p--s"});
    ClassDetails::of("stackit", json!({"region": "eu01", "labels": labels, "networking": {"networkId": NETWORK}}))
}

pub fn openstack_class() -> ClassDetails {
    ClassDetails::of(
        "OpenStack",
        json!({"spec": {"region": "RegionOne", "networkID": NETWORK, "podNetworkCIDRs": [CIDR]}}),
    )
}

/// The providers, as the facts have them.
pub fn providers(classes: &BTreeMap<Box<str>, ClassDetails>) -> BTreeMap<Box<str>, Provider> {
    classes.iter().map(|(name, class)| (name.clone(), class.provider)).collect()
}

/// One look of the leader at the shoot, before or at the time of the plan.
#[derive(Debug, Clone)]
pub struct Look {
    pub at: Moment,
    pub facts: NamespaceFacts,
    /// The Lease was read, and what it showed.
    #[allow(clippy::option_option, reason = "not read, read and absent, read")]
    pub lease: Option<Option<LeaseSighting>>,
    /// The Machines were listed past the caches.
    pub listed: bool,
    /// The caches had been lost before.
    pub lost: bool,
}

/// Everything that a plan is made from, owned.
#[derive(Debug, Clone)]
pub struct Case {
    pub namespace: String,
    pub facts: NamespaceFacts,
    pub classes: BTreeMap<Box<str>, ClassDetails>,
    pub looks: Vec<Look>,
    pub restoring: bool,
    pub nodes: Option<Vec<NodeSeen>>,
    pub cloud: CloudView,
    pub proof: Proof,
    pub backoff: Backoff,
    pub settings: Settings,
    pub now: Moment,
}

impl Case {
    /// What the leader has seen after all looks.
    pub fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for look in &self.looks {
            if look.lost {
                seen.lose_sight();
            }
            seen.observe(&look.facts, self.restoring, look.at);
            if look.listed {
                seen.observe_machines(look.facts.machines.keys().map(|name| &**name));
            }
            if let Some(lease) = &look.lease {
                seen.observe_lease(lease.clone(), look.at, look.at);
            }
        }
        seen
    }

    /// Hands the shoot to a question.
    pub fn ask<T>(&self, question: impl FnOnce(&Shoot<'_>) -> T) -> T {
        question(&Shoot {
            namespace: &self.namespace,
            facts: &self.facts,
            classes: &self.classes,
            seen: &self.seen(),
            nodes: self.nodes.as_deref(),
            cloud: &self.cloud,
            proof: &self.proof,
            backoff: &self.backoff,
        })
    }

    pub fn plan(&self) -> Result<Plan, Because> {
        self.ask(|shoot| plan(shoot, self.now, &self.settings))
    }

    pub fn actions(&self) -> Vec<Action> {
        self.plan().map(|plan| plan.actions).unwrap_or_default()
    }

    pub fn report(&self, plan: &Plan) -> Report {
        self.ask(|shoot| report(shoot, plan))
    }

    /// The reasons that the plan names for a Machine, a class, or (by the empty name) the shoot.
    pub fn waits(&self, name: &str) -> Vec<String> {
        let waits = self.plan().map(|plan| plan.waits).unwrap_or_default();
        waits.into_iter().filter(|wait| &*wait.name == name).map(|wait| wait.because.to_string()).collect()
    }
}

/// The steps' names of actions, in their order.
pub fn steps(actions: &[Action]) -> Vec<&'static str> {
    actions.iter().map(Action::step).collect()
}

/// A set of names.
pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<Box<str>> {
    names.into_iter().map(Into::into).collect()
}
