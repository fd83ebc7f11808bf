//! Whoever else acts: Gardener, the machine-controller-manager, the cloud itself.

use std::collections::BTreeMap;
use std::time::Duration;

use mcm_migration_core::decide::{NamespaceFacts, open_for_flip};
use mcm_migration_core::domain::{Provider, Server, ServerId, ServerStatus};
use mcm_migration_core::plan::LeaseSighting;
use mcm_migration_webhook::sidetask::Clock as _;
use rand::RngExt;

use super::build::{STACKIT, pod, stackit_class};
use super::{Shared, World, lock};

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

/// One pod of the STACKIT machine-controller-manager.
#[derive(Default)]
struct Mcm {
    /// Its copy of the namespace, which may be old.
    copy: Option<NamespaceFacts>,
    /// The moment that it shows: an informer never goes back.
    shows: Duration,
    /// Whether it reaches the API server, and until when that stays so.
    cut_off: bool,
    until: Duration,
    /// Whether it believes to hold the Lease.
    leads: bool,
}

/// The STACKIT machine-controller-manager: copies of the Machines that may be old, the Lease, the orphan collector, and deletion.
/// `cut_off` is how long one may go on without the API server.
pub async fn mcm(world: Shared, namespace: Box<str>, cut_off: Duration) {
    let mut pods: BTreeMap<Box<str>, Mcm> = BTreeMap::new();
    let mut renewals = 0_u64;
    let mut renewed_at = Duration::ZERO;
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut world = lock(&world);
        let now = world.clock.now();
        let facts = world.shoots[&namespace].facts.clone();
        pods.retain(|name, _| facts.mcm_pods.contains_key(name));
        for (name, _) in facts.mcm_pods.iter().filter(|(_, pod)| pod.containers.stackit) {
            let mcm = pods.entry(name.clone()).or_default();
            if now >= mcm.until {
                // Mostly connected; now and then cut off from the API server and not from the cloud.
                mcm.cut_off = mcm.copy.is_some() && world.chance(0.05);
                let longest = if mcm.cut_off { cut_off.as_secs().max(1) } else { 600 };
                mcm.until = now + Duration::from_secs(world.rng.random_range(1..=longest));
            }
            if mcm.cut_off {
                continue;
            }
            let lease = world.shoots[&namespace].lease.clone();
            let holder = lease.map(|lease| lease.holder).unwrap_or_default();
            mcm.leads = holder == *name || now.saturating_sub(renewed_at) > Duration::from_secs(15);
            if mcm.leads {
                renewals += 1;
                renewed_at = now;
                let sighting = LeaseSighting { holder: name.clone(), renewed: renewals.to_string().into() };
                world.shoots.get_mut(&namespace).unwrap().lease = Some(sighting);
            }
            // It lists when it starts; after that its informer lags by up to a minute.
            if mcm.copy.is_none() {
                (mcm.copy, mcm.shows) = (Some(facts.clone()), now);
            } else if world.chance(0.2) {
                let lag = Duration::from_secs(world.rng.random_range(0..60));
                mcm.shows = mcm.shows.max(now.saturating_sub(lag));
                mcm.copy = Some(world.as_of(&namespace, now.saturating_sub(mcm.shows)));
            }
        }
        let orphans: Vec<ServerId> = pods
            .values()
            .filter(|mcm| mcm.leads)
            .filter_map(|mcm| mcm.copy.as_ref())
            .flat_map(|copy| orphans(&world, copy))
            .collect();
        let runs = world.chance(0.1);
        for server in orphans.into_iter().filter(|_| runs) {
            world.collect(server, "an orphan by the copy of the machine-controller-manager");
        }
        // Deletion, with what is true: its finalizer is taken off only by a write that is let in.
        let connected = pods.values().any(|mcm| mcm.leads && !mcm.cut_off);
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

/// What its orphan collector would delete, by its copy.
fn orphans(world: &World, known: &NamespaceFacts) -> Vec<ServerId> {
    let now = world.clock.now();
    let ours = |class: &str| known.classes.get(class) == Some(&Provider::Stackit);
    let labelled = |server: &&Server| server.labels.get("kubernetes.io/machineclass").is_some_and(|class| ours(class));
    // One that was made a while ago has neither of the phases that keep the collector off, which is the worst case.
    let is_young = |name: &str| world.born.get(name).is_some_and(|born| now < *born + Duration::from_secs(45 * 60));
    let is_orphan = |server: &&Server| match known.machines.get(&server.name) {
        // Who has just made a server knows of its Machine.
        None => !(server.name.contains("-new") && is_young(&server.name)),
        Some(machine) => {
            let named =
                machine.provider_id.ends_with(server.id.as_str()) && machine.provider_id.starts_with("stackit://");
            !named && !is_young(&server.name)
        }
    };
    world.servers.values().filter(labelled).filter(is_orphan).map(|server| server.id).collect()
}
