//! Gardener, and the cloud by itself.

use std::time::Duration;

use mcm_migration_core::decide::open_for_flip;
use mcm_migration_core::domain::{Provider, ServerStatus};
use mcm_migration_core::plan::{Ownership, ownership};
use rand::RngExt;

use crate::fault::Fault;
use crate::journal::Kind;
use crate::shoots::{STACKIT, pod, stackit_class};
use crate::world::{Shared, World, lock};

pub async fn pause(world: &Shared, seconds: std::ops::Range<u64>) {
    let seconds = lock(world).rng.random_range(seconds);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Switches a shoot: the Deployment, then the classes that it still wants, as often as the gate forward refuses. After that it reconciles
/// now and then.
pub async fn run(world: Shared, namespace: Box<str>) {
    pause(&world, 1..120).await;
    {
        let mut world = lock(&world);
        world.shoots.get_mut(&namespace).unwrap().facts.mcm_deployment = Some(STACKIT);
        world.bump(&namespace, "deployment");
    }
    pause(&world, 1..120).await;
    {
        let mut world = lock(&world);
        let objects = world.shoots.get_mut(&namespace).unwrap();
        objects.facts.mcm_pods.clear();
        pod(objects, "mcm-stackit-0", STACKIT);
        if world.chance(0.3) {
            pod(world.shoots.get_mut(&namespace).unwrap(), "mcm-stackit-1", STACKIT);
        }
        world.bump(&namespace, "pods");
    }
    loop {
        pause(&world, 1..60).await;
        let mut world = lock(&world);
        // While the seed rolls Gardener's own change back, it does not go forward.
        if world.shoots[&namespace].facts.mcm_deployment == Some(STACKIT) {
            switch_one(&mut world, &namespace);
            clean_up(&mut world, &namespace);
        }
    }
}

fn switch_one(world: &mut World, namespace: &str) {
    let facts = world.shoots[namespace].facts.clone();
    let wanted: Vec<Box<str>> = facts.machine_deployments.values().cloned().collect();
    let left = wanted.iter().find(|class| facts.classes.get(*class) == Some(&Provider::OpenStack));
    let Some(class) = left else { return };
    match open_for_flip(class, &facts) {
        Err(why) if world.fault != Some(Fault::GateForward) => {
            world.step(Kind::Change, format_args!("{namespace} {class} is not switched: {why}"));
        }
        _ => {
            world.shoots.get_mut(namespace).unwrap().classes.insert(class.clone(), stackit_class());
            world.bump(namespace, &format!("class/{class}"));
        }
    }
}

/// Takes away a class that nothing refers to any more.
fn clean_up(world: &mut World, namespace: &str) {
    let facts = &world.shoots[namespace].facts;
    if ownership(facts) != Ok(Ownership::Ours) {
        // While a shoot goes and comes back, its Machines are away and their classes are not.
        return;
    }
    let is_used = |class: &str| {
        facts.machine_deployments.values().any(|wanted| &**wanted == class)
            || facts.machines.values().any(|machine| &*machine.class == class)
    };
    // An OpenStack class of a roll-out stays until its Machines are gone, and those only go once it is retired.
    let unused = facts.classes.iter().find(|(class, provider)| **provider == Provider::Stackit && !is_used(class));
    if let Some(class) = unused.map(|(class, _)| class.clone()) {
        world.shoots.get_mut(namespace).unwrap().classes.remove(&class);
        world.bump(namespace, &format!("class/{class}"));
    }
}

/// Servers in creation become what they become; a LIST that is old shows what was there before.
pub async fn cloud(world: Shared) {
    loop {
        pause(&world, 5..60).await;
        let mut world = lock(&world);
        world.old_servers = world.servers.clone();
        let error = world.chance(0.2);
        let next = world.servers.values_mut().find(|server| server.status == ServerStatus::Creating);
        if let Some(server) = next {
            server.status = if error { ServerStatus::Error } else { ServerStatus::Active };
            let id = server.id;
            world.step(Kind::Change, format_args!("server {id} is made, in error: {error}"));
        }
    }
}
