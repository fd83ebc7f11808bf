//! One world, from its beginning to its end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::domain::Region;
use mcm_migration_core::plan::{NodesRule, Settings};
use mcm_migration_webhook::sidetask::{Config, NoOwnerRecord, SideTask, SideTaskMetrics};
use prometheus_client::registry::Registry;

use crate::cloud::VirtualClouds;
use crate::cluster::VirtualCluster;
use crate::fault::Fault;
use crate::journal::Sum;
use crate::time::ProcessClock;
use crate::world::{Objects, Shared, Weather, World, lock};
use crate::{gardener, hung_node, mischief, openstack_mcm, replica, shoots, stackit_mcm, travels};

const QUARANTINE: Duration = Duration::from_secs(15 * 60);

/// How long a world may take: the switch, the time-outs and the quarantine are about an hour.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// How a world is begun.
#[derive(Clone, Copy, Default, Debug)]
pub struct Start {
    pub weather: Weather,
    /// Whether everything changes under the side task for some hours.
    pub mischievous: bool,
    /// For how long the API server does not know the kind MachineMigration.
    pub kind_missing: Duration,
    pub fault: Option<Fault>,
    /// Whether each shoot goes away and comes back with old IDs, and whether leaders are restless then.
    pub comes_back: Option<bool>,
    /// Whether the Nodes hang while the shoots are switched, and what runs there asks for servers when it wakes up.
    pub hung_node: bool,
}

impl Start {
    /// Bad weather.
    pub fn wild() -> Self {
        Self { weather: Weather { lost: 0.05, late: 0.02, twice: 0.03, old_lists: 0.1 }, ..Self::default() }
    }

    /// The same, and everything else that may happen.
    pub fn mischievous() -> Self {
        Self { mischievous: true, ..Self::wild() }
    }
}

fn config(fault: Option<Fault>) -> Config {
    let without = |of: Fault, duration: Duration| if fault == Some(of) { Duration::ZERO } else { duration };
    Config {
        settings: Settings {
            quarantine: without(Fault::Quarantine, QUARANTINE),
            evidence_after: without(Fault::Quarantine, Settings::EVIDENCE_AFTER),
            inflight_timeout: without(Fault::InflightTimeout, Duration::from_secs(600)),
            nodes: NodesRule { ready_for: Duration::from_secs(120), except: Vec::new() },
            label_domain: "kubernetes.io".to_owned(),
            regions: [("RegionOne".to_owned(), Region::parse("eu01").unwrap())].into(),
            touch: true,
            boot_volume_care: false,
            force_after: None,
            drift_every: Duration::from_secs(600),
        },
        pass_every: Duration::from_secs(30),
        labelling_at_once: 2,
        dry_run: false,
    }
}

pub fn side_task(
    world: &Shared,
    replica: usize,
    start: Start,
) -> SideTask<VirtualCluster, VirtualClouds, ProcessClock, NoOwnerRecord> {
    SideTask {
        cluster: Arc::new(VirtualCluster { world: world.clone(), replica }),
        clouds: Arc::new(VirtualClouds { world: world.clone(), replica }),
        clock: ProcessClock::new(world, replica),
        owners: NoOwnerRecord,
        config: config(start.fault),
        metrics: lock(world).metrics.clone(),
    }
}

/// Whether every shoot is through, by what is true and not only by what is said.
fn is_complete(world: &Shared) -> bool {
    lock(world).shoots.values().all(|objects| {
        let migrates = |machine: &MachineFacts| machine.is_legacy() || machine.marked || machine.migrated;
        let untouched = !objects.facts.machines.values().any(migrates) && objects.facts.migration.is_none();
        if objects.facts.workers.values().all(|worker| worker.terminating) {
            return objects.facts.machines.is_empty();
        }
        let switched = objects.facts.openstack_remains().next().is_none();
        let legacy = objects.facts.machines.values().any(|machine| machine.is_legacy() || machine.marked);
        switched && (untouched || (objects.conditions.get("Complete") == Some(&true) && !legacy))
    })
}

/// What is left, for the message of a failure.
fn left(world: &Shared) -> String {
    let world = lock(world);
    let of = |name: &str, objects: &Objects| format!("{name}: {:?}\n{:#?}", objects.conditions, objects.facts);
    let shoots: Vec<_> = world.shoots.iter().map(|(name, objects)| of(name, objects)).collect();
    format!("{}\n{:?}\n{}", shoots.join("\n"), world.servers, world.journal.tail())
}

