//! Whoever else acts: Gardener, the machine-controller-manager, the cloud itself.

use std::time::Duration;

use mcm_migration_core::decide::{NamespaceFacts, open_for_flip};
use mcm_migration_core::domain::{Provider, ServerStatus};
use mcm_migration_core::plan::LeaseSighting;
use mcm_migration_webhook::sidetask::Clock as _;
use rand::RngExt;

use super::build::{STACKIT, pod, stackit_class};
use super::{Shared, lock};

async fn pause(world: &Shared, seconds: std::ops::Range<u64>) {
    let seconds = lock(world).rng.random_range(seconds);
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Switches a shoot: the Deployment, then the classes that it still wants, as often as the gate forward refuses.
pub async fn gardener(world: Shared, namespace: Box<str>) {
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
        let facts = world.shoots[&namespace].facts.clone();
        let wanted: Vec<Box<str>> = facts.machine_deployments.values().cloned().collect();
        let left = wanted.iter().find(|class| facts.classes[*class] == Provider::OpenStack);
        let Some(class) = left else { return };
        if open_for_flip(class, &facts).is_ok() {
            world.shoots.get_mut(&namespace).unwrap().classes.insert(class.clone(), stackit_class());
            world.bump(&namespace, &format!("class/{class}"));
        }
    }
}

/// Servers in creation become what they become.
pub async fn cloud(world: Shared) {
    loop {
        pause(&world, 5..60).await;
        let mut world = lock(&world);
        let error = world.chance(0.2);
        let next = world.servers.values_mut().find(|server| server.status == ServerStatus::Creating);
        if let Some(server) = next {
            server.status = if error { ServerStatus::Error } else { ServerStatus::Active };
        }
    }
}

/// The STACKIT machine-controller-manager: a copy of the Machines that may be old, the Lease, the orphan collector, and deletion.
/// `cut_off` is how long it may go on without the API server.
pub async fn mcm(world: Shared, namespace: Box<str>, cut_off: Duration) {
    let mut copy: Option<NamespaceFacts> = None;
    let mut connected = true;
    let mut renewals = 0_u64;
    let mut until = Duration::ZERO;
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut world = lock(&world);
        let now = world.clock.now();
        let facts = world.shoots[&namespace].facts.clone();
        let Some((name, _)) = facts.mcm_pods.iter().find(|(_, pod)| pod.containers.stackit) else {
            copy = None;
            continue;
        };
        if now >= until {
            // Mostly connected; now and then cut off from the API server and not from the cloud.
            connected = !world.chance(0.05);
            let longest = if connected { 600 } else { cut_off.as_secs().max(1) };
            until = now + Duration::from_secs(world.rng.random_range(1..=longest));
        }
        if connected {
            renewals += 1;
            let renewed = renewals.to_string().into();
            world.shoots.get_mut(&namespace).unwrap().lease = Some(LeaseSighting { holder: name.clone(), renewed });
            // An informer that lags by up to a minute, and never goes back.
            if world.chance(0.2) || copy.is_none() {
                let lag = Duration::from_secs(world.rng.random_range(0..60));
                copy = Some(world.as_of(&namespace, lag));
            }
        }
        let Some(known) = &copy else { continue };
        if world.chance(0.1) {
            let classes: Vec<Box<str>> = known
                .classes
                .iter()
                .filter(|(_, provider)| **provider == Provider::Stackit)
                .map(|(name, _)| name.clone())
                .collect();
            let orphans: Vec<_> = world
                .servers
                .values()
                .filter(|server| {
                    let class = server.labels.get("kubernetes.io/machineclass");
                    class.is_some_and(|class| classes.contains(class))
                })
                .filter(|server| match known.machines.get(&server.name) {
                    None => true,
                    // Its phase is neither empty nor CrashLoopBackOff, which is the worst case.
                    Some(machine) => {
                        !machine.provider_id.ends_with(server.id.as_str())
                            || !machine.provider_id.starts_with("stackit://")
                    }
                })
                .map(|server| server.id)
                .collect();
            for server in orphans {
                world.collect(server, "an orphan by the copy of the machine-controller-manager");
            }
        }
        // Deletion, with what is true: its finalizer is taken off only by a write that is let in.
        let done = facts.machines.iter().find(|(_, machine)| {
            let gone =
                machine.provider_id.starts_with("stackit://") || (machine.provider_id.is_empty() && machine.settled);
            machine.terminating && gone && connected
        });
        if let Some((name, machine)) = done {
            if let Some(id) = machine.provider_id.rsplit('/').next() {
                world.servers.retain(|server, _| server.as_str() != id);
            }
            let name = name.clone();
            world.shoots.get_mut(&namespace).unwrap().facts.machines.remove(&name);
            world.bump(&namespace, "machines");
        }
    }
}
