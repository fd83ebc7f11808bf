//! Roll-outs of Machines, and of Gardener itself, in both directions.

use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::domain::ServerStatus;
use rand::RngExt;

use crate::cloud::server;
use crate::fault::Fault;
use crate::gardener::pause;
use crate::journal::Kind;
use crate::mischief::{change, is_switched, terminate};
use crate::shoots::{self, OPENSTACK, STACKIT, openstack_class, pod, stackit_class};
use crate::world::{Shared, lock};

/// The OpenStack provider comes back, makes a server where it still can, and goes.
pub async fn openstack(world: &Shared, namespace: &str, number: u32) {
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
pub async fn turn_back(world: &Shared, namespace: &str, number: u32) {
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
        let guarded = facts.guard().is_some() && world.fault != Some(Fault::Guard);
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
pub async fn roll_out(world: &Shared, namespace: &str, number: u32) {
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

/// The STACKIT provider makes a server: for a while its Machine has no ID.
pub async fn scale_up(world: &Shared, namespace: &str, number: u32) {
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
