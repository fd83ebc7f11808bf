//! Random shoots. Each part is mostly as a healthy migration has it, so that every action is planned often, and now and then anything else.

use mcm_migration_core::decide::{Because, MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts, NamespaceLabels};
use mcm_migration_core::domain::{
    Exception, GuardLabel, McmContainers, PartKind, ProjectId, Reason, Server, ServerId, ServerStatus,
};
use mcm_migration_core::plan::{Backoff, ClassDetails, CloudView, LeaseSighting, Listed, NodeSeen, NodesRule, Proof};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::parts::listed;
use super::{
    Case, DOMAIN, Look, NAMESPACE, NETWORK, eu01, openstack_class, providers, secs, server_id, settings, stackit_class,
};
use crate::worlds::{PROJECT, shoot_facts, switched_shoot};

/// The Machines that there may be; the last one's name fits no label.
pub const MACHINES: usize = 5;
pub const CLASSES: [&str; 3] = ["pool-a-z1-aaaaa", "pool-a-z1-bbbbb", "pool-b-z1-ccccc"];
const OTHER_PROJECT: &str = "99999999-7d5e-4f60-8a91-b2c3d4e5f601";
/// When a generated plan is made.
pub const NOW: u64 = 10_000;

pub fn machine_name(n: usize) -> String {
    if n + 1 == MACHINES { format!("m-{}", "x".repeat(70)) } else { format!("m-{n}") }
}

/// True with a chance of `percent`.
pub fn chance(percent: u32) -> impl Strategy<Value = bool> {
    prop::bool::weighted(f64::from(percent) / 100.0)
}

fn provider_id(n: usize) -> impl Strategy<Value = String> {
    let other = server_id((n + 1) % MACHINES);
    let own = server_id(n);
    prop_oneof![
        3 => Just(String::new()),
        5 => Just(format!("openstack:///RegionOne/{own}")),
        12 => Just(format!("stackit://{PROJECT}/{own}")),
        1 => Just(format!("stackit://{OTHER_PROJECT}/{own}")),
        1 => Just(format!("stackit://{PROJECT}/{other}")),
        1 => Just(format!("openstack:///RegionOne/{other}")),
        1 => select(vec!["openstack:nonsense", "stackit://", "stackit://x/y", "aws:///eu/i-1"]).prop_map(str::to_owned),
        1 => Just(format!("stackit://{PROJECT}/{own} ")),
    ]
}

fn machine(n: usize) -> impl Strategy<Value = MachineFacts> {
    let class = prop_oneof![8 => Just(CLASSES[0]), 3 => Just(CLASSES[1]), 2 => Just(CLASSES[2]), 1 => Just("gone")];
    (provider_id(n), class, chance(40), chance(60), chance(15), chance(10), chance(15)).prop_map(
        |(id, class, marked, migrated, settled, exception, terminating)| MachineFacts {
            uid: Box::default(),
            provider_id: id.into(),
            class: class.into(),
            marked,
            migrated,
            settled,
            exception: exception.then(|| Exception::of("server-gone")),
            terminating,
        },
    )
}

fn class(openstack: u32) -> impl Strategy<Value = Option<ClassDetails>> {
    let odd = json!({"region": "eu01", "labels": {"kubernetes.io/cluster": "no/label", "a": ""}});
    let bare = json!({"spec": {"region": "RegionOne"}});
    let lost = json!({"spec": {"region": "Nowhere", "podNetworkCIDRs": ["10.0.0.0/8"]}});
    prop_oneof![
        24 => Just(Some(stackit_class())),
        8 * openstack => Just(Some(openstack_class())),
        openstack => Just(Some(ClassDetails::of("OpenStack", bare))),
        openstack => Just(Some(ClassDetails::of("OpenStack", lost))),
        1 => Just(Some(ClassDetails::of("stackit", odd))),
        1 => Just(Some(ClassDetails::of("stackit", json!({"labels": {"mine": "x"}})))),
        1 => Just(Some(ClassDetails::of("aws", json!({})))),
        5 => Just(None),
    ]
}

fn containers() -> impl Strategy<Value = McmContainers> {
    prop_oneof![
        40 => Just(McmContainers { openstack: false, stackit: true }),
        1 => Just(McmContainers { openstack: true, stackit: false }),
        1 => Just(McmContainers { openstack: true, stackit: true }),
        1 => Just(McmContainers { openstack: false, stackit: false }),
    ]
}

