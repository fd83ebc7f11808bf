//! Everything that may change while the side task is at work, one thing after the other for each shoot, until the world is left in peace.

use std::time::Duration;

use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::domain::{GuardLabel, Provider, ServerStatus};
use rand::RngExt;

use crate::cloud::server;
use crate::gardener::pause;
use crate::journal::Kind;
use crate::rolls::{openstack, roll_out, scale_up, turn_back};
use crate::shoots::{self, STACKIT, pod};
use crate::travels::{leave, other_seed};
use crate::world::{Objects, Shared, World, lock};

/// For how long the world is not left in peace.
pub const UNTIL: Duration = Duration::from_secs(4 * 3600);

/// Changes the shoot, and says that `object` is another now.
pub fn change(world: &Shared, namespace: &str, object: &str, change: impl FnOnce(&mut Objects)) {
    let mut world = lock(world);
    change(world.shoots.get_mut(namespace).unwrap());
    world.bump(namespace, object);
}

/// Nodes go and come back; so do the times in which the API server is slow.
pub async fn seed(world: Shared) {
    while lock(&world).now() < UNTIL {
        pause(&world, 300..2400).await;
        let nodes = lock(&world).chance(0.5);
        if nodes {
            lock(&world).nodes_ready = false;
        } else {
            lock(&world).slow = 10;
        }
        lock(&world).calm_since = UNTIL;
        lock(&world).step(Kind::Change, format_args!("Nodes Ready: {}; else the API server is slow", !nodes));
        pause(&world, if nodes { 5..300 } else { 5..2400 }).await;
        let mut world = lock(&world);
        (world.nodes_ready, world.slow, world.calm_since) = (true, 1, world.now());
    }
}

/// One shoot.
pub async fn shoot(world: Shared, namespace: Box<str>) {
    let mut number = 0;
    while lock(&world).now() < UNTIL {
        pause(&world, 20..900).await;
        number += 1;
        let kind = lock(&world).rng.random_range(0..14);
        match kind {
            0 => hold(&world, &namespace).await,
            1 => {
                let old = lock(&world).chance(0.5);
                leave(&world, &namespace, old).await;
            }
            2 => other_seed(&world, &namespace).await,
            3 => openstack(&world, &namespace, number).await,
            4 => take_labels_off(&world, &namespace),
            5 => replace_pods(&world, &namespace, number),
            6 => lose_a_server(&world, &namespace).await,
            7 => {
                let mut world = lock(&world);
                let stale = world.now() + Duration::from_secs(world.rng.random_range(5..600));
                world.step(Kind::Cache, format_args!("{namespace} is not known until {stale:?}"));
                world.stale_until.insert(namespace.clone(), stale);
            }
            8 => delete_a_machine(&world, &namespace),
            9 => scale_up(&world, &namespace, number).await,
            10 => guard(&world, &namespace).await,
            11 => roll_out(&world, &namespace, number).await,
            12 => turn_back(&world, &namespace, number).await,
            _ => foreign(&world, &namespace, number).await,
        }
    }
    if lock(&world).chance(0.2) {
        delete(&world, &namespace).await;
    }
}

/// An operator says stop, sometimes again and again, and sometimes for long.
async fn hold(world: &Shared, namespace: &str) {
    let times = lock(world).rng.random_range(1..4);
    for _ in 0..times {
        if lock(world).shoots[namespace].facts.migration.is_none() {
            return;
        }
        let set = |objects: &mut Objects, paused| objects.facts.migration.as_mut().unwrap().paused = paused;
        change(world, namespace, "migration", |objects| set(objects, true));
        let long = lock(world).chance(0.5);
        pause(world, if long { 400..900 } else { 1..40 }).await;
        {
            let mut world = lock(world);
            let (at, shown) = (world.now(), world.shoots[namespace].conditions.get("Paused"));
            let blind = world.stale_until.values().any(|until| *until + Duration::from_secs(300) > at);
            if long
                && world.leads_since.is_some_and(|since| at > since + Duration::from_secs(400))
                && !blind
                && shown != Some(&true)
            {
                world.violate(&format!("{namespace} has been paused for minutes, and its status does not say so"));
            }
        }
        change(world, namespace, "migration", |objects| set(objects, false));
        pause(world, 1..40).await;
    }
}

