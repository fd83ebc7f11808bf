//! Every fault with every call that it applies to, proved from the journal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod furnished;

use std::time::{Duration, Instant};

use client::{Answer, Client, exchange, http};
use furnished::{LOOSE_NIC, LOOSE_VOLUME, NETWORK, NIC, PROJECT, SERVER, VOLUME, furnish, start};
use serde_json::json;
use simulator::{Call, Fault, FaultPlan, Operation, Server, ServiceAccountKey, Simulator};

/// Makes one call of that kind, which would go well.
async fn call(
    simulator: &Simulator,
    key: &ServiceAccountKey,
    client: &Client,
    operation: Operation,
) -> Result<Answer, reqwest::Error> {
    let server = format!("/servers/{SERVER}");
    let attachment = format!("{server}/volume-attachments/{VOLUME}");
    let nic = format!("/networks/{NETWORK}/nics/{NIC}");
    let loose_nic = format!("/networks/{NETWORK}/nics/{LOOSE_NIC}");
    let labels = json!({"labels": {"b": "2"}});
    let new = json!({"name": "new", "machineType": "c1.2", "networking": {}});
    let delete = json!({"deleteOnTermination": true});
    let (method, path, body) = match operation {
        Operation::Token => {
            let assertion = key.assertion(&json!({})).unwrap();
            let form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion)];
            let response = http().post(simulator.token_url()).form(&form).send().await?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            return Ok(Answer { status, headers, body: response.text().await? });
        }
        Operation::ListServers => ("GET", "/servers".to_owned(), None),
        Operation::ListServersBySelector => ("GET", "/servers?label_selector=a".to_owned(), None),
        Operation::GetServer => ("GET", server, None),
        Operation::PatchServer => ("PATCH", server, Some(labels)),
        Operation::CreateServer => ("POST", "/servers".to_owned(), Some(new)),
        Operation::DeleteServer => ("DELETE", server, None),
        Operation::ListServerNics => ("GET", format!("{server}/nics"), None),
        Operation::ListProjectNics => ("GET", "/nics".to_owned(), None),
        Operation::ListNetworkNics => ("GET", format!("/networks/{NETWORK}/nics"), None),
        Operation::GetNic => ("GET", nic, None),
        Operation::PatchNic => ("PATCH", nic, Some(labels)),
        Operation::DeleteNic => ("DELETE", loose_nic, None),
        Operation::ListVolumes => ("GET", "/volumes".to_owned(), None),
        Operation::GetVolume => ("GET", format!("/volumes/{VOLUME}"), None),
        Operation::PatchVolume => ("PATCH", format!("/volumes/{VOLUME}"), Some(labels)),
        Operation::DeleteVolume => ("DELETE", format!("/volumes/{LOOSE_VOLUME}"), None),
        Operation::ListAttachments => ("GET", format!("{server}/volume-attachments"), None),
        Operation::GetAttachment => ("GET", attachment, None),
        Operation::PatchAttachment => ("PATCH", attachment, Some(delete)),
        Operation::Unknown => unreachable!("not part of Operation::ALL"),
    };
    client.try_call(method, &path, body.as_ref()).await
}

/// Status, content type and what stands in the body, if the fault answers in place of the call.
fn instead(fault: Fault) -> Option<(u16, &'static str, &'static str)> {
    Some(match fault {
        Fault::TooManyRequests | Fault::TooManyRequestsRetryAfter => (429, "application/json", "Too Many Requests"),
        Fault::InternalServerError => (500, "application/json", "Internal Server Error"),
        Fault::BadGateway => (502, "text/plain", "upstream connect error"),
        Fault::ServiceUnavailable => (503, "text/plain", "upstream connect error"),
        Fault::GatewayTimeout => (504, "text/plain", "upstream request timeout"),
        Fault::UnauthorizedJson => (401, "application/json", "Unauthenticated token"),
        Fault::UnauthorizedText => (401, "text/plain", "Jwks doesn't have key"),
        Fault::Forbidden => (403, "application/json", "Forbidden"),
        Fault::NotFoundJson => (404, "application/json", "not found"),
        Fault::NotFoundHtml => (404, "text/html", "<html>"),
        Fault::Conflict => (409, "application/json", "conflict"),
        Fault::Redirect => (307, "text/plain", ""),
        Fault::NotJson => (200, "application/json", "<html>"),
        _ => return None,
    })
}

