//! A shoot goes from legacy to complete with no write by anybody else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::side_task_support::{LONG, Seed, assert_harmless};
use mcm_stand_in::{Mcm, Options};
use rig::Shoot;
use simulator::Operation;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_legacy_shoot_completes_by_itself() {
    let seed = Seed::start().await;
    let shoot = seed.create(Shoot::new("prod").legacy_machines(7)).await;
    let mcm = Mcm::for_shoot(&seed.server, &shoot, seed.cloud(), Options::default()).await.unwrap();
    let _product = seed.one_replica(&[]).await;
    mcm.watch_over(seed.await_condition(&shoot, "Complete", LONG)).await;
    mcm.await_runs(3, LONG).await.unwrap();
    mcm.verdict().unwrap();
    seed.assert_complete(&shoot).await;
    mcm.verdict().unwrap();
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    let patches = journal.iter().filter(|call| call.operation == Operation::PatchServer).count();
    assert_eq!(patches, 7, "one PATCH a server");
}
