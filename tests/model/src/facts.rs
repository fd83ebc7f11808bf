//! The product's facts, built from a state.

use std::collections::BTreeMap;

use mcm_migration_core::decide::{
    ClusterFacts, LastOperationFacts, MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts, NamespaceLabels,
    WorkerFacts,
};
use mcm_migration_core::domain::{
    GuardLabel, McmContainers, PartKind, ProjectId, Provider, Region, Server, ServerId, ServerStatus, StackitProviderId,
};
use mcm_migration_core::plan::{ClassDetails, CloudView, Listed, ListedParts, NodeSeen};
use serde_json::json;

use crate::config::Config;
use crate::gates::{Gate, Out};
use crate::memory::{NOW, ago};
use crate::state::{
    ARMED, CLASSES, Class, EXISTS, Guard, Id, LABELLED, MACHINES, MARKED, MCMS, MIGRATED, Machine, NO_POOL, NOT_READY,
    PAUSED, POS, SETTLED, Seed, Shown, Stage, TERMINATING, Template,
};

/// The domain of the labels.
pub const DOMAIN: &str = "kubernetes.io";
const PROJECT: &str = "2b1f0a3c-7d5e-4f60-8a91-b2c3d4e5f601";
const SEED_NAMES: [&str; 2] = ["seed-a", "seed-b"];
/// The names of the Machines.
pub const MACHINE_NAMES: [&str; MACHINES] = ["m0", "m1", "m2"];
/// The names of the classes: the same pool and zone with two hashes.
pub const CLASS_NAMES: [&str; CLASSES] = ["shoot--p--s-pool-z1-00000", "shoot--p--s-pool-z1-11111"];
const POOL_NAMES: [&str; CLASSES] = ["pool-0", "pool-1"];

/// The project of the shoot.
///
/// # Panics
/// Never: it is a plain UUID.
#[must_use]
pub fn project() -> ProjectId {
    ProjectId::parse(PROJECT).unwrap()
}

/// The region of the shoot.
///
/// # Panics
/// Never: it is a region.
#[must_use]
pub fn region() -> Region {
    Region::parse("eu01").unwrap()
}

/// The n-th server: of Machine m, `m` is the one that OpenStack made, `8 + m` the one that STACKIT made.
///
/// # Panics
/// Never: it is a plain UUID.
#[must_use]
pub fn server(n: usize) -> ServerId {
    ServerId::parse(&format!("{n:08x}-aaaa-4bbb-8ccc-ddddeeeeffff")).unwrap()
}

/// What `spec.providerID` says.
#[must_use]
pub fn provider_id(machine: usize, id: Id) -> String {
    match id {
        Id::Absent | Id::Empty => String::new(),
        Id::Legacy => format!("openstack:///RegionOne/{}", server(machine)),
        Id::Rewritten => StackitProviderId { project: project(), server: server(machine) }.to_string(),
        Id::Born => StackitProviderId { project: project(), server: server(8 + machine) }.to_string(),
    }
}

fn machine_facts(config: &Config, index: usize, machine: Machine) -> MachineFacts {
    MachineFacts {
        uid: Box::default(),
        provider_id: provider_id(index, machine.id).into(),
        class: CLASS_NAMES[config.class_of[index]].into(),
        marked: machine.is(MARKED),
        migrated: machine.is(MIGRATED),
        settled: machine.is(SETTLED),
        exception: None,
        terminating: machine.is(TERMINATING),
    }
}

fn containers(template: Template) -> McmContainers {
    McmContainers { openstack: template == Template::OpenStack, stackit: template == Template::Stackit }
}

fn pods(seed: &Seed) -> BTreeMap<Box<str>, McmPodFacts> {
    let shown = (0..MCMS).filter(|kind| seed.mcms[*kind].shown != Shown::Gone);
    let pod = |kind: usize| {
        let mcm = &seed.mcms[kind];
        let name = format!("{}-{}", if kind == POS { "pos" } else { "pst" }, mcm.uid);
        let facts = McmPodFacts {
            uid: name.clone().into(),
            node: NODES[kind].into(),
            restarts: u32::from(mcm.restarts),
            containers: containers(if kind == POS { Template::OpenStack } else { Template::Stackit }),
            ended: false,
        };
        (name.into(), facts)
    };
    shown.map(pod).collect()
}

const NODES: [&str; MCMS] = ["node-of-pos", "node-of-pst"];

fn provider(class: Class) -> Option<Provider> {
    match class {
        Class::Absent => None,
        Class::OpenStack => Some(Provider::OpenStack),
        Class::Stackit => Some(Provider::Stackit),
    }
}

