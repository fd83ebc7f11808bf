//! Everything that may change while the side task is at work, one thing after the other for each shoot, until the world is left in peace.

use std::time::Duration;

use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::domain::{GuardLabel, Provider, ServerStatus};
use rand::RngExt;

use crate::cloud::server;
use crate::gardener::pause;
use crate::journal::Kind;
use crate::shoots::{self, OPENSTACK, STACKIT, openstack_class, pod, stackit_class};
use crate::world::{Objects, Shared, World, lock};

/// For how long the world is not left in peace.
pub const UNTIL: Duration = Duration::from_secs(4 * 3600);

/// Changes the shoot, and says that `object` is another now.
fn change(world: &Shared, namespace: &str, object: &str, change: impl FnOnce(&mut Objects)) {
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
                world.violate(format!("{namespace} has been paused for minutes, and its status does not say so"));
            }
        }
        change(world, namespace, "migration", |objects| set(objects, false));
        pause(world, 1..40).await;
    }
}

/// A control plane migration that goes away and comes back: Machines are made again with the IDs of a dump that may be old, without status.
async fn leave(world: &Shared, namespace: &str, old: bool) {
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
async fn other_seed(world: &Shared, namespace: &str) {
    let set = |objects: &mut Objects, seed: &str| objects.facts.cluster.as_mut().unwrap().shoot_spec_seed = seed.into();
    change(world, namespace, "cluster", |objects| set(objects, "another"));
    pause(world, 1..300).await;
    change(world, namespace, "cluster", |objects| set(objects, "seed"));
}

/// The OpenStack provider comes back, makes a server where it still can, and goes.
async fn openstack(world: &Shared, namespace: &str, number: u32) {
    let facts = lock(world).shoots[namespace].facts.clone();
    if facts.mcm_deployment != Some(STACKIT) || facts.mcm_pods.is_empty() {
        return;
    }
    change(world, namespace, "deployment", |objects| objects.facts.mcm_deployment = Some(OPENSTACK));
    pause(world, 1..20).await;
    let name = format!("mcm-openstack-{number}");
    change(world, namespace, "pods", |objects| pod(objects, &name, OPENSTACK));
    pause(world, 1..60).await;
    let class = lock(world).shoots[namespace].facts.openstack_class().map(Box::from);
    if let Some(class) = class {
        let machine: Box<str> = format!("{namespace}-m9{number}").into();
        {
            let mut world = lock(world);
            let id = shoots::server_id(0x900 + number, namespace);
            world.servers.insert(id, server(id, &machine, ServerStatus::Creating));
            let facts = MachineFacts { class, ..MachineFacts::default() };
            world.shoots.get_mut(namespace).unwrap().facts.machines.insert(machine.clone(), facts);
            world.bump(namespace, &format!("machine/{machine}"));
        }
        pause(world, 0..2).await;
    }
    change(world, namespace, "pods", |objects| drop(objects.facts.mcm_pods.remove(&*name)));
    change(world, namespace, "deployment", |objects| objects.facts.mcm_deployment = Some(STACKIT));
}

/// Gardener's own change is rolled back: the Deployment, then the classes, which the guard refuses. Then it goes forward again.
async fn turn_back(world: &Shared, namespace: &str, number: u32) {
    let facts = lock(world).shoots[namespace].facts.clone();
    if facts.mcm_deployment != Some(STACKIT) || facts.mcm_pods.is_empty() {
        return;
    }
    change(world, namespace, "deployment", |objects| objects.facts.mcm_deployment = Some(OPENSTACK));
    pause(world, 1..20).await;
    let name = format!("mcm-openstack-back-{number}");
    change(world, namespace, "pods", |objects| {
        objects.facts.mcm_pods.clear();
        pod(objects, &name, OPENSTACK);
    });
    let times = lock(world).rng.random_range(1..5);
    for _ in 0..times {
        pause(world, 1..60).await;
        let mut world = lock(world);
        let facts = world.shoots[namespace].facts.clone();
        let Some(class) = facts.machine_deployments.values().next().cloned() else { continue };
        // Without the guard nothing holds it up; what was rewritten elsewhere and restored here a moment ago is then beyond help.
        let rewritten = facts.machines.values().any(|machine| machine.provider_id.starts_with("stackit:"));
        let guarded = facts.guard().is_some() && world.fault != Some(crate::fault::Fault::NoGuard);
        if guarded || (facts.guard().is_none() && rewritten) {
            world.step(Kind::Change, format_args!("{namespace} {class} is not turned back"));
        } else {
            world.shoots.get_mut(namespace).unwrap().classes.insert(class.clone(), openstack_class());
            world.bump(namespace, &format!("class/{class}"));
        }
    }
    change(world, namespace, "deployment", |objects| objects.facts.mcm_deployment = Some(STACKIT));
    pause(world, 1..60).await;
    change(world, namespace, "pods", |objects| {
        objects.facts.mcm_pods.clear();
        pod(objects, &format!("mcm-stackit-back-{number}"), STACKIT);
    });
}

/// A new class, and the Machines of the old ones go one after the other.
async fn roll_out(world: &Shared, namespace: &str, number: u32) {
    let (class, machines) = {
        let mut world = lock(world);
        let facts = world.shoots[namespace].facts.clone();
        let Some((deployment, wanted)) = facts.machine_deployments.iter().next() else { return };
        let Some(details) = world.shoots[namespace].classes.get(wanted).cloned() else { return };
        // Gardener makes it for the provider that it has now.
        let details = if facts.mcm_deployment == Some(STACKIT) { stackit_class() } else { details };
        let class: Box<str> = format!("{deployment}-r{number}").into();
        let objects = world.shoots.get_mut(namespace).unwrap();
        objects.classes.insert(class.clone(), details);
        objects.facts.machine_deployments.insert(deployment.clone(), class.clone());
        world.bump(namespace, &format!("class/{class}"));
        (class, facts.machines.into_keys().collect::<Vec<_>>())
    };
    for machine in machines {
        pause(world, 1..120).await;
        let old = lock(world).shoots[namespace].facts.machines.get(&machine).is_some_and(|it| it.class != class);
        if old {
            terminate(world, namespace, &machine);
        }
    }
    scale_up(world, namespace, number).await;
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

fn terminate(world: &Shared, namespace: &str, machine: &str) {
    if lock(world).shoots[namespace].facts.machines.contains_key(machine) {
        change(world, namespace, &format!("machine/{machine}"), |objects| {
            objects.facts.machines.get_mut(machine).unwrap().terminating = true;
        });
    }
}

/// The STACKIT provider makes a server: for a while its Machine has no ID.
async fn scale_up(world: &Shared, namespace: &str, number: u32) {
    for more in 0..5 {
        if !is_switched(&lock(world), namespace) {
            return;
        }
        let name: Box<str> = format!("{namespace}-new{number}x{more}").into();
        let id = shoots::server_id(0x1_0000 + number * 16 + more, namespace);
        let class = lock(world).shoots[namespace].facts.classes.keys().next().cloned().unwrap();
        change(world, namespace, &format!("machine/{name}"), |objects| {
            objects
                .facts
                .machines
                .insert(name.clone(), MachineFacts { class: class.clone(), ..MachineFacts::default() });
        });
        pause(world, 5..60).await;
        let mut world = lock(world);
        let Some(project) = world.shoots[namespace].facts.project else { return };
        if !world.shoots[namespace].facts.machines.contains_key(&name) {
            return;
        }
        let mut server = server(id, &name, ServerStatus::Active);
        let labels = [("kubernetes.io/machine", &name), ("kubernetes.io/machineclass", &class)];
        server.labels.extend(labels.map(|(key, value)| (key.into(), value.clone())));
        world.servers.insert(id, server);
        // Who made it knows of it.
        let now = world.now();
        world.born.insert(name.clone(), now);
        let objects = world.shoots.get_mut(namespace).unwrap();
        objects.facts.machines.get_mut(&name).unwrap().provider_id = format!("stackit://{project}/{id}").into();
        world.bump(namespace, &format!("machine/{name}"));
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

fn is_switched(world: &World, namespace: &str) -> bool {
    let facts = &world.shoots[namespace].facts;
    let settled = facts.machines.values().all(|machine| !machine.is_unsettled());
    facts.mcm_deployment == Some(STACKIT)
        && facts.classes.values().all(|provider| *provider == Provider::Stackit)
        && facts.openstack_mcm_pod().is_none()
        && settled
        && facts.guard() != Some(GuardLabel::RollingBack)
}
