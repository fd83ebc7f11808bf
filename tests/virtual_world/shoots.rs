//! Shoots to begin with.

use mcm_migration_core::decide::{
    ClusterFacts, LastOperationFacts, MachineFacts, McmPodFacts, NamespaceLabels, WorkerFacts,
};
use mcm_migration_core::domain::{McmContainers, NetworkId, ProjectId, ServerId, ServerStatus};
use mcm_migration_core::plan::ClassDetails;
use rand::RngExt;
use serde_json::json;

use crate::cloud::server;
use crate::world::{Objects, World};

pub const OPENSTACK: McmContainers = McmContainers { openstack: true, stackit: false };
pub const STACKIT: McmContainers = McmContainers { openstack: false, stackit: true };

pub fn network() -> NetworkId {
    NetworkId::parse("5d3e0fd2-1f0e-4b1c-9c52-8c1d6a1b2c3d").unwrap()
}

fn id(kind: u32, number: u32) -> String {
    format!("{kind:08x}-0000-4000-8000-{number:012x}")
}

/// The server of that number, of a shoot that is made of `namespace`.
pub fn server_id(number: u32, namespace: &str) -> ServerId {
    let shoot = namespace.bytes().last().map_or(0, u32::from);
    ServerId::parse(&id(number, shoot)).unwrap()
}

/// The number of the first server of another landscape, and of the first that is none of them any more.
pub const FOREIGN: std::ops::Range<u32> = 0x2_0000..0x3_0000;

/// Whether a server is of another landscape, whatever it is called.
pub fn is_foreign(id: ServerId) -> bool {
    u32::from_str_radix(&id.as_str()[..8], 16).is_ok_and(|number| FOREIGN.contains(&number))
}

pub fn openstack_class() -> ClassDetails {
    ClassDetails::of(
        "OpenStack",
        json!({"spec": {"region": "RegionOne", "networkID": network().as_str(), "podNetworkCIDRs": ["100.64.0.0/12"]}}),
    )
}

pub fn stackit_class() -> ClassDetails {
    ClassDetails::of("stackit", json!({"region": "eu01", "labels": {"kubernetes.io/cluster": "c"}}))
}

/// One that Gardener is about to switch: all OpenStack's, some Machines in creation, one class of a roll-out.
pub fn shoot(world: &mut World, number: u32) -> Box<str> {
    let namespace: Box<str> = format!("shoot--p--s{number}").into();
    let mut objects = Objects::default();
    let facts = &mut objects.facts;
    facts.namespace = Some(NamespaceLabels::default());
    facts.project = ProjectId::parse(&id(1, number)).ok();
    facts.cluster = Some(ClusterFacts {
        seed: "seed".into(),
        shoot_spec_seed: "seed".into(),
        shoot_status_seed: "seed".into(),
        ..ClusterFacts::default()
    });
    let deployment: Box<str> = format!("{namespace}-w-z1").into();
    let (old, new): (Box<str>, Box<str>) = (format!("{deployment}-old").into(), format!("{deployment}-new").into());
    let rolls_out = world.chance(0.5);
    facts.workers.insert(
        "w".into(),
        WorkerFacts {
            is_stackit: true,
            last_operation: LastOperationFacts { type_: "Reconcile".into(), state: "Succeeded".into() },
            wanted_machine_deployments: vec![deployment.clone()],
            ..WorkerFacts::default()
        },
    );
    facts.machine_deployments.insert(deployment, if rolls_out { new.clone() } else { old.clone() });
    facts.mcm_deployment = Some(OPENSTACK);
    pod(&mut objects, "mcm-openstack", OPENSTACK);
    objects.classes.insert(old.clone(), openstack_class());
    if rolls_out {
        objects.classes.insert(new, stackit_class());
    }
    let machines = world.rng.random_range(0..6);
    for machine in 0..machines {
        let name: Box<str> = format!("{namespace}-m{machine}").into();
        let server_id = ServerId::parse(&id(0x100 + number, machine)).unwrap();
        let in_flight = world.rng.random_range(0..4);
        let mut facts = MachineFacts { class: old.clone(), ..MachineFacts::default() };
        facts.terminating = world.chance(0.15);
        match in_flight {
            // In creation when its provider went: with a server, or without.
            0 => drop(world.servers.insert(server_id, server(server_id, &name, ServerStatus::Creating))),
            1 if world.chance(0.5) => {}
            _ => {
                facts.provider_id = format!("openstack:///RegionOne/{server_id}").into();
                world.servers.insert(server_id, server(server_id, &name, ServerStatus::Active));
            }
        }
        objects.facts.machines.insert(name, facts);
    }
    world.shoots.insert(namespace.clone(), objects);
    world.bump(&namespace, "all");
    namespace
}

pub fn pod(objects: &mut Objects, name: &str, containers: McmContainers) {
    let pod = McmPodFacts { uid: name.into(), node: "node".into(), containers, ..McmPodFacts::default() };
    objects.facts.mcm_pods.insert(name.into(), pod);
}