fn pod(n: usize) -> impl Strategy<Value = McmPodFacts> {
    let node = prop_oneof![6 => Just(format!("n-{n}")), 1 => Just(String::new()), 1 => Just("n-deleted".to_owned())];
    (containers(), node, 0..2_u32, chance(8), 0..2_usize).prop_map(move |(containers, node, restarts, ended, life)| {
        McmPodFacts { uid: format!("uid-{n}-{life}").into(), node: node.into(), restarts, containers, ended }
    })
}

fn pods() -> impl Strategy<Value = Vec<(Box<str>, McmPodFacts)>> {
    let each = |n: usize, percent: u32| {
        (chance(percent), pod(n)).prop_map(move |(there, pod)| there.then(|| (format!("mcm-{n}").into(), pod)))
    };
    (each(0, 88), each(1, 25), each(2, 10)).prop_map(|(a, b, c)| [a, b, c].into_iter().flatten().collect())
}

/// Namespace, Worker, Cluster and MachineMigration: mostly calm, sometimes anything.
fn frame() -> impl Strategy<Value = NamespaceFacts> {
    let calm = (chance(85), chance(90), chance(70), chance(70), chance(20), 0..30_u8, chance(90)).prop_map(
        |(closed, migration, armed, labelled, marked, state, project)| {
            let mut facts = switched_shoot();
            let guard = if state == 6 { Some(GuardLabel::RollingBack) } else { closed.then_some(GuardLabel::Closed) };
            facts.namespace = Some(NamespaceLabels { guard, terminating: false });
            facts.migration = migration.then_some(MigrationFacts {
                paused: state == 7,
                armed,
                labelled,
                ..MigrationFacts::default()
            });
            facts.project = ProjectId::parse(PROJECT).ok().filter(|_| project);
            for worker in facts.workers.values_mut() {
                worker.marked = marked;
                worker.terminating = state < 3;
                worker.operation = if (3..6).contains(&state) { "restore".into() } else { "".into() };
            }
            facts
        },
    );
    prop_oneof![4 => calm, 1 => shoot_facts()]
}

pub fn facts(openstack: u32) -> impl Strategy<Value = (NamespaceFacts, Vec<(Box<str>, ClassDetails)>)> {
    let machines = (0..MACHINES).map(|n| (chance(60), machine(n)).boxed()).collect::<Vec<_>>();
    let classes = CLASSES.map(|_| class(openstack).boxed()).to_vec();
    let deployment = prop_oneof![20 => Just(Some(McmContainers { openstack: false, stackit: true })), 1 => containers().prop_map(Some), 1 => Just(None)];
    let deployments = vec(
        prop_oneof![6 => Just(Some(CLASSES[1])), 2 => Just(Some(CLASSES[0])), 1 => Just(Some(CLASSES[2])), 1 => Just(None)],
        2,
    );
    (frame().boxed(), machines, classes, deployment.boxed(), pods().boxed(), deployments, vec(chance(85), 2)).prop_map(
        |(frame, machines, classes, deployment, pods, deployments, wanted)| {
            let classes: Vec<(Box<str>, ClassDetails)> = CLASSES
                .into_iter()
                .zip(classes)
                .filter_map(|(name, class)| class.map(|class| (name.into(), class)))
                .collect();
            let machines = machines.into_iter().enumerate().filter(|(_, (there, _))| *there);
            let mut facts = NamespaceFacts {
                classes: providers(&classes.iter().cloned().collect()),
                machines: machines.map(|(n, (_, machine))| (machine_name(n).into(), machine)).collect(),
                machine_deployments: deployments
                    .into_iter()
                    .enumerate()
                    .filter_map(|(n, class)| class.map(|class| (format!("md-{n}").into(), class.into())))
                    .collect(),
                mcm_deployment: deployment,
                mcm_pods: pods.into_iter().collect(),
                ..frame
            };
            for worker in facts.workers.values_mut() {
                let names = wanted.iter().enumerate().filter(|(_, wanted)| **wanted);
                worker.wanted_machine_deployments = names.map(|(n, _)| format!("md-{n}").into()).collect();
            }
            (facts, classes)
        },
    )
}

