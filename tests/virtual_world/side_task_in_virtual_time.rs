//! The real side task in a seeded, virtual world: whatever goes wrong, no live Machine loses its server, and every shoot completes.
//!
//! `MCM_WORLD_SEED=7 cargo test --test side_task_in_virtual_time` runs the worlds of one seed again, step by step the same;
//! with `MCM_WORLD_JOURNAL=1` and `-- --nocapture` each step is printed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "how much was tried is printed")]
#![allow(unreachable_pub, reason = "every module of this crate is of this one test")]

mod cloud;
mod cluster;
mod fault;
mod gardener;
mod journal;
mod mischief;
mod network;
mod openstack_mcm;
mod replica;
mod run;
mod shoots;
mod stackit_mcm;
mod time;
mod truth;
mod world;

use std::time::Duration;

use journal::Sum;
use run::Start;

fn worlds(test: &str, seeds: std::ops::Range<u64>, start: Start) {
    let (mut whole, mut failed) = (Sum::default(), Vec::new());
    for seed in seeds.clone() {
        let (sum, came) = run::world(seed, start);
        (whole.requests, whole.steps) = (whole.requests + sum.requests, whole.steps + sum.steps);
        if let Err(why) = came {
            failed.push(format!(
                "seed {seed}: {why}\nagain: MCM_WORLD_SEED={seed} cargo test --test side_task_in_virtual_time {test}"
            ));
        }
    }
    println!("{test}: seeds {seeds:?}, {} steps, of which {} requests", whole.steps, whole.requests);
    assert!(failed.is_empty(), "{} worlds failed:\n{}", failed.len(), failed.join("\n"));
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    let given = |name| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    match (given("MCM_WORLD_SEED"), given("MCM_WORLD_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(count)) => 0..count,
        (None, None) => 0..count,
    }
}

#[test]
fn every_shoot_completes_in_a_quiet_world() {
    worlds("every_shoot_completes_in_a_quiet_world", seeds(20), Start::default());
}

#[test]
fn no_server_is_lost_and_every_shoot_completes_in_a_wild_one() {
    worlds("no_server_is_lost_and_every_shoot_completes_in_a_wild_one", seeds(40), Start::wild());
}

#[test]
fn nothing_is_written_that_became_wrong_meanwhile() {
    worlds("nothing_is_written_that_became_wrong_meanwhile", seeds(25), Start::mischievous());
}

#[test]
fn a_missing_kind_is_not_asked_for_over_and_over() {
    let start = Start { kind_missing: Duration::from_secs(2 * 3600), ..Start::default() };
    worlds("a_missing_kind_is_not_asked_for_over_and_over", seeds(5), start);
}
