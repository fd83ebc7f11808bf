//! The command is killed at each of its steps, as it begins and when it is done, and at random moments; run again, it goes on where it was.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "the seed is needed to repeat a run")]

use std::time::Duration;

use crate::rollback_support::{Back, MARKER, MIGRATED, OURS, assert_only_ours_came_off};
use crate::side_task_support::LONG;
use futures::StreamExt as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rig::shoot::Shoot;
use serde_json::json;

/// Every step that writes, in the order of the way back.
const STEPS: [&str; 10] =
    ["pause", "guard", "unlabel", "unlabel-part", "write-back", "clean", "unmark", "disarm", "guard-off", "lift-pause"];
/// Kills at random moments besides.
const RANDOM: usize = if cfg!(feature = "long") { 40 } else { 6 };
/// The variable that repeats a run.
const SEED: &str = "MCM_MIGRATION_KILL_SEED";

/// When the command is killed.
#[derive(Debug, Clone, Copy)]
enum Point {
    /// As soon as it says so of a step.
    At(&'static str, &'static str),
    /// So long after its start.
    After(Duration),
}

/// Two rewritten Machines, whose servers have network interfaces and volumes that were made apart, and one that has its old ID and the marker still.
async fn shoot(back: &Back, name: &str) -> Shoot {
    let shoot = back.migrated_as(Shoot::new(name).legacy_machines(1).migrated_machines(2)).await;
    let legacy = shoot.machines().swap_remove(0);
    back.seed.cloud().change_server(&shoot.server_id(&legacy), |server| {
        for key in OURS {
            server.labels.remove(key);
        }
    });
    back.annotate(&shoot.machine(&legacy, ""), &json!({MARKER: "true", MIGRATED: "true"})).await;
    for machine in &shoot.machines()[1..] {
        back.label_parts(&shoot, machine);
    }
    back.switched_back(&shoot).await;
    shoot
}

/// What must hold at any moment: no label on the server of a Machine with an old ID, and the guard as long as an ID is STACKIT's.
async fn assert_safe(back: &Back, shoot: &Shoot, point: Point) {
    let guarded = back.guard(shoot).await.is_some();
    for machine in back.seed.machines(&shoot.namespace()).await {
        let name = machine["metadata"]["name"].as_str().unwrap();
        let id = machine["spec"]["providerID"].as_str().unwrap();
        let server = back.seed.cloud().server(&shoot.server_id(name)).unwrap();
        let labelled = OURS.iter().any(|key| server.labels.text(key).is_some());
        assert!(id.starts_with("stackit://") || !labelled, "{point:?}: {name} has its old ID and labels");
        assert!(id == shoot.legacy_id(name) || id == shoot.stackit_id(name), "{point:?}: {name} has the ID {id}");
        assert!(guarded || id.starts_with("openstack:///"), "{point:?}: {name} has no guard");
    }
}

async fn kill_and_go_on(back: &Back, number: usize, point: Point) {
    let shoot = shoot(back, &format!("k{number}")).await;
    let product = back.rollback(&shoot, &[]);
    match point {
        Point::After(moment) => tokio::time::sleep(moment).await,
        Point::At(event, step) => {
            product.await_log(|line| line["event"] == event && line["step"] == step, LONG).await.unwrap();
        }
    }
    product.kill();
    assert_safe(back, &shoot, point).await;
    let run = back.run(&shoot, &[]).await;
    assert_eq!(run.code, 0, "{point:?}: {run:#?}");
    back.assert_back(&shoot).await;
    assert_eq!(back.foreign_parts(&shoot), 4, "{point:?}: the labels of others stay");
    let migration = back.migration(&shoot).await;
    assert_eq!(migration["spec"]["paused"], false, "{point:?}: {migration}");
    let kept = migration["status"]["rollback"]["steps"].as_array().cloned().unwrap_or_default();
    assert!(kept.len() >= STEPS.len() - 1, "{point:?}: {kept:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_killed_at_any_step_goes_on_where_it_was() {
    let random = std::env::var(SEED).map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    eprintln!("{SEED}={random} repeats the random moments");
    let mut random = StdRng::seed_from_u64(random);
    let mut points: Vec<Point> =
        STEPS.iter().flat_map(|step| ["begun", "done"].map(|event| Point::At(event, step))).collect();
    points.extend((0..RANDOM).map(|_| Point::After(Duration::from_millis(random.random_range(0..5000)))));
    let back = Back::start().await;
    let back = &back;
    let cases = points.into_iter().enumerate().map(|(number, point)| kill_and_go_on(back, number, point));
    futures::stream::iter(cases).buffer_unordered(4).collect::<Vec<()>>().await;
    assert_only_ours_came_off(&back.seed.cloud().journal());
}