fn labels(name: &str) -> impl Strategy<Value = Vec<(String, String)>> + use<> {
    let label = |key: &str, value: &str| (format!("{DOMAIN}/{key}"), value.to_owned());
    let machine = label("machine", name);
    let cluster = label("cluster", "shoot--p--s");
    prop_oneof![
        8 => Just(Vec::new()),
        5 => Just(vec![machine.clone(), label("machineclass", CLASSES[0]), cluster.clone()]),
        2 => Just(vec![label("machineclass", CLASSES[1])]),
        2 => Just(vec![machine, ("team".to_owned(), "blue".to_owned())]),
        1 => Just(vec![label("machine", "somebody"), cluster]),
    ]
}

fn server(id: ServerId, name: String) -> impl Strategy<Value = Server> {
    let status = prop_oneof![
        20 => Just(ServerStatus::Active),
        2 => Just(ServerStatus::Creating),
        2 => Just(ServerStatus::Error),
        1 => Just(ServerStatus::Deallocated),
        1 => Just(ServerStatus::Deleting),
        1 => Just(ServerStatus::Other),
    ];
    (status, labels(&name)).prop_map(move |(status, labels)| Server {
        id,
        name: name.clone().into(),
        status,
        labels: labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect(),
    })
}

/// One server a Machine, mostly; and some that are a second one of a name, or nobody's.
fn servers() -> impl Strategy<Value = Vec<Server>> {
    let own = (0..MACHINES).map(|n| {
        let name = prop_oneof![14 => Just(machine_name(n)), 1 => Just("somebody".to_owned())];
        let server = name.prop_flat_map(move |name| server(server_id(n), name));
        (chance(85), server).prop_map(|(there, server)| there.then_some(server)).boxed()
    });
    let odd = (0..3_usize).map(|n| {
        let name = prop_oneof![2 => (0..MACHINES).prop_map(machine_name), 1 => Just("nobody".to_owned())];
        let server = name.prop_flat_map(move |name| server(server_id(MACHINES + n), name));
        (chance(8), server).prop_map(|(there, server)| there.then_some(server)).boxed()
    });
    own.chain(odd).collect::<Vec<_>>().prop_map(|servers| servers.into_iter().flatten().collect())
}

fn cloud() -> impl Strategy<Value = CloudView> {
    let age = prop_oneof![8 => 0..=60_u64, 2 => 61..3_000_u64, 1 => 3_600..5_000_u64];
    let parts = (listed(PartKind::Nic), listed(PartKind::Volume), chance(5), chance(3));
    (chance(90), servers(), age, chance(5), chance(3), vec(chance(60), 8), vec(chance(30), 8), parts).prop_map(
        |(there, servers, age, trouble, stopped, addressed, cared, (nics, volumes, part_trouble, part_stopped))| {
            CloudView {
                lists: there.then(|| (eu01(), Listed::new(servers, secs(NOW - age)))).into_iter().collect(),
                troubles: trouble.then(|| (eu01(), Because::of(Reason::CloudUnavailable))).into_iter().collect(),
                stopped: stopped.then(|| Because::of(Reason::CredentialsInvalid)),
                parts: [(PartKind::Nic, nics), (PartKind::Volume, volumes)]
                    .into_iter()
                    .filter_map(|(kind, listed)| Some(((eu01(), kind), listed?)))
                    .collect(),
                part_troubles: part_trouble
                    .then(|| ((eu01(), PartKind::Nic), Because::of(Reason::CloudForbidden)))
                    .into_iter()
                    .collect(),
                parts_stopped: part_stopped
                    .then(|| (PartKind::Volume, Because::of(Reason::PartLabelRefused)))
                    .into_iter()
                    .collect(),
                addressed: (0..8).filter(|n| addressed[*n]).map(server_id).collect(),
                cared: (0..8).filter(|n| cared[*n]).map(server_id).collect(),
            }
        },
    )
}

fn nodes() -> impl Strategy<Value = Option<Vec<NodeSeen>>> {
    let since = prop_oneof![12 => Just(Some(0)), 2 => (5..3_000_u64).prop_map(|ago| Some(NOW - ago)), 1 => Just(None)];
    let nodes = vec(since, 3).prop_map(|since| {
        let node = |(n, since): (usize, Option<u64>)| NodeSeen { name: format!("n-{n}"), ready_since: since.map(secs) };
        Some(since.into_iter().enumerate().map(node).collect())
    });
    prop_oneof![12 => nodes, 1 => Just(None), 1 => Just(Some(Vec::new()))]
}

