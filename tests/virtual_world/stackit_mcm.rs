//! The STACKIT machine-controller-manager: copies of the Machines that may be old, the Lease, the orphan collector, and deletion.

use std::collections::BTreeMap;
use std::time::Duration;

use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{Provider, Server, ServerId, ServerStatus};
use mcm_migration_core::plan::LeaseSighting;
use rand::RngExt;

use crate::cloud::server;
use crate::journal::Kind;
use crate::shoots;
use crate::world::{Shared, World, lock};

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

/// `cut_off` is how long one may go on without the API server: much longer than its Lease lets it in truth.
pub async fn run(world: Shared, namespace: Box<str>, cut_off: Duration) {
    let mut pods: BTreeMap<Box<str>, Mcm> = BTreeMap::new();
    let (mut renewals, mut made) = (0_u64, 0);
    let mut renewed_at = Duration::ZERO;
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut world = lock(&world);
        let now = world.now();
        let facts = world.shoots[&namespace].facts.clone();
        world.expect_rewrites(&namespace);
        pods.retain(|name, _| facts.mcm_pods.contains_key(name));
        for (name, _) in facts.mcm_pods.iter().filter(|(_, pod)| pod.containers.stackit) {
            let mcm = pods.entry(name.clone()).or_default();
            let lost_lease = world.shoots[&namespace].lease.as_ref().is_some_and(|lease| lease.holder != *name);
            if now >= mcm.until {
                if mcm.cut_off && mcm.leads && lost_lease {
                    // It ends as soon as it learns that its Lease is another's, and is started again.
                    *mcm = Mcm::default();
                    let pods = &mut world.shoots.get_mut(&namespace).unwrap().facts.mcm_pods;
                    pods.get_mut(name).unwrap().restarts += 1;
                    world.bump(&namespace, &format!("pod/{name}"));
                }
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
                world.step(Kind::Change, format_args!("{namespace} Lease of {name} {renewals}"));
            }
            // It lists when it starts; after that its informer lags by up to a minute.
            if mcm.copy.is_none() {
                (mcm.copy, mcm.shows) = (Some(facts.clone()), now);
            } else if world.chance(0.2) {
                let lag = Duration::from_secs(world.rng.random_range(0..60));
                mcm.shows = mcm.shows.max(now.saturating_sub(lag));
                mcm.copy = Some(world.at(&namespace, mcm.shows));
                world.step(Kind::Cache, format_args!("{namespace} {name} shows {:?}", mcm.shows));
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
        if connected && world.chance(0.1) {
            made += 1;
            create(&mut world, &namespace, &facts, made);
        }
        if let Some((name, machine)) = done {
            if let Some(id) = machine.provider_id.rsplit('/').next() {
                world.servers.retain(|server, _| server.as_str() != id);
                world.step(Kind::Change, format_args!("server {id} is deleted with {name}"));
            }
            let name = name.clone();
            world.shoots.get_mut(&namespace).unwrap().facts.machines.remove(&name);
            world.bump(&namespace, "machines");
        }
    }
}

/// Makes the server of a Machine that has none, as far as it knows.
fn create(world: &mut World, namespace: &str, facts: &NamespaceFacts, made: u32) {
    // Those of a roll-out are made where the roll-out is.
    let wanted = facts.machines.iter().find(|(name, machine)| {
        let stackit = facts.classes.get(&machine.class) == Some(&Provider::Stackit);
        stackit && machine.provider_id.is_empty() && !machine.terminating && !name.contains("-new")
    });
    let (Some((name, machine)), Some(project)) = (wanted, facts.project) else { return };
    if let Some(first) = world.servers.values().find(|server| server.name == *name && !shoots::is_foreign(server.id)) {
        let leaked = format!("{name} gets a second server, and {} leaks", first.id);
        world.violate(&leaked);
    }
    let id = shoots::server_id(0x3_0000 + made, namespace);
    let mut server = server(id, name, ServerStatus::Active);
    let labels = [("kubernetes.io/machine", name), ("kubernetes.io/machineclass", &machine.class)];
    server.labels.extend(labels.map(|(key, value)| (key.into(), value.clone())));
    world.servers.insert(id, server);
    let now = world.now();
    world.born.insert(name.clone(), now);
    let machines = &mut world.shoots.get_mut(namespace).unwrap().facts.machines;
    machines.get_mut(name).unwrap().provider_id = format!("stackit://{project}/{id}").into();
    world.bump(namespace, &format!("machine/{name}"));
}

/// What its orphan collector would delete, by its copy.
fn orphans(world: &World, known: &NamespaceFacts) -> Vec<ServerId> {
    let now = world.now();
    let ours = |class: &str| known.classes.get(class) == Some(&Provider::Stackit);
    let labelled = |server: &&Server| server.labels.get("kubernetes.io/machineclass").is_some_and(|class| ours(class));
    // One that was made a while ago has neither of the phases that keep the collector off, which is the worst case.
    let is_young = |name: &str| world.born.get(name).is_some_and(|born| now < *born + Duration::from_secs(45 * 60));
    let is_orphan = |server: &&Server| match known.machines.get(&server.name) {
        // Who has just made a server knows of its Machine.
        None => !is_young(&server.name) && !server.name.starts_with("foreign"),
        Some(machine) => {
            let named =
                machine.provider_id.ends_with(server.id.as_str()) && machine.provider_id.starts_with("stackit://");
            !named && !is_young(&server.name)
        }
    };
    world.servers.values().filter(labelled).filter(is_orphan).map(|server| server.id).collect()
}
