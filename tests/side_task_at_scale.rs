//! A whole seed: 250 shoots of 50 Machines, from legacy to complete. `cargo test --features long --test side_task_at_scale -- --nocapture`
//!
//! `MCM_TEST_SHOOTS` makes it smaller or larger.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task_support;
mod support;

use std::time::{Duration, Instant};

use futures::StreamExt;
use mcm_stand_in::{Fleet, Options};
use rig::Shoot;
use side_task_support::{Seed, assert_harmless};
use simulator::Operation;

const MACHINES: usize = 50;
/// It may take this long; what it took is printed.
const AT_MOST: Duration = Duration::from_secs(20 * 60);
/// The product's peak resident set may be this large, in KiB.
const LARGEST: u64 = 200 * 1024;

/// `VmHWM` of a process, in KiB.
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_seed_of_250_shoots_completes() {
    let shoots: usize = std::env::var("MCM_TEST_SHOOTS").ok().map_or(250, |shoots| shoots.parse().unwrap());
    let seed = Seed::start().await;
    let shoots: Vec<Shoot> = futures::stream::iter(0..shoots)
        .map(|number| seed.create(Shoot::new(&format!("s{number}")).legacy_machines(MACHINES)))
        .buffered(4)
        .collect()
        .await;
    // Gentle: each renewal is a read and a write, and there are as many as shoots.
    let (period, minute) = (Duration::from_secs(3), Duration::from_secs(60));
    let options = Options { retry: period, ..Options::default() };
    let options = options.orphan_period(period * 3).lease(minute * 2, minute, period);
    let fleet = Fleet::for_shoots(&seed.server, &shoots, &seed.cloud(), &options).await.unwrap();
    let start = Instant::now();
    // The quarantine of 5 s is the shortest that is of use here; the rest are the defaults but for the limits.
    let flags = ["--quarantine", "5s", "--pass-every", "30s", "--drift-every", "10m", "--inflight-timeout", "10m"];
    let lease = ["--lease-duration", "15s", "--lease-renew-deadline", "10s", "--lease-retry-period", "2s"];
    let product = seed.one_replica(&[&flags[..], &lease[..]].concat()).await;
    for shoot in &shoots {
        let left = AT_MOST.saturating_sub(start.elapsed());
        fleet.watch_over(seed.await_condition(shoot, "Complete", left)).await;
    }
    let (took, peak) = (start.elapsed(), peak_memory(product.id()));
    for shoot in &shoots {
        seed.assert_complete(shoot).await;
    }
    fleet.verdict().unwrap();
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    let count = |operation| journal.iter().filter(|call| call.operation == operation).count();
    println!(
        "{} shoots, {} Machines: complete after {took:.0?}; peak RSS {} MB; {} PATCH, {} LIST",
        shoots.len(),
        shoots.len() * MACHINES,
        peak / 1024,
        count(Operation::PatchServer),
        count(Operation::ListServers),
    );
    assert!(peak <= LARGEST, "{peak} KiB");
}
