//! How tokens are fetched, kept, dropped and refused. Against the simulator.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use crate::cloud_support::{OTHER_PROJECT, PROJECT, Rig, parse, project, region, server};
use simulator::{Fault, FaultPlan, Operation};

#[tokio::test]
async fn fifty_calls_at_once_need_one_token() {
    let rig = Rig::start();
    let found = rig.read_at_once(50).await;
    assert!(found.iter().all(Result::is_ok));
    assert_eq!(rig.calls(Operation::Token).len(), 1);
    assert_eq!(rig.calls(Operation::GetServer).len(), 50);
}

#[tokio::test]
async fn an_assertion_is_what_the_key_flow_asks_for() {
    let rig = Rig::start();
    rig.client.list_servers(&region()).await.unwrap();
    let call = rig.calls(Operation::Token).pop().unwrap();
    let body = call.body.unwrap().to_string();
    assert!(body.contains("urn:ietf:params:oauth:grant-type:jwt-bearer") && body.contains("\"jti\""), "{body}");
    let version = format!("mcm-migration-webhook/{}", env!("CARGO_PKG_VERSION"));
    for call in rig.simulator.cloud().journal() {
        assert_eq!(call.user_agent.as_deref(), Some(version.as_str()));
    }
}

#[tokio::test]
async fn a_token_that_ends_is_renewed_before_it_is_refused() {
    let rig = Rig::start();
    // The leeway is 5 s, so each token is used for about a second.
    rig.simulator.cloud().set_token_lifetime(Duration::from_secs(6));
    let deadline = Instant::now() + Duration::from_secs(60);
    while rig.calls(Operation::Token).len() < 3 {
        assert!(Instant::now() < deadline, "the token is not renewed");
        rig.read_at_once(5).await.into_iter().for_each(|found| drop(found.unwrap()));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(rig.statuses(Operation::GetServer).iter().all(|status| *status == Some(200)));
}

#[tokio::test]
async fn fifty_calls_with_a_token_that_was_ended_need_one_new_one() {
    for plain_text in [false, true] {
        let rig = Rig::start();
        rig.simulator.cloud().set_plain_text_401(plain_text);
        rig.client.list_servers(&region()).await.unwrap();
        rig.simulator.cloud().expire_tokens();
        let found = rig.read_at_once(50).await;
        assert!(found.iter().all(Result::is_ok), "{found:?}");
        assert_eq!(rig.calls(Operation::Token).len(), 2);
        let statuses = rig.statuses(Operation::GetServer);
        assert!(statuses.iter().all(|status| matches!(status, Some(200 | 401))));
        assert_eq!(statuses.iter().filter(|status| **status == Some(200)).count(), 50);
        assert!(statuses.contains(&Some(401)), "no call was refused");
    }
}

#[tokio::test]
async fn one_refusal_is_overcome_and_a_second_one_is_final() {
    for fault in [Fault::UnauthorizedJson, Fault::UnauthorizedText] {
        let rig = Rig::start();
        rig.client.list_servers(&region()).await.unwrap();
        rig.simulator.cloud().inject(FaultPlan::once(Operation::GetServer, fault));
        rig.client.get_server(&region(), server()).await.unwrap();
        assert_eq!(rig.statuses(Operation::GetServer), [Some(401), Some(200)]);
        assert_eq!(rig.calls(Operation::Token).len(), 2);

        rig.simulator.cloud().inject(FaultPlan::always(Operation::ListServers, fault));
        let error = rig.client.list_servers(&region()).await.unwrap_err();
        assert_eq!((error.reason_class(), error.failure().status), ("unauthorized", Some(401)), "{error}");
        assert_eq!(rig.statuses(Operation::ListServers), [Some(200), Some(401), Some(401)]);
        assert_eq!(rig.calls(Operation::Token).len(), 3);
    }
}

#[tokio::test]
async fn a_key_that_is_refused_is_asked_with_once_by_fifty_calls() {
    let rig = Rig::start();
    rig.simulator.cloud().deactivate_key(parse(&rig.key).key_id());
    let found = rig.read_at_once(50).await;
    for found in found {
        let error = found.unwrap_err();
        assert_eq!(error.reason_class(), "key", "{error}");
    }
    assert_eq!(rig.calls(Operation::Token).len(), 1);
    assert!(rig.calls(Operation::GetServer).is_empty());
}

#[tokio::test]
async fn a_bad_key_hurts_only_its_own_project() {
    let rig = Rig::start();
    let other = rig.simulator.cloud().add_project(OTHER_PROJECT).json();
    let other = rig.clouds.project(project(OTHER_PROJECT), parse(&other));
    rig.simulator.cloud().inject(FaultPlan::always(Operation::Token, Fault::Forbidden).project(PROJECT));
    assert_eq!(rig.client.list_servers(&region()).await.unwrap_err().reason_class(), "key");
    assert_eq!(other.list_servers(&region()).await.unwrap(), []);
}

#[tokio::test]
async fn the_key_of_another_project_gets_nowhere() {
    let rig = Rig::start();
    let other = rig.simulator.cloud().add_project(OTHER_PROJECT).json();
    let stranger = rig.clouds.project(project(PROJECT), parse(&other));
    let error = stranger.get_server(&region(), server()).await.unwrap_err();
    assert!(matches!(error.reason_class(), "forbidden" | "not-found"), "{error}");
}