/// Servers of another landscape lie in the same project: with the class's label, or with the name of a Machine.
async fn foreign(world: &Shared, namespace: &str, number: u32) {
    let id = shoots::server_id(shoots::FOREIGN.start + number, namespace);
    {
        let mut world = lock(world);
        let facts = world.shoots[namespace].facts.clone();
        let twin = world.chance(0.5);
        let in_flight = facts.machines.iter().find(|(_, machine)| machine.is_unsettled()).map(|(name, _)| name.clone());
        let name = in_flight.filter(|_| twin).unwrap_or_else(|| format!("foreign-{namespace}-{number}").into());
        let mut foreign = server(id, &name, ServerStatus::Active);
        if let Some(class) = facts.classes.keys().next().filter(|_| name.starts_with("foreign")) {
            foreign.labels.insert("kubernetes.io/machineclass".into(), class.clone());
        }
        world.servers.insert(id, foreign);
        world.step(Kind::Change, format_args!("server {id} of another landscape, named {name}"));
    }
    pause(world, 1..1800).await;
    let mut world = lock(world);
    // One that had the name of a Machine without a server has become that Machine's.
    let names = |machine: &MachineFacts| machine.provider_id.ends_with(id.as_str());
    let is_taken = world.shoots.values().any(|objects| objects.facts.machines.values().any(names));
    if !is_taken && world.servers.remove(&id).is_some() {
        world.step(Kind::Change, format_args!("server {id} of another landscape goes"));
    }
}

/// Somebody takes labels off.
fn take_labels_off(world: &Shared, namespace: &str) {
    let mut world = lock(world);
    let names: Vec<_> = world.shoots[namespace].facts.machines.keys().cloned().collect();
    for server in world.servers.values_mut().filter(|server| names.contains(&server.name)) {
        server.labels.retain(|key, _| !key.starts_with("kubernetes.io/"));
    }
}

/// Other pods of the machine-controller-manager, one or two of them, or another Lease holder.
fn replace_pods(world: &Shared, namespace: &str, number: u32) {
    let mut world = lock(world);
    let facts = &world.shoots[namespace].facts;
    if facts.mcm_deployment != Some(STACKIT) || facts.mcm_pods.is_empty() || facts.openstack_mcm_pod().is_some() {
        return;
    }
    let (all, standby) = (world.chance(0.5), world.chance(0.5));
    let objects = world.shoots.get_mut(namespace).unwrap();
    let first = objects.facts.mcm_pods.keys().next().cloned().unwrap();
    objects.facts.mcm_pods.remove(&first);
    if all || objects.facts.mcm_pods.is_empty() {
        objects.facts.mcm_pods.clear();
        pod(objects, &format!("mcm-stackit-{number}0"), STACKIT);
    }
    if standby {
        pod(objects, &format!("mcm-stackit-{number}1"), STACKIT);
    }
    world.bump(namespace, "pods");
}

/// A server goes by itself; its Machine is replaced a while later.
async fn lose_a_server(world: &Shared, namespace: &str) {
    let machine = {
        let mut world = lock(world);
        let machines = &world.shoots[namespace].facts.machines;
        let with = machines.iter().find(|(_, machine)| !machine.provider_id.is_empty() && !machine.terminating);
        let Some((name, machine)) = with.map(|(name, machine)| (name.clone(), machine.clone())) else { return };
        let id = machine.provider_id.rsplit('/').next().unwrap().to_owned();
        world.servers.retain(|server, _| server.as_str() != id);
        name
    };
    pause(world, 1..900).await;
    terminate(world, namespace, &machine);
}

fn delete_a_machine(world: &Shared, namespace: &str) {
    let machine = {
        let mut world = lock(world);
        let count = world.shoots[namespace].facts.machines.len();
        if count == 0 {
            return;
        }
        let which = world.rng.random_range(0..count);
        world.shoots[namespace].facts.machines.keys().nth(which).cloned().unwrap()
    };
    terminate(world, namespace, &machine);
}

pub fn terminate(world: &Shared, namespace: &str, machine: &str) {
    if lock(world).shoots[namespace].facts.machines.contains_key(machine) {
        change(world, namespace, &format!("machine/{machine}"), |objects| {
            objects.facts.machines.get_mut(machine).unwrap().terminating = true;
        });
    }
}

/// Somebody turns the guard's label, and turns it back.
async fn guard(world: &Shared, namespace: &str) {
    if lock(world).shoots[namespace].facts.guard() != Some(GuardLabel::Closed) {
        return;
    }
    let label = if lock(world).chance(0.5) { Some(GuardLabel::RollingBack) } else { None };
    change(world, namespace, "namespace", |objects| objects.facts.namespace.as_mut().unwrap().guard = label);
    pause(world, 1..300).await;
    change(world, namespace, "namespace", |objects| {
        objects.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::Closed);
    });
}

/// The shoot is deleted.
async fn delete(world: &Shared, namespace: &str) {
    change(world, namespace, "worker/w", |objects| objects.facts.workers.get_mut("w").unwrap().terminating = true);
    pause(world, 1..60).await;
    let machines: Vec<_> = lock(world).shoots[namespace].facts.machines.keys().cloned().collect();
    for machine in machines {
        terminate(world, namespace, &machine);
    }
}

pub fn is_switched(world: &World, namespace: &str) -> bool {
    let facts = &world.shoots[namespace].facts;
    let settled = facts.machines.values().all(|machine| !machine.is_unsettled());
    facts.mcm_deployment == Some(STACKIT)
        && facts.classes.values().all(|provider| *provider == Provider::Stackit)
        && facts.openstack_mcm_pod().is_none()
        && settled
        && facts.guard() != Some(GuardLabel::RollingBack)
}
