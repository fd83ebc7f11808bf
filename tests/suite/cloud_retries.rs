//! What is tried again, when, and when no more. Against the simulator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::cloud_support::{Rig, region, server, timed};
use mcm_migration_webhook::cloud::{Check, CloudError, Rate, RetrySchedule};
use simulator::{Fault, FaultPlan, Operation};

/// What the client must overcome when it happens once or twice.
const PASSING: [Fault; 8] = [
    Fault::TooManyRequests,
    Fault::InternalServerError,
    Fault::BadGateway,
    Fault::ServiceUnavailable,
    Fault::GatewayTimeout,
    Fault::ResetBeforeHeaders,
    Fault::ResetMidBody,
    Fault::AppliedReplyLost,
];

fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([("kubernetes.io/machine".to_owned(), "worker-a".to_owned())])
}

#[tokio::test]
async fn what_passes_is_overcome_for_reads_writes_and_tokens() {
    for fault in PASSING {
        let rig = Rig::start();
        let cloud = rig.simulator.cloud();
        let plan = |operation| FaultPlan::once(operation, fault).times(2);
        let plans = [Operation::Token, Operation::ListServers, Operation::PatchServer].map(|of| cloud.inject(plan(of)));
        assert_eq!(rig.client.list_servers(&region()).await.unwrap().len(), 2, "{fault:?}");
        let labelled = rig.client.patch_server_labels(&region(), server(), &labels()).await.unwrap();
        assert_eq!(labelled.labels["kubernetes.io/machine"], "worker-a".into(), "{fault:?}");
        for plan in plans {
            assert_eq!(cloud.fired(plan), 2, "{fault:?}");
        }
    }
}

#[tokio::test]
async fn a_check_of_lists_is_told_of_each_try_of_a_list_and_of_nothing_else() {
    let rig = Rig::start();
    rig.simulator.cloud().inject(FaultPlan::once(Operation::ListServers, Fault::BadGateway).times(2));
    let told = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&told);
    let client = rig.client.checked(Check::of_lists(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!(client.list_servers(&region()).await.unwrap().len(), 2);
    assert_eq!(told.load(Ordering::SeqCst), 3);
    client.patch_server_labels(&region(), server(), &labels()).await.unwrap();
    client.get_server(&region(), server()).await.unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn the_tries_have_an_end_and_the_error_says_what_was_said() {
    for (fault, class, status) in [
        (Fault::TooManyRequests, "rate-limited", Some(429)),
        (Fault::InternalServerError, "unavailable", Some(500)),
        (Fault::ServiceUnavailable, "unavailable", Some(503)),
        (Fault::ResetMidBody, "unavailable", None),
        (Fault::ResetBeforeHeaders, "unavailable", None),
    ] {
        let rig = Rig::start();
        rig.simulator.cloud().inject(FaultPlan::always(Operation::GetServer, fault));
        let error = rig.client.get_server(&region(), server()).await.unwrap_err();
        let failure = error.failure();
        assert_eq!((error.reason_class(), failure.status, failure.attempts), (class, status, 6), "{error}");
        assert_eq!(failure.server, Some(server()));
        assert_eq!(rig.calls(Operation::GetServer).len(), 6, "{fault:?}");
        if status.is_some() {
            let last = rig.calls(Operation::GetServer).pop().unwrap();
            assert_eq!(failure.request_id.as_deref(), last.request_id.as_deref(), "{fault:?}");
        }
    }
}

#[tokio::test]
async fn retry_after_is_kept_and_bounded_by_the_deadline() {
    let rig = Rig::with(|config| config.call_deadline = Duration::from_secs(100));
    let limited = |seconds| {
        FaultPlan::once(Operation::GetServer, Fault::TooManyRequestsRetryAfter)
            .retry_after(Duration::from_secs(seconds))
    };
    rig.simulator.cloud().inject(limited(1));
    let (server_found, took) = timed(rig.client.get_server(&region(), server())).await;
    server_found.unwrap();
    assert!(took >= Duration::from_secs(1), "{took:?}");

    rig.simulator.cloud().inject(limited(3600));
    let (error, took) = timed(rig.client.get_server(&region(), server())).await;
    let error = error.unwrap_err();
    let CloudError::RateLimited { retry_after, .. } = &error else { panic!("{error}") };
    assert_eq!(*retry_after, Some(Duration::from_secs(3600)));
    assert!(took < Duration::from_secs(60), "it waited although the deadline comes first: {took:?}");
}

#[tokio::test]
async fn a_request_without_an_answer_ends_in_time_and_is_tried_again() {
    let rig = Rig::with(|config| config.request_timeout = Duration::from_secs(2));
    let plan = FaultPlan::once(Operation::GetServer, Fault::Hang).lasting(Duration::from_secs(90));
    rig.simulator.cloud().inject(plan);
    let (found, took) = timed(rig.client.get_server(&region(), server())).await;
    found.unwrap();
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[tokio::test]
async fn the_deadline_ends_a_call_whatever_happens() {
    for fault in [Fault::Hang, Fault::ServiceUnavailable, Fault::SlowBody] {
        let rig = Rig::with(|config| {
            config.call_deadline = Duration::from_secs(1);
            config.retries = RetrySchedule { tries: 1000, base: Duration::from_secs(2), cap: Duration::from_secs(2) };
        });
        let plan = FaultPlan::always(Operation::ListServers, fault).lasting(Duration::from_secs(90));
        rig.simulator.cloud().inject(plan);
        let (error, took) = timed(rig.client.list_servers(&region())).await;
        assert_eq!(error.unwrap_err().reason_class(), "unavailable", "{fault:?}");
        // The token is not part of it; the machine may be slow.
        assert!(took < Duration::from_secs(60), "{fault:?}: {took:?}");
    }
}

#[tokio::test]
async fn each_try_counts_for_the_limits() {
    let rate = |n| Some(Rate::per_second(n).unwrap());
    for limit_project in [true, false] {
        let rig = Rig::with(|config| {
            *(if limit_project { &mut config.rate_project } else { &mut config.rate }) = rate(20.0);
        });
        let faults = FaultPlan::always(Operation::GetServer, Fault::ServiceUnavailable).times(20);
        rig.simulator.cloud().inject(faults);
        let (found, took) = timed(rig.read_at_once(10)).await;
        assert!(found.iter().all(Result::is_ok), "{found:?}");
        // 10 calls, 20 further tries, one token: 31, of which 20 may go at once.
        assert_eq!(rig.calls(Operation::GetServer).len() + rig.calls(Operation::Token).len(), 31);
        assert!(took >= Duration::from_millis(500), "{took:?}");
    }
}