/// Whether the call is carried out in spite of the fault.
fn is_carried_out(fault: Fault, operation: Operation) -> bool {
    match fault {
        Fault::ResetBeforeHeaders | Fault::Hang => false,
        // Who comes too late finds no server.
        // What is attached is not deleted.
        Fault::ServerDeleted | Fault::Attached => !operation.is_write(),
        _ => instead(fault).is_none(),
    }
}

#[tokio::test]
async fn each_fault_fires_with_each_call_that_it_applies_to() {
    let (simulator, key, client) = start().await;
    let cloud = simulator.cloud();
    let mut pairs = 0;
    for fault in Fault::ALL {
        for operation in Operation::ALL {
            furnish(&simulator);
            cloud.clear_journal();
            let plan = FaultPlan::once(operation, fault).lasting(Duration::from_millis(30));
            let id = cloud.inject(plan);
            let outcome = call(&simulator, &key, &client, operation).await;
            let (fired, journal) = (cloud.fired(id), cloud.journal());
            cloud.clear_faults();

            let pair = format!("{fault:?} x {operation:?}");
            assert_eq!(fired, usize::from(fault.applies_to(operation)), "{pair}");
            let [entry] = journal.as_slice() else { panic!("{pair}: {} calls", journal.len()) };
            assert_eq!(entry.operation, operation, "{pair}");
            if fired == 0 {
                assert_eq!(entry.fault, None, "{pair}");
                assert!((200..300).contains(&outcome.unwrap().status), "{pair}");
                continue;
            }
            pairs += 1;
            assert_eq!(entry.fault, Some(fault), "{pair}");
            assert_eq!(entry.applied, is_carried_out(fault, operation), "{pair}");
            check_outcome(&pair, fault, outcome, entry);
        }
    }
    println!("{pairs} of {} pairs fired; the others do not apply", Fault::ALL.len() * Operation::ALL.len());
    assert_eq!(pairs, 19 * 20 + 7 + 5 + 8 + 9 + 4);
}

fn check_outcome(pair: &str, fault: Fault, outcome: Result<Answer, reqwest::Error>, entry: &Call) {
    if matches!(fault, Fault::ResetBeforeHeaders | Fault::ResetMidBody | Fault::Hang | Fault::AppliedReplyLost) {
        assert!(outcome.is_err(), "{pair}: an answer came");
        let half = fault == Fault::ResetMidBody && !matches!(entry.method.as_str(), "DELETE");
        assert_eq!(entry.status.is_some(), half, "{pair}");
        assert_eq!(entry.request_id.is_some(), half, "{pair}");
        return;
    }
    let answer = outcome.unwrap_or_else(|error| panic!("{pair}: {error}"));
    assert_eq!(entry.status, Some(answer.status), "{pair}");
    let id = answer.header("x-request-id").unwrap();
    assert_eq!(entry.request_id.as_deref(), Some(id), "{pair}");
    let digits = id.strip_prefix("req-").unwrap();
    assert!(digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{pair}: {id}");
    assert_eq!(answer.header("retry-after"), (fault == Fault::TooManyRequestsRetryAfter).then_some("1"), "{pair}");
    if let Some((status, kind, text)) = instead(fault) {
        assert_eq!((answer.status, answer.header("content-type")), (status, Some(kind)), "{pair}");
        assert!(answer.body.contains(text), "{pair}: {}", answer.body);
    }
    if fault == Fault::ListCutShort {
        assert!(answer.json()["nextPageToken"].is_string(), "{pair}: {}", answer.body);
    }
    if fault == Fault::Redirect {
        assert_eq!(answer.header("location"), Some("/elsewhere"), "{pair}");
    }
}

#[tokio::test]
async fn a_lost_reply_leaves_the_change_behind() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    let change = json!({"labels": {"b": "2"}});
    let path = format!("/servers/{SERVER}");

    cloud.inject(FaultPlan::once(Operation::PatchServer, Fault::ResetBeforeHeaders));
    assert!(client.try_call("PATCH", &path, Some(&change)).await.is_err());
    assert_eq!(cloud.server(SERVER).unwrap().labels.text("b"), None);

    cloud.inject(FaultPlan::once(Operation::PatchServer, Fault::AppliedReplyLost));
    assert!(client.try_call("PATCH", &path, Some(&change)).await.is_err());
    assert_eq!(cloud.server(SERVER).unwrap().labels.text("b"), Some("2"));

    let patches = cloud.calls(Operation::PatchServer);
    assert_eq!(patches.iter().map(|call| call.applied).collect::<Vec<_>>(), [false, true]);
    assert!(patches.iter().all(|call| call.status.is_none()));
}