/// What the metrics say of reads that fail: in the middle of an hour in which the Nodes cannot be listed, and after it.
pub fn said_of_unread_nodes(seed: u64) -> [bool; 2] {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world: Shared = Arc::new(Mutex::new(World::new(seed, Weather::default(), Duration::from_secs(1))));
        let mut registry = Registry::default();
        lock(&world).metrics = SideTaskMetrics::register(&mut registry);
        lock(&world).nodes_unread = Duration::from_secs(1200)..Duration::from_secs(4800);
        let namespaces: Vec<_> = (0..3).map(|number| shoots::shoot(&mut lock(&world), number)).collect();
        for namespace in namespaces {
            tokio::spawn(gardener::run(world.clone(), namespace.clone()));
            tokio::spawn(stackit_mcm::run(world.clone(), namespace, Duration::from_secs(1)));
        }
        tokio::spawn(gardener::cloud(world.clone()));
        tokio::spawn(replica::run(world.clone(), 0, Start::default()));
        let mut said = [false; 2];
        for said in &mut said {
            tokio::time::sleep(Duration::from_secs(3000)).await;
            let mut text = String::new();
            prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
            let line = text.lines().find(|line| line.starts_with("sidetask_waiting{reason=\"read-failed\"}"));
            *said = line.is_some_and(|line| !line.ends_with(" 0"));
        }
        said
    })
}

/// Runs one world to its end.
///
/// # Errors
/// What went wrong in it, and what came before.
pub fn world(seed: u64, start: Start) -> (Sum, Result<(), String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(begin(seed, start))
}

async fn begin(seed: u64, start: Start) -> (Sum, Result<(), String>) {
    let lag = Duration::from_secs(if start.weather.lost > 0.0 { 20 } else { 1 });
    let world: Shared = Arc::new(Mutex::new(World::new(seed, start.weather, lag)));
    lock(&world).kind_missing.0 = start.kind_missing;
    lock(&world).fault = start.fault;
    let mut tasks = tokio::task::JoinSet::new();
    let namespaces: Vec<_> = (0..3).map(|number| shoots::shoot(&mut lock(&world), number)).collect();
    for namespace in namespaces {
        tasks.spawn(gardener::run(world.clone(), namespace.clone()));
        tasks.spawn(stackit_mcm::run(world.clone(), namespace.clone(), QUARANTINE / 2));
        tasks.spawn(openstack_mcm::run(world.clone(), namespace.clone()));
        if start.mischievous {
            tasks.spawn(mischief::shoot(world.clone(), namespace.clone()));
        } else if let Some(restless) = start.comes_back {
            tasks.spawn(travels::come_back(world.clone(), namespace, restless));
        } else if start.hung_node {
            tasks.spawn(hung_node::run(world.clone(), namespace));
        }
    }
    tasks.spawn(gardener::cloud(world.clone()));
    if start.mischievous {
        tasks.spawn(mischief::seed(world.clone()));
    }
    for number in 0..2 {
        tasks.spawn(replica::run(world.clone(), number, start));
    }
    let complete = async {
        let disturbed = start.mischievous || start.comes_back.is_some();
        let peace = if disturbed { mischief::UNTIL + Duration::from_secs(1200) } else { Duration::ZERO };
        loop {
            let (violated, now) = {
                let world = lock(&world);
                (!world.violations.is_empty(), world.now())
            };
            if violated || (now >= peace && is_complete(&world)) {
                break;
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    };
    let ended = tokio::time::timeout(LONGEST, complete).await;
    tasks.abort_all();
    let sum = {
        let world = lock(&world);
        Sum { slowest_restore: world.slowest_restore, ..world.journal.sum() }
    };
    let violations = std::mem::take(&mut lock(&world).violations);
    if !violations.is_empty() {
        return (sum, Err(violations.join("\n")));
    }
    if ended.is_err() {
        return (sum, Err(format!("it did not complete: {}", left(&world))));
    }
    // Three shoots, each with pauses of up to five minutes between two attempts.
    let (attempts, most) = (lock(&world).kind_missing.1, 20 + 3 * start.kind_missing.as_secs() / 100);
    if u64::try_from(attempts).is_ok_and(|attempts| attempts > most) {
        return (sum, Err(format!("{attempts} attempts to make a MachineMigration of an unknown kind")));
    }
    (sum, Ok(()))
}
