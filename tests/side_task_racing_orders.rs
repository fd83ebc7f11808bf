//! Whatever comes first: flips, pods, writes, deletions, creations, flips back, lost replicas, lost leaders and restarts of the API server, in many
//! seeded orders on a real API server. No server of a live Machine is deleted, every shoot completes (one that is kept from it names the reason
//! and completes without it), and no write of a shoot that does not migrate is refused.
//!
//! 16 orders; 1,000 with the feature `long`, or as many as `MCM_RACE_ORDERS` says, from the one that `MCM_RACE_FROM` names on; `MCM_RACE_ORDER=17` plays
//! that one again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(
    clippy::print_stdout,
    reason = "the numbers are needed to repeat an order, and a long test says how far it is"
)]

mod racing_orders;
mod side_task_support;
mod support;

use std::time::Instant;

use futures::StreamExt as _;
use racing_orders::crew::Crew;
use racing_orders::order::Order;
use racing_orders::play::{Tally, play};
use racing_orders::{finish, neighbour, order::Step};
use side_task_support::{Seed, assert_harmless};
use simulator::Operation;

/// How many orders are played.
const ORDERS: u64 = if cfg!(feature = "long") { 1000 } else { 16 };
/// How many of them at once.
const AT_ONCE: usize = 32;
/// How many shoots do not migrate.
const NEIGHBOURS: usize = 8;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn orders() -> Vec<Order> {
    let (from, count) = number("MCM_RACE_ORDER").map_or_else(
        || (number("MCM_RACE_FROM").unwrap_or(0), number("MCM_RACE_ORDERS").unwrap_or(ORDERS)),
        |one| (one, 1),
    );
    (from..from + count).map(Order::of).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_every_order_no_server_dies_every_shoot_completes_and_no_other_write_is_refused() {
    let seed = Seed::start().await;
    let crew = Crew::start(&seed).await;
    let neighbours = neighbour::create(&seed, NEIGHBOURS).await;
    let (start, orders) = (Instant::now(), orders());
    let playing = orders.iter().map(async |order| (order, play(&seed, &crew, &neighbours, order).await));
    let mut playing = futures::stream::iter(playing).buffer_unordered(AT_ONCE);
    let mut tending = std::pin::pin!(crew.tend(&seed));
    let (mut sum, mut failed, mut done) = (Tally::default(), Vec::new(), 0_usize);
    loop {
        let next = tokio::select! {
            next = playing.next() => next,
            never = &mut tending => match never {},
        };
        let Some((order, played)) = next else { break };
        done += 1;
        match played {
            Ok(tally) => sum.add(tally),
            Err(why) => {
                let history = finish::history(&seed, order.number);
                println!("order {} failed: {why:#}\n{order:?}\n{history}", order.number);
                failed.push(order.number);
            }
        }
        if done % 100 == 0 {
            println!("{done} orders after {:.0?}", start.elapsed());
        }
    }
    drop(playing);
    for shoot in &neighbours {
        for machine in seed.machines(&shoot.namespace()).await {
            let name = machine["metadata"]["name"].as_str().unwrap();
            assert_eq!(machine["spec"]["providerID"], shoot.legacy_id(name), "{name} of a shoot that does not migrate");
        }
    }
    assert_harmless(&seed.cloud().journal());
    let count = |step| orders.iter().flat_map(|order| &order.steps).filter(|(_, one)| *one == step).count();
    println!(
        "{} orders in {:.0?}: {sum:?}; {} replicas and {} leaders lost, {} restarts; {} PATCH",
        orders.len(),
        start.elapsed(),
        count(Step::KillReplica),
        count(Step::KillLeader),
        count(Step::Restart),
        seed.cloud().count(Operation::PatchServer),
    );
    assert!(failed.is_empty(), "play one again with MCM_RACE_ORDER: {failed:?}");
}
