//! Control plane migrations: a shoot goes to another seed and comes back.

use std::time::Duration;

use mcm_migration_core::decide::MachineFacts;
use rand::RngExt;

use crate::gardener::pause;
use crate::mischief::{change, is_switched};
use crate::shoots::{STACKIT, pod};
use crate::world::{Objects, Shared, lock};

/// A shoot that is through goes away and comes back with the IDs of an old dump, and for an hour no leader stays for two minutes, or one does.
pub async fn come_back(world: Shared, namespace: Box<str>, restless: bool) {
    pause(&world, 7200..7300).await;
    {
        let mut world = lock(&world);
        let now = world.now();
        world.restless_until = if restless { now + Duration::from_secs(3600) } else { now };
    }
    leave(&world, &namespace, true).await;
}

/// A control plane migration that goes away and comes back: Machines are made again with the IDs of a dump that may be old, without status.
pub async fn leave(world: &Shared, namespace: &str, old: bool) {
    if !is_switched(&lock(world), namespace) {
        return;
    }
    let dump: std::collections::BTreeMap<Box<str>, MachineFacts> = lock(world).shoots[namespace]
        .facts
        .machines
        .iter()
        .filter(|(_, m)| !m.terminating)
        .map(|(n, m)| (n.clone(), m.clone()))
        .collect();
    change(world, namespace, "worker/w", |objects| {
        objects.facts.workers.get_mut("w").unwrap().operation = "migrate".into();
    });
    pause(world, 1..60).await;
    change(world, namespace, "pods", |objects| objects.facts.mcm_pods.clear());
    pause(world, 1..60).await;
    let gone: Vec<_> = {
        let mut world = lock(world);
        let objects = world.shoots.get_mut(namespace).unwrap();
        let gone: Vec<Box<str>> = objects.facts.machines.keys().cloned().collect();
        objects.facts.machines.clear();
        objects.facts.migration = None;
        objects.conditions.clear();
        objects.facts.namespace.as_mut().unwrap().guard = None;
        for name in &gone {
            world.bump(namespace, &format!("machine/{name}"));
        }
        world.bump(namespace, "migration");
        world.bump(namespace, "namespace");
        gone
    };
    drop(gone);
    pause(world, 1..120).await;
    change(world, namespace, "worker/w", |objects| {
        let worker = objects.facts.workers.get_mut("w").unwrap();
        (worker.operation, worker.marked) = ("restore".into(), false);
    });
    pause(world, 1..30).await;
    for (name, mut machine) in dump {
        {
            let mut world = lock(world);
            if old && machine.provider_id.starts_with("stackit://") && machine.migrated {
                let server = machine.provider_id.rsplit('/').next().unwrap().to_owned();
                // The worst dump: from before the rewrite.
                machine.provider_id = format!("openstack:///RegionOne/{server}").into();
            }
            let now = world.now();
            world.born.insert(name.clone(), now);
            world.shoots.get_mut(namespace).unwrap().facts.machines.insert(name.clone(), machine);
            world.bump(namespace, &format!("machine/{name}"));
        }
        pause(world, 0..3).await;
    }
    pause(world, 1..60).await;
    change(world, namespace, "worker/w", |objects| {
        let worker = objects.facts.workers.get_mut("w").unwrap();
        worker.operation = "".into();
        (worker.last_operation.type_, worker.last_operation.state) = ("Restore".into(), "Processing".into());
    });
    let number = lock(world).rng.random_range(1000..9999);
    change(world, namespace, "pods", |objects| pod(objects, &format!("mcm-restored-{number}"), STACKIT));
    pause(world, 1..300).await;
    change(world, namespace, "worker/w", |objects| {
        objects.facts.workers.get_mut("w").unwrap().last_operation.state = "Succeeded".into();
    });
}

/// The Cluster says that the shoot is another seed's.
pub async fn other_seed(world: &Shared, namespace: &str) {
    let set = |objects: &mut Objects, seed: &str| objects.facts.cluster.as_mut().unwrap().shoot_spec_seed = seed.into();
    change(world, namespace, "cluster", |objects| set(objects, "another"));
    pause(world, 1..300).await;
    change(world, namespace, "cluster", |objects| set(objects, "seed"));
}
