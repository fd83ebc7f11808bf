//! The OpenStack machine-controller-manager: as long as a process of it lives and a class is `OpenStack`, it deletes every server of the shoot
//! whose Machine has another ID in its copy, and makes deletions go through.

use std::collections::BTreeMap;
use std::time::Duration;

use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{Provider, ServerId};
use rand::RngExt;

use crate::journal::Kind;
use crate::world::{Shared, World, lock};

/// One process.
struct Mcm {
    copy: NamespaceFacts,
    /// Since when its pod is gone from the API. It goes on for some seconds.
    gone: Option<Duration>,
}

pub async fn run(world: Shared, namespace: Box<str>) {
    let mut processes: BTreeMap<Box<str>, Mcm> = BTreeMap::new();
    loop {
        tokio::time::sleep(Duration::from_secs(3)).await;
        let mut world = lock(&world);
        let now = world.now();
        let facts = world.shoots[&namespace].facts.clone();
        for (name, _) in facts.mcm_pods.iter().filter(|(_, pod)| pod.containers.openstack && !pod.ended) {
            let process = processes.entry(name.clone()).or_insert_with(|| Mcm { copy: facts.clone(), gone: None });
            if world.chance(0.3) {
                let lag = Duration::from_secs(world.rng.random_range(0..60));
                process.copy = world.as_of(&namespace, lag);
                world.step(Kind::Cache, format_args!("{namespace} {name} shows what was {lag:?} ago"));
            }
        }
        // A pod that is gone is not a process that is dead: while a Node hangs, what ran there comes back and goes on for a while.
        let nodes_ready = world.nodes_ready;
        for (_, process) in processes.iter_mut().filter(|(name, _)| !facts.mcm_pods.contains_key(*name)) {
            let since = process.gone.get_or_insert(now);
            if !nodes_ready {
                *since = now;
            }
        }
        processes
            .retain(|_, process| process.gone.is_none_or(|gone| now.saturating_sub(gone) < Duration::from_secs(10)));
        let orphans: Vec<ServerId> =
            processes.values().flat_map(|process| orphans(&world, &namespace, &process.copy)).collect();
        let runs = nodes_ready && world.chance(0.2);
        for server in orphans.into_iter().filter(|_| runs) {
            world.collect(server, "an orphan by the copy of the OpenStack machine-controller-manager");
        }
        let done = facts.machines.iter().find(|(_, machine)| {
            machine.terminating
                && machine.is_legacy()
                && facts.classes.get(&machine.class) == Some(&Provider::OpenStack)
                && processes.values().any(|process| process.gone.is_none())
        });
        if let Some((name, machine)) = done {
            let id = machine.provider_id.rsplit('/').next().unwrap_or_default();
            world.servers.retain(|server, _| server.as_str() != id);
            world.shoots.get_mut(&namespace).unwrap().facts.machines.remove(name);
            world.bump(&namespace, &format!("machine/{name}"));
        }
    }
}

/// What its orphan collector would delete, by its copy.
fn orphans(world: &World, namespace: &str, known: &NamespaceFacts) -> Vec<ServerId> {
    if !known.classes.values().any(|provider| *provider == Provider::OpenStack) {
        return Vec::new();
    }
    let of_the_shoot = world.servers.values().filter(|server| server.name.starts_with(namespace));
    let is_orphan = |id: ServerId, name: &str| match known.machines.get(name) {
        // It made the server itself, and waits for its Machine to show.
        None => false,
        Some(machine) => {
            let named = machine.provider_id.starts_with("openstack:") && machine.provider_id.ends_with(id.as_str());
            !named && !machine.provider_id.is_empty()
        }
    };
    of_the_shoot.filter(|server| is_orphan(server.id, &server.name)).map(|server| server.id).collect()
}