/// What differs from the end in an earlier look.
#[derive(Debug, Clone)]
struct Before {
    ago: u64,
    rewritten: Vec<bool>,
    there: Vec<bool>,
    pods: Option<Vec<(Box<str>, McmPodFacts)>>,
    deployment: Option<McmContainers>,
    lease: Option<(usize, u8)>,
    read: bool,
    listed: bool,
    lost: bool,
}

fn before() -> impl Strategy<Value = Before> {
    let lease = prop_oneof![12 => (prop_oneof![6 => Just(0_usize), 1 => Just(1), 1 => Just(7)], 0..9_u8).prop_map(Some), 1 => Just(None)];
    (
        0..3_000_u64,
        vec(chance(80), MACHINES),
        vec(chance(90), MACHINES),
        prop::option::weighted(0.2, pods()),
        prop::option::weighted(0.1, containers()),
        lease,
        chance(80),
        chance(40),
        chance(3),
    )
        .prop_map(|(ago, rewritten, there, pods, deployment, lease, read, listed, lost)| Before {
            ago,
            rewritten,
            there,
            pods,
            deployment,
            lease,
            read,
            listed,
            lost,
        })
}

fn look(before: Before, end: &NamespaceFacts) -> Look {
    let mut facts = end.clone();
    for n in 0..MACHINES {
        let name = machine_name(n);
        if !before.there[n] {
            facts.machines.remove(&*name);
        }
        if let Some(machine) = facts.machines.get_mut(&*name).filter(|_| !before.rewritten[n]) {
            machine.provider_id = format!("openstack:///RegionOne/{}", server_id(n)).into();
        }
    }
    if let Some(pods) = before.pods {
        facts.mcm_pods = pods.into_iter().collect();
    }
    if before.deployment.is_some() {
        facts.mcm_deployment = before.deployment;
    }
    let lease = before.lease.map(|(holder, renewed)| LeaseSighting {
        holder: format!("mcm-{holder}").into(),
        renewed: format!("t{renewed}").into(),
    });
    Look {
        at: secs(NOW - before.ago),
        facts,
        lease: before.read.then_some(lease),
        listed: before.listed,
        lost: before.lost,
    }
}

/// A shoot, what the leader has seen of it, and what it knows of the cloud. The higher `openstack`, 0 to 2, the more classes are left.
pub fn case(openstack: u32) -> impl Strategy<Value = Case> {
    let proof = prop_oneof![
        6 => Just(Proof::Holds),
        2 => Just(Proof::Unasked),
        1 => Just(Proof::Fails(Because::of(Reason::GuardOpen))),
    ];
    let switches = (chance(90), chance(35), chance(10));
    let looks = (vec(before(), 0..8), chance(65), chance(93));
    (facts(openstack).boxed(), looks.boxed(), nodes().boxed(), cloud().boxed(), proof, switches).prop_map(
        |((facts, classes), (mut before, steady, up_to_date), nodes, cloud, proof, (touch, care, except))| {
            before.sort_by_key(|before| std::cmp::Reverse(before.ago));
            for before in before.iter_mut().filter(|_| steady) {
                before.rewritten.fill(true);
                before.there.fill(true);
                (before.pods, before.deployment, before.lost) = (None, None, false);
            }
            let mut looks: Vec<Look> = before.into_iter().map(|before| look(before, &facts)).collect();
            if up_to_date {
                looks.push(Look { at: secs(NOW), facts: facts.clone(), lease: None, listed: false, lost: false });
            }
            let except = if except { vec!["n-1".to_owned()] } else { Vec::new() };
            let nodes_rule = NodesRule { except, ..settings().nodes };
            Case {
                namespace: NAMESPACE.to_owned(),
                facts,
                classes: classes.into_iter().collect(),
                looks,
                restoring: false,
                nodes,
                cloud,
                proof,
                backoff: Backoff::default(),
                settings: super::Settings { touch, boot_volume_care: care, nodes: nodes_rule, ..settings() },
                now: secs(NOW),
            }
        },
    )
}

/// The network of all classes.
pub fn network() -> mcm_migration_core::domain::NetworkId {
    mcm_migration_core::domain::NetworkId::parse(NETWORK).unwrap()
}