/// What the API server shows of the shoot's namespace in a seed.
#[must_use]
pub fn facts(config: &Config, index: usize, seed: &Seed) -> NamespaceFacts {
    if seed.stage == Stage::Absent {
        return NamespaceFacts::default();
    }
    let guard = match seed.guard {
        Guard::None => None,
        Guard::Closed => Some(GuardLabel::Closed),
        Guard::RollingBack => Some(GuardLabel::RollingBack),
    };
    let has = |bit: u8| seed.migration & bit != 0;
    let classes = (0..CLASSES).filter_map(|c| Some((CLASS_NAMES[c].into(), provider(seed.classes[c])?))).collect();
    let machines = seed.machines.iter().enumerate().filter(|(_, machine)| machine.exists());
    let pools = || (0..CLASSES).filter(|pool| seed.pools[*pool] != NO_POOL);
    let (operation, type_, state) = match seed.stage {
        Stage::Leaving | Stage::Persisted => ("migrate", "Migrate", "Processing"),
        Stage::Restoring => ("restore", "Restore", "Processing"),
        Stage::Absent | Stage::Ours => ("", "Reconcile", "Succeeded"),
    };
    let last = LastOperationFacts { type_: type_.into(), state: state.into() };
    let worker = WorkerFacts {
        is_stackit: true,
        operation: operation.into(),
        last_operation: last.clone(),
        marked: seed.worker_marked,
        terminating: false,
        wanted_machine_deployments: pools().map(|pool| POOL_NAMES[pool].into()).collect(),
    };
    let ours: Box<str> = SEED_NAMES[index].into();
    NamespaceFacts {
        namespace: Some(NamespaceLabels { guard, terminating: false }),
        migration: has(EXISTS).then(|| MigrationFacts {
            paused: has(PAUSED),
            paused_by_rollback: seed.paused_by_rollback,
            armed: has(ARMED),
            labelled: has(LABELLED),
        }),
        classes,
        machines: machines.map(|(m, machine)| (MACHINE_NAMES[m].into(), machine_facts(config, m, *machine))).collect(),
        machine_deployments: pools()
            .map(|pool| (POOL_NAMES[pool].into(), CLASS_NAMES[usize::from(seed.pools[pool])].into()))
            .collect(),
        mcm_deployment: (seed.template != Template::None).then(|| containers(seed.template)),
        mcm_pods: pods(seed),
        project: (!config.odd_project).then(project),
        workers: [("worker".into(), worker)].into(),
        cluster: Some(ClusterFacts {
            seed: ours.clone(),
            shoot_spec_seed: ours.clone(),
            shoot_status_seed: ours,
            shoot_last_operation: last,
            terminating: false,
        }),
    }
}

/// The classes in full.
#[must_use]
pub fn class_details(seed: &Seed) -> BTreeMap<Box<str>, ClassDetails> {
    let labels = json!({format!("{DOMAIN}/cluster"): "shoot--p--s"});
    let details = |class: Class| match class {
        Class::Absent => None,
        Class::OpenStack => Some(ClassDetails::of("OpenStack", json!({"spec": {"region": "RegionOne"}}))),
        Class::Stackit => Some(ClassDetails::of("stackit", json!({"region": "eu01", "labels": labels}))),
    };
    (0..CLASSES).filter_map(|c| Some((CLASS_NAMES[c].into(), details(seed.classes[c])?))).collect()
}

/// The Nodes of the seed, as the leader sees them.
#[must_use]
pub fn nodes(seed: &Seed) -> Vec<NodeSeen> {
    let node = |kind: usize| NodeSeen {
        name: NODES[kind].to_owned(),
        ready_since: (seed.mcms[kind].node != NOT_READY).then(|| ago(seed.mcms[kind].node)),
    };
    (0..MCMS).map(node).collect()
}

/// A LIST of the project's servers, asked for now.
#[must_use]
pub fn cloud(config: &Config, cloud: &crate::state::Cloud, out: Out) -> CloudView {
    let label = |key: &str, value: &str| (format!("{DOMAIN}/{key}").into(), value.into());
    let ours = |m: usize| {
        BTreeMap::from([
            label("machine", MACHINE_NAMES[m]),
            label("machineclass", CLASS_NAMES[config.class_of[m]]),
            label("cluster", "shoot--p--s"),
        ])
    };
    let made =
        |id: ServerId, name: &str, labels| Server { id, name: name.into(), status: ServerStatus::Active, labels };
    let mut servers = Vec::new();
    for m in 0..MACHINES {
        let labelled = cloud.old[m] == crate::state::Server::Labelled;
        let name = if config.misnamed && m == 0 && !out.has(Gate::NameCheck) { "another" } else { MACHINE_NAMES[m] };
        if cloud.old[m].is_listed() {
            servers.push(made(server(m), name, if labelled { ours(m) } else { BTreeMap::new() }));
        }
        if cloud.born & (1 << m) != 0 {
            servers.push(made(server(8 + m), MACHINE_NAMES[m], ours(m)));
        }
    }
    if config.neighbour && !out.has(Gate::ForeignClass) {
        servers.push(made(server(99), "n0", [label("machineclass", CLASS_NAMES[0])].into()));
    }
    // Servers without parts that were made apart: nothing is collected through those.
    let parts = PartKind::ALL.map(|kind| ((region(), kind), ListedParts::new([], NOW)));
    CloudView { lists: [(region(), Listed::new(servers, NOW))].into(), parts: parts.into(), ..CloudView::default() }
}