#[tokio::test]
async fn half_a_body_arrives_before_the_reset() {
    let (simulator, _, client) = start().await;
    simulator.cloud().inject(FaultPlan::once(Operation::GetServer, Fault::ResetMidBody));
    let url = format!("{}/servers/{SERVER}", client.base);
    let mut response = client.http.get(url).bearer_auth(&client.token).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    let length = usize::try_from(response.content_length().unwrap()).unwrap();
    let mut received = 0;
    let end = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => received += chunk.len(),
            other => break other,
        }
    };
    assert!(end.is_err(), "the body ended as if it were whole");
    assert_eq!(received, length / 2);
}

#[tokio::test]
async fn a_slow_body_arrives_whole_and_a_hang_ends_with_the_caller() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    let path = format!("/servers/{SERVER}");
    cloud.inject(FaultPlan::once(Operation::GetServer, Fault::SlowBody).lasting(Duration::from_millis(300)));
    let start = Instant::now();
    assert_eq!(client.get(&path).await.json()["id"], SERVER);
    assert!(start.elapsed() >= Duration::from_millis(300));

    let id = cloud.inject(FaultPlan::once(Operation::GetServer, Fault::Hang));
    let hanging = tokio::time::timeout(Duration::from_millis(200), client.get(&path)).await;
    assert!(hanging.is_err(), "an answer came");
    assert_eq!(cloud.fired(id), 1);
    // Others are served meanwhile and afterwards.
    assert_eq!(client.get(&path).await.status, 200);
}

#[tokio::test]
async fn plans_say_which_calls_and_how_often() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    let other = "22222222-2222-4222-8222-333333333333";
    cloud.add_server(PROJECT, "eu01", Server::new(other, "machine-2"));
    let statuses = async |id: &str, count: usize| {
        let mut statuses = Vec::new();
        for _ in 0..count {
            statuses.push(client.get(&format!("/servers/{id}")).await.status);
        }
        statuses
    };
    let plan = || FaultPlan::always(Operation::GetServer, Fault::Conflict);

    let id = cloud.inject(plan().after(1).times(2));
    assert_eq!(statuses(SERVER, 5).await, [200, 409, 409, 200, 200]);
    assert_eq!(cloud.fired(id), 2);

    let id = cloud.inject(plan().every(2));
    assert_eq!(statuses(SERVER, 5).await, [409, 200, 409, 200, 409]);
    cloud.end_fault(id);
    assert_eq!(statuses(SERVER, 2).await, [200, 200]);
    assert_eq!(cloud.fired(id), 3, "the book is kept");

    cloud.inject(plan().server(other));
    assert_eq!((statuses(SERVER, 2).await, statuses(other, 2).await), (vec![200, 200], vec![409, 409]));
    // The plan that was injected first wins, and the other does not see the call.
    let second = cloud.inject(FaultPlan::once(Operation::GetServer, Fault::Forbidden).server(other));
    assert_eq!((statuses(other, 1).await, cloud.fired(second)), (vec![409], 0));
    cloud.clear_faults();
    assert_eq!(statuses(other, 1).await, [200]);

    cloud.inject(plan().project("11111111-1111-4111-8111-999999999999"));
    assert_eq!(statuses(SERVER, 1).await, [200]);
    cloud.inject(plan().project(PROJECT).retry_after(Duration::from_secs(7)));
    let refused = client.get(&format!("/servers/{SERVER}")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (409, Some("7")));
    cloud.clear_faults();

    cloud.inject(FaultPlan::everywhere(Fault::ServiceUnavailable));
    assert_eq!((client.get("/servers").await.status, client.get("/volumes").await.status), (503, 503));
}

#[tokio::test]
async fn tokens_fail_by_the_project_of_their_key() {
    let (simulator, key, _) = start().await;
    let cloud = simulator.cloud();
    let other = cloud.add_project("11111111-1111-4111-8111-222222222222");
    cloud.inject(FaultPlan::always(Operation::Token, Fault::GatewayTimeout).project(PROJECT));
    assert_eq!(exchange(&simulator, &key.assertion(&json!({})).unwrap()).await.status, 504);
    assert_eq!(exchange(&simulator, &other.assertion(&json!({})).unwrap()).await.status, 200);
    // A reply that is lost has used the assertion up all the same.
    cloud.clear_faults();
    cloud.inject(FaultPlan::once(Operation::Token, Fault::AppliedReplyLost));
    let assertion = key.assertion(&json!({})).unwrap();
    let form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", &assertion)];
    assert!(http().post(simulator.token_url()).form(&form).send().await.is_err());
    assert_eq!(exchange(&simulator, &assertion).await.status, 400);
}
