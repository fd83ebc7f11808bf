//! A cloud that takes its time costs nothing of what the command has seen meanwhile.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::rollback_support::{Back, Run};
use crate::side_task_support::LONG;
use rig::objects;
use serde_json::Value;
use simulator::{Fault, FaultPlan, Operation};

/// Longer than a pod may come and go unseen.
const SLOW: Duration = Duration::from_secs(23);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_list_begins_no_wait_anew_and_no_machine_made_meanwhile_holds_it() {
    let back = Back::start().await;
    let shoot = back.migrated("slow", 1).await;
    back.switched_back(&shoot).await;
    back.seed.cloud().inject(FaultPlan::once(Operation::ListServers, Fault::SlowBody).lasting(SLOW));
    let product = back.rollback(&shoot, &[]);
    product.await_log(|line| line["event"] == "done" && line["step"] == "guard", LONG).await.unwrap();
    let asked = || async {
        let journal = back.seed.cloud().journal();
        Ok(journal.iter().any(|call| call.operation == Operation::ListServers).then_some(()))
    };
    rig::until("the servers are listed", LONG, asked).await.unwrap();
    objects::create(&back.seed.client, &shoot.machine("late", "")).await.unwrap();
    let run = Run::of(product).await;
    assert_eq!(run.code, 0, "{run:#?}");
    let guarded = run.lines.iter().position(|line| line["event"] == "done" && line["step"] == "guard").unwrap();
    let waits = run.lines[guarded..].iter().filter(|line| line["event"] == "waits");
    let waits: Vec<&Value> = waits.filter(|line| line["reasons"][0]["reason"] == "seed-node-lost").collect();
    assert!(waits.is_empty(), "{waits:#?}");
}
