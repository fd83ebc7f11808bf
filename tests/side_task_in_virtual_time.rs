//! The real side task in a seeded, virtual world: whatever goes wrong, no live Machine loses its server, and every shoot completes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "how much was tried is printed")]

mod virtual_world;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::plan::{NodesRule, Settings};
use mcm_migration_webhook::sidetask::Clock as _;
use mcm_migration_webhook::sidetask::{Config, NoOwnerRecord, SideTask, SideTaskMetrics};
use rand::RngExt;
use virtual_world::cloud::VirtualClouds;
use virtual_world::cluster::VirtualCluster;
use virtual_world::{LATER, Objects, Shared, Term, World, actors, build, lock, mischief};

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
            force_after: None,
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
        if objects.facts.workers.values().all(|worker| worker.terminating) {
            return objects.facts.machines.is_empty();
        }
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
async fn run(seed: u64, start: Start) -> Result<usize, String> {
    let Start { chaos, mischievous, kind_missing } = start;
    let world: Shared =
        Arc::new(Mutex::new(World::new(seed, chaos, Duration::from_secs(if chaos > 0.0 { 20 } else { 1 }))));
    lock(&world).kind_missing.0 = kind_missing;
    let mut tasks = tokio::task::JoinSet::new();
    let namespaces: Vec<_> = (0..3).map(|number| build::shoot(&mut lock(&world), number)).collect();
    for namespace in namespaces {
        tasks.spawn(actors::gardener(world.clone(), namespace.clone()));
        tasks.spawn(actors::mcm(world.clone(), namespace.clone(), QUARANTINE / 2));
        if mischievous {
            tasks.spawn(mischief::shoot(world.clone(), namespace));
        }
    }
    tasks.spawn(actors::cloud(world.clone()));
    if mischievous {
        tasks.spawn(mischief::seed(world.clone()));
    }
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
        if mischievous {
            tokio::time::sleep(mischief::UNTIL + Duration::from_secs(1200)).await;
        }
        while !is_complete(&world) {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    };
    let lead = async {
        loop {
            let term = Term::default();
            let length = {
                let mut world = lock(&world);
                let now = world.clock.now();
                world.leads_since = Some(now);
                let shortest = if chaos > 0.0 { 1800 } else { 100_000 };
                let short = mischievous && now < mischief::UNTIL && world.chance(0.5);
                world.rng.random_range(if short { 10..900 } else { shortest..200_000 })
            };
            {
                let lead = side_task.lead(term.clone());
                tokio::pin!(lead);
                let over = tokio::time::timeout(Duration::from_secs(length), &mut lead).await.is_err();
                lock(&world).leads_since = None;
                term.end();
                // Sometimes its work is cancelled, sometimes it has to find out by itself.
                if over && lock(&world).chance(0.5) {
                    lead.await;
                }
            }
        }
    };
    let ended = tokio::time::timeout(LONGEST, async {
        tokio::select! { () = complete => {}, () = lead => {} }
    })
    .await;
    tasks.shutdown().await;
    let mut violations = std::mem::take(&mut lock(&world).violations);
    violations.append(&mut LATER.take());
    if !violations.is_empty() {
        return Err(format!("seed {seed}: {violations:#?}"));
    }
    if ended.is_err() {
        return Err(format!("seed {seed} did not complete: {}", left(&world)));
    }
    // Three shoots, each with pauses of up to five minutes between two attempts.
    let (world, most) = (lock(&world), 20 + 3 * kind_missing.as_secs() / 100);
    if u64::try_from(world.kind_missing.1).is_ok_and(|attempts| attempts > most) {
        return Err(format!(
            "seed {seed}: {} attempts to make a MachineMigration of an unknown kind",
            world.kind_missing.1
        ));
    }
    let steps = world.steps;
    Ok(steps)
}

/// How a world is begun.
#[derive(Clone, Copy, Default)]
struct Start {
    chaos: f64,
    mischievous: bool,
    /// For how long the API server does not know the kind MachineMigration.
    kind_missing: Duration,
}

fn worlds(seeds: impl Iterator<Item = u64>, start: Start) {
    let (mut steps, mut failed) = (0, Vec::new());
    for seed in seeds {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        match runtime.block_on(run(seed, start)) {
            Ok(more) => steps += more,
            Err(why) => failed.push(why),
        }
    }
    println!("{steps} calls");
    assert!(failed.is_empty(), "{} worlds failed:\n{}", failed.len(), failed.join("\n"));
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
    worlds(seeds(20), Start::default());
}

#[test]
fn no_server_is_lost_and_every_shoot_completes_in_a_wild_one() {
    worlds(seeds(40), Start { chaos: 0.05, ..Start::default() });
}

#[test]
fn nothing_is_written_that_became_wrong_meanwhile() {
    worlds(seeds(25), Start { chaos: 0.05, mischievous: true, ..Start::default() });
}

#[test]
fn a_missing_kind_is_not_asked_for_over_and_over() {
    worlds(seeds(5), Start { kind_missing: Duration::from_secs(2 * 3600), ..Start::default() });
}
