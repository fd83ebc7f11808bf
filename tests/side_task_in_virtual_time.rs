//! The real side task in a seeded, virtual world: whatever goes wrong, no live Machine loses its server, and every shoot completes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "how much was tried is printed")]

mod virtual_world;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::plan::{NodesRule, Settings};
use mcm_migration_webhook::sidetask::{Config, NoOwnerRecord, SideTask, SideTaskMetrics};
use rand::RngExt;
use virtual_world::cloud::VirtualClouds;
use virtual_world::cluster::VirtualCluster;
use virtual_world::{Objects, Shared, Term, World, actors, build, lock};

const QUARANTINE: Duration = Duration::from_secs(15 * 60);

/// How long a world may take: the switch, the time-outs and the quarantine are about an hour.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

fn config() -> Config {
    Config {
        settings: Settings {
            quarantine: QUARANTINE,
            evidence_after: Settings::EVIDENCE_AFTER,
            inflight_timeout: Duration::from_secs(600),
            nodes: NodesRule { ready_for: Duration::from_secs(120), except: Vec::new() },
            label_domain: "kubernetes.io".to_owned(),
            regions: [("RegionOne".to_owned(), mcm_migration_core::domain::Region::parse("eu01").unwrap())].into(),
            touch: true,
            boot_volume_care: false,
            drift_every: Duration::from_secs(600),
        },
        pass_every: Duration::from_secs(30),
        labelling_at_once: 2,
        dry_run: false,
    }
}

fn is_complete(world: &Shared) -> bool {
    lock(world).shoots.values().all(|objects| {
        let migrates = |machine: &MachineFacts| machine.is_legacy() || machine.marked || machine.migrated;
        let untouched = !objects.facts.machines.values().any(migrates) && objects.facts.migration.is_none();
        let switched = objects.facts.openstack_remains().next().is_none();
        switched && (untouched || objects.conditions.get("Complete") == Some(&true))
    })
}

/// What is left, for the message of a failure.
fn left(world: &Shared) -> String {
    let world = lock(world);
    let of = |name: &str, objects: &Objects| format!("{name}: {:?}\n{:#?}", objects.conditions, objects.facts);
    world.shoots.iter().map(|(name, objects)| of(name, objects)).collect::<Vec<_>>().join("\n")
}

/// Runs one world to its end. Leaders come and go.
async fn run(seed: u64, chaos: f64) -> (usize, usize, usize) {
    let world: Shared =
        Arc::new(Mutex::new(World::new(seed, chaos, Duration::from_secs(if chaos > 0.0 { 20 } else { 1 }))));
    let mut tasks = tokio::task::JoinSet::new();
    let namespaces: Vec<_> = (0..3).map(|number| build::shoot(&mut lock(&world), number)).collect();
    for namespace in namespaces {
        tasks.spawn(actors::gardener(world.clone(), namespace.clone()));
        tasks.spawn(actors::mcm(world.clone(), namespace, QUARANTINE / 2));
    }
    tasks.spawn(actors::cloud(world.clone()));
    let clock = lock(&world).clock.clone();
    let side_task = SideTask {
        cluster: Arc::new(VirtualCluster(world.clone())),
        clouds: Arc::new(VirtualClouds(world.clone())),
        clock,
        owners: NoOwnerRecord,
        config: config(),
        metrics: SideTaskMetrics::default(),
    };
    let complete = async {
        while !is_complete(&world) {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    };
    let lead = async {
        loop {
            let term = Term::default();
            let shortest = if chaos > 0.0 { 1800 } else { 100_000 };
            let length = Duration::from_secs(lock(&world).rng.random_range(shortest..200_000));
            drop(tokio::time::timeout(length, side_task.lead(term.clone())).await);
            term.end();
        }
    };
    let ended = tokio::time::timeout(LONGEST, async {
        tokio::select! { () = complete => {}, () = lead => {} }
    })
    .await;
    tasks.shutdown().await;
    let violations = std::mem::take(&mut lock(&world).violations);
    assert!(violations.is_empty(), "seed {seed}: {violations:#?}");
    assert!(ended.is_ok(), "seed {seed} did not complete: {}", left(&world));
    let world = lock(&world);
    (world.steps, world.label_calls, world.lists)
}

fn worlds(seeds: impl Iterator<Item = u64>, chaos: f64) {
    let mut steps = 0;
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let (more, ..) = runtime.block_on(run(seed, chaos));
        steps += more;
    }
    println!("{steps} calls");
}

/// `MCM_WORLD_SEED=7 cargo test --test side_task_in_virtual_time` runs one world again.
fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("MCM_WORLD_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..count,
    }
}

#[test]
fn every_shoot_completes_in_a_quiet_world() {
    worlds(seeds(20), 0.0);
}

#[test]
fn no_server_is_lost_and_every_shoot_completes_in_a_wild_one() {
    worlds(seeds(40), 0.05);
}
