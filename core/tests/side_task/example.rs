//! Small shoots by hand: one Machine, one machine-controller-manager, one step before something is done.

use mcm_migration_core::decide::{MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts, NamespaceLabels};
use mcm_migration_core::domain::{GuardLabel, McmContainers, PartKind, Server, ServerStatus};
use mcm_migration_core::plan::{
    Backoff, CloudView, LeaseSighting, Listed, ListedParts, Moment, NodeSeen, NotYet, Proof, Seen, quarantine_is_over,
};

use super::{Case, Look, NAMESPACE, eu01, openstack_class, providers, secs, server_id, settings, stackit_class};
use crate::worlds::{PROJECT, switched_shoot};

pub const CLASS: &str = "pool-a-z1-aaaaa";
pub const STACKIT: McmContainers = McmContainers { openstack: false, stackit: true };
pub const OPENSTACK: McmContainers = McmContainers { openstack: true, stackit: false };
/// When the plan of an example is made.
pub const NOW: u64 = 2_000;

pub fn legacy(n: usize) -> MachineFacts {
    let provider_id = format!("openstack:///RegionOne/{}", server_id(n)).into();
    MachineFacts { provider_id, class: CLASS.into(), ..MachineFacts::default() }
}

pub fn rewritten(n: usize) -> MachineFacts {
    let provider_id = format!("stackit://{PROJECT}/{}", server_id(n)).into();
    MachineFacts { provider_id, class: CLASS.into(), marked: true, migrated: true, ..MachineFacts::default() }
}

pub fn without_id() -> MachineFacts {
    MachineFacts { class: CLASS.into(), ..MachineFacts::default() }
}

pub fn server(n: usize, name: &str) -> Server {
    Server { id: server_id(n), name: name.into(), status: ServerStatus::Active, labels: [].into() }
}

pub fn labelled(mut server: Server, class: &str) -> Server {
    server.labels.insert("kubernetes.io/machineclass".into(), class.into());
    server
}

pub fn pod(uid: &str, node: &str, containers: McmContainers) -> McmPodFacts {
    McmPodFacts { uid: uid.into(), node: node.into(), restarts: 0, containers, ended: false }
}

pub fn lease(holder: &str, renewed: u64) -> LeaseSighting {
    LeaseSighting { holder: holder.into(), renewed: format!("t{renewed}").into() }
}

/// Nodes `n-0`, `n-1`, … and since when each is Ready.
pub fn nodes(since: &[Option<u64>]) -> Vec<NodeSeen> {
    let node = |(n, since): (usize, &Option<u64>)| NodeSeen { name: format!("n-{n}"), ready_since: since.map(secs) };
    since.iter().enumerate().map(node).collect()
}

fn case(facts: NamespaceFacts, looks: Vec<Look>, servers: Vec<Server>) -> Case {
    let class = if facts.openstack_class().is_some() { openstack_class() } else { stackit_class() };
    let parts = PartKind::ALL.map(|kind| ((eu01(), kind), ListedParts::new([], secs(NOW))));
    Case {
        namespace: NAMESPACE.to_owned(),
        classes: [(CLASS.into(), class)].into(),
        facts,
        looks,
        restoring: false,
        nodes: Some(nodes(&[Some(0), Some(0)])),
        cloud: CloudView {
            lists: [(eu01(), Listed::new(servers, secs(NOW)))].into(),
            parts: parts.into(),
            ..CloudView::default()
        },
        proof: Proof::Holds,
        backoff: Backoff::default(),
        settings: settings(),
        now: secs(NOW),
    }
}

fn look(at: u64, facts: &NamespaceFacts, lease: LeaseSighting) -> Look {
    Look { at: secs(at), facts: facts.clone(), lease: Some(Some(lease)), listed: true, lost: false }
}

/// A shoot whose Deployment and pods are switched, with these Machines of a class that is still `OpenStack`.
pub fn before_the_flip(machines: &[(&str, MachineFacts)], servers: Vec<Server>) -> Case {
    let classes = [(CLASS.into(), openstack_class())].into();
    let facts = NamespaceFacts {
        machines: machines.iter().map(|(name, machine)| ((*name).into(), machine.clone())).collect(),
        machine_deployments: [("md".into(), CLASS.into())].into(),
        classes: providers(&classes),
        mcm_pods: [("mcm-0".into(), pod("a", "n-0", STACKIT))].into(),
        ..switched_shoot()
    };
    let looks = vec![look(100, &facts, lease("mcm-0", 100)), look(NOW, &facts, lease("mcm-0", NOW))];
    case(facts, looks, servers)
}

/// A shoot that is switched, guarded and armed, with these Machines; the leader has watched it for longer than a quarantine.
pub fn armed(machines: &[(&str, MachineFacts)], servers: Vec<Server>) -> Case {
    let mut case = before_the_flip(machines, servers);
    case.classes = [(CLASS.into(), stackit_class())].into();
    change(&mut case, |facts| {
        facts.classes = providers(&[(CLASS.into(), stackit_class())].into());
        facts.namespace = Some(NamespaceLabels { guard: Some(GuardLabel::Closed), terminating: false });
        facts.migration = Some(MigrationFacts { armed: true, ..MigrationFacts::default() });
    });
    case
}

/// Changes what is so, and was so at every look.
pub fn change(case: &mut Case, change: impl Fn(&mut NamespaceFacts)) {
    change(&mut case.facts);
    case.looks.iter_mut().for_each(|look| change(&mut look.facts));
}

/// The quarantine of the Machine `m-0`, which has its STACKIT ID from 100 s on.
#[derive(Debug)]
pub struct Quarantine {
    pub seen: Seen,
    pub facts: NamespaceFacts,
    pub nodes: Vec<NodeSeen>,
}

impl Quarantine {
    /// Pods by name; the first holds the Lease, which is seen at 100 s.
    pub fn of(pods: &[(&str, McmPodFacts)]) -> Self {
        let facts = NamespaceFacts {
            machines: [("m-0".into(), rewritten(0))].into(),
            mcm_pods: pods.iter().map(|(name, pod)| ((*name).into(), pod.clone())).collect(),
            ..switched_shoot()
        };
        let mut quarantine = Self { seen: Seen::default(), facts, nodes: nodes(&[Some(0), Some(0)]) };
        quarantine.look(100);
        if let Some((holder, _)) = pods.first() {
            quarantine.renew(holder, 100);
        }
        quarantine
    }

    pub fn look(&mut self, at: u64) {
        self.seen.observe(&self.facts, false, secs(at));
    }

    /// The Lease is read, renewed by `holder` a moment ago.
    pub fn renew(&mut self, holder: &str, at: u64) {
        self.seen.observe_lease(Some(lease(holder, at)), secs(at), secs(at));
    }

    pub fn pod(&mut self, name: &str) -> &mut McmPodFacts {
        self.facts.mcm_pods.get_mut(name).unwrap()
    }

    /// What is still waited for at a moment.
    pub fn at(&self, at: u64) -> Result<(), String> {
        self.ask(secs(at)).map_err(|not_yet| not_yet.because.to_string())
    }

    pub fn ask(&self, now: Moment) -> Result<(), NotYet> {
        quarantine_is_over(&self.seen, "m-0", Some(&self.nodes), now, &settings())
    }
}
