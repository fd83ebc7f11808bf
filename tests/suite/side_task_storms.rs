//! Tokens that end, an API that limits the rate, projects that are dead: others go on, and all complete when it is over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::side_task_faults::proof::{Persisted, calls_of};
use crate::side_task_faults::{Stage, await_complete, await_metric, await_reason};
use crate::side_task_support::{LONG, QUARANTINE, Seed, assert_harmless};
use simulator::{Fault, FaultPlan, Operation};

/// The pause that the API asks for.
const ASKED_FOR: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_ends_in_the_middle_costs_one_call_more() {
    let seed = Seed::start().await;
    // The one counts as expired although it says otherwise; the other says so itself.
    let stage = Stage::switched(&seed, "expired", 12).await;
    let _product = seed.one_replica(&["--cloud-rate-project", "4"]).await;
    rig::until("some are labelled", LONG, || async {
        Ok((seed.cloud().count(Operation::PatchServer) >= 3).then_some(()))
    })
    .await
    .unwrap();
    seed.cloud().expire_tokens_of(&stage.key.kid);
    rig::until("some more are labelled", LONG, || async {
        Ok((seed.cloud().count(Operation::PatchServer) >= 7).then_some(()))
    })
    .await
    .unwrap();
    // From now on each token is too short-lived to be kept, and long-lived enough for one call of a slow machine.
    seed.cloud().set_token_lifetime(Duration::from_secs(4));
    seed.cloud().expire_tokens_of(&stage.key.kid);
    await_complete(&seed, [&stage], LONG).await;
    seed.assert_complete(&stage.shoot).await;

    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    Persisted::read(&seed.server).assert_came_before_labels(&journal, QUARANTINE);
    let patches = calls_of(&journal, &stage.project(), Operation::PatchServer);
    let refused: Vec<_> = journal.iter().filter(|call| call.status == Some(401)).collect();
    let labelled = patches.iter().filter(|call| call.applied).count();
    assert_eq!(labelled, 12, "one PATCH a server took effect");
    assert!((1..=4).contains(&refused.len()), "each expiry is met once and not again: {refused:#?}");
    let tokens = seed.cloud().count(Operation::Token);
    assert!(tokens >= 3, "{tokens} tokens");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_429_is_waited_out() {
    let seed = Seed::start().await;
    let mut stages = Vec::new();
    for number in 0..6 {
        stages.push(Stage::switched(&seed, &format!("storm{number}"), 2).await);
    }
    // Half of them are told how long to wait.
    let plans: Vec<_> = stages
        .iter()
        .enumerate()
        .map(|(number, stage)| {
            let fault = if number % 2 == 0 { Fault::TooManyRequests } else { Fault::TooManyRequestsRetryAfter };
            FaultPlan::everywhere(fault).project(stage.project()).retry_after(ASKED_FOR)
        })
        .map(|plan| seed.cloud().inject(plan))
        .collect();
    let product = seed.one_replica(&[]).await;
    for stage in &stages {
        await_reason(&seed, stage, "CloudUnavailable", LONG).await;
    }
    await_metric(&product, "cloud-unavailable", LONG).await;
    let storm = seed.cloud().journal();
    for plan in plans {
        seed.cloud().end_fault(plan);
    }
    await_complete(&seed, &stages, LONG).await;

    for stage in &stages {
        seed.assert_complete(&stage.shoot).await;
        let calls: Vec<_> = storm.iter().filter(|call| call.project == Some(stage.project())).collect();
        // Nothing gets past the token endpoint; six tries a call, and a growing pause between calls. A slow machine makes the storm longer.
        assert!(calls.iter().all(|call| call.operation == Operation::Token && call.status == Some(429)), "{calls:#?}");
        let begun = calls[0].at;
        let soon = calls.iter().filter(|call| call.at.duration_since(begun) < Duration::from_secs(30)).count();
        assert!(soon <= 24, "{soon} calls in the first half minute of the storm");
        for (before, after) in calls.iter().zip(calls.iter().skip(1)) {
            if before.fault == Some(Fault::TooManyRequestsRetryAfter) {
                let pause = after.at.duration_since(before.at);
                assert!(pause >= ASKED_FOR, "{pause:?} after it was told to wait: {after:?}");
            }
        }
    }
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    Persisted::read(&seed.server).assert_came_before_labels(&journal, QUARANTINE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_dead_projects_of_twelve_hold_up_no_other() {
    let seed = Seed::start().await;
    let mut stages = Vec::new();
    for number in 0..12 {
        stages.push(Stage::switched(&seed, &format!("p{number}"), 2).await);
    }
    let (dead, alive) = stages.split_at(2);
    let plans = [
        FaultPlan::everywhere(Fault::ServiceUnavailable).project(dead[0].project()),
        FaultPlan::everywhere(Fault::Hang).project(dead[1].project()).lasting(Duration::from_secs(1)),
    ];
    let plans = plans.map(|plan| seed.cloud().inject(plan));
    let product = seed.one_replica(&[]).await;
    await_complete(&seed, alive, LONG).await;
    for stage in dead {
        await_reason(&seed, stage, "CloudUnavailable", LONG).await;
        let status = seed.migration(&stage.namespace()).await.unwrap()["status"].take();
        assert_eq!(status["machines"]["labelled"], 0, "{status}");
        assert_eq!(status["machines"]["legacy"], 0, "what needs no cloud is done: {status}");
    }
    await_metric(&product, "cloud-unavailable", LONG).await;
    for plan in plans {
        assert!(seed.cloud().fired(plan) > 0);
        seed.cloud().end_fault(plan);
    }
    await_complete(&seed, dead, LONG).await;
    for stage in &stages {
        seed.assert_complete(&stage.shoot).await;
    }
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    Persisted::read(&seed.server).assert_came_before_labels(&journal, QUARANTINE);
}
