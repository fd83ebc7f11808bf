//! Every fault with every call that it applies to, proved from the journal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;

use std::time::{Duration, Instant};

use client::{Answer, Client, exchange, http};
use serde_json::{Value, json};
use simulator::{Call, Fault, FaultPlan, Nic, Operation, Server, ServiceAccountKey, Simulator, Volume};

const PROJECT: &str = "11111111-1111-4111-8111-111111111111";
const SERVER: &str = "22222222-2222-4222-8222-222222222222";
const NETWORK: &str = "33333333-3333-4333-8333-333333333333";
const NIC: &str = "44444444-4444-4444-8444-444444444444";
const LOOSE_NIC: &str = "44444444-4444-4444-8444-555555555555";
const VOLUME: &str = "55555555-5555-4555-8555-555555555555";
const LOOSE_VOLUME: &str = "55555555-5555-4555-8555-666666666666";

async fn start() -> (Simulator, ServiceAccountKey, Client) {
    let simulator = Simulator::start().unwrap();
    let key = simulator.cloud().add_project(PROJECT);
    furnish(&simulator);
    let client = Client::new(&simulator, &key).await;
    simulator.cloud().clear_journal();
    (simulator, key, client)
}

/// Something for each call to act on; replaces what is there.
fn furnish(simulator: &Simulator) {
    let cloud = simulator.cloud();
    let server = Server::new(SERVER, "machine-1")
        .with_label("a", "1")
        .with_nic(Nic::new(NETWORK, "machine-1").with_id(NIC))
        .with_volume(Volume::boot("machine-1").with_id(VOLUME));
    cloud.add_server(PROJECT, "eu01", server);
    cloud.add_nic(PROJECT, "eu01", Nic::new(NETWORK, "loose").with_id(LOOSE_NIC));
    cloud.add_volume(PROJECT, "eu01", Volume::new("loose").with_id(LOOSE_VOLUME));
}

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
        Fault::ServerDeleted => !operation.is_write(),
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
    assert_eq!(pairs, 19 * 20 + 7 + 5 + 8 + 9);
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
    let patch = json!({"labels": {"b": "2"}});
    let path = format!("/servers/{SERVER}");

    cloud.inject(FaultPlan::once(Operation::PatchServer, Fault::ResetBeforeHeaders));
    assert!(client.try_call("PATCH", &path, Some(&patch)).await.is_err());
    assert_eq!(cloud.server(SERVER).unwrap().labels.text("b"), None);

    cloud.inject(FaultPlan::once(Operation::PatchServer, Fault::AppliedReplyLost));
    assert!(client.try_call("PATCH", &path, Some(&patch)).await.is_err());
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

#[tokio::test]
async fn a_list_that_is_cut_short_says_so_in_a_member_nobody_knows() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    for number in 0..9 {
        cloud.add_server(PROJECT, "eu01", Server::new(format!("22222222-2222-4222-8222-{number:012}"), "more"));
    }
    cloud.inject(FaultPlan::once(Operation::ListServers, Fault::ListCutShort));
    assert_eq!(client.get("/servers").await.items("id").len(), 5);
    let whole = client.get("/servers").await;
    assert_eq!((whole.items("id").len(), whole.json().get("nextPageToken").cloned()), (10, None));
}

#[tokio::test]
async fn a_write_is_hidden_from_lists_and_seen_by_get() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    let lasting = Duration::from_millis(400);
    let new = json!({"name": "new", "machineType": "c1.2", "networking": {}, "labels": {"b": "2"}});
    let path = format!("/servers/{SERVER}");
    for operation in [Operation::PatchServer, Operation::CreateServer, Operation::DeleteServer] {
        cloud.inject(FaultPlan::once(operation, Fault::DelayedVisibility).lasting(lasting));
    }
    let names = async |query: &str| client.get(&format!("/servers{query}")).await.items("name");

    let start = Instant::now();
    client.patch(&path, &json!({"labels": {"b": "2"}})).await;
    let created = client.post("/servers", &new).await.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(client.get(&path).await.json()["labels"], json!({"a": "1", "b": "2"}));
    assert_eq!(client.get(&format!("/servers/{created}")).await.status, 200);
    let (all, selected) = (names("").await, names("?label_selector=b").await);
    if start.elapsed() < lasting {
        assert_eq!((all, selected), (vec!["machine-1".to_owned()], vec![]));
    }
    until(async || names("?label_selector=b").await == ["machine-1", "new"]).await;

    let start = Instant::now();
    client.delete(&path).await;
    assert_eq!(client.get(&path).await.status, 404);
    let all = names("").await;
    if start.elapsed() < lasting {
        assert_eq!(all, ["machine-1", "new"]);
    }
    until(async || names("").await == ["new"]).await;
}

#[tokio::test]
async fn a_list_leaves_out_what_happened_just_now() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    let path = format!("/servers/{SERVER}");
    client.patch(&path, &json!({"labels": {"b": "2"}})).await;
    client.patch(&path, &json!({"labels": {"c": "3"}})).await;
    let old = FaultPlan::once(Operation::ListServers, Fault::DelayedVisibility).lasting(Duration::from_secs(3600));
    cloud.inject(old.clone());
    let labels = async || client.get("/servers").await.json()["items"][0]["labels"].clone();
    assert_eq!(labels().await, json!({"a": "1"}));
    assert_eq!(labels().await, json!({"a": "1", "b": "2", "c": "3"}));
    client.delete(&path).await;
    cloud.inject(old);
    assert_eq!(client.get("/servers").await.items("id"), [SERVER]);
    assert_eq!(client.get("/servers").await.items("id"), Vec::<String>::new());
}

#[tokio::test]
async fn somebody_else_writes_labels_in_between() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    let path = format!("/servers/{SERVER}");
    let foreign = |operation| FaultPlan::once(operation, Fault::ForeignLabelWriter);

    // After a read: the answer does not show it yet.
    cloud.inject(foreign(Operation::GetServer));
    assert_eq!(client.get(&path).await.json()["labels"], json!({"a": "1"}));
    assert_eq!(client.get(&path).await.json()["labels"], json!({"a": "1", "foreign-writer": "1"}));
    // Before a write: our key wins, the others stay; null removes.
    let labels = [("a", json!("x")), ("b", json!("x")), ("foreign-writer", Value::Null)];
    cloud.inject(foreign(Operation::PatchServer).foreign_labels(labels));
    let answer = client.patch(&path, &json!({"labels": {"a": "2"}})).await;
    assert_eq!(answer.json()["labels"], json!({"a": "2", "b": "x"}));
    // After a list: the server that the plan names.
    let other = "22222222-2222-4222-8222-333333333333";
    cloud.add_server(PROJECT, "eu01", Server::new(other, "machine-2"));
    cloud.inject(foreign(Operation::ListServers).server(other));
    client.get("/servers").await;
    assert_eq!(cloud.server(other).unwrap().labels.text("foreign-writer"), Some("1"));
    assert_eq!(cloud.server(SERVER).unwrap().labels.text("foreign-writer"), None);
    // Network interfaces and volumes, too.
    cloud.inject(foreign(Operation::PatchNic));
    let nic = client.patch(&format!("/networks/{NETWORK}/nics/{NIC}"), &json!({"labels": {"a": "1"}})).await;
    assert_eq!(nic.json()["labels"], json!({"a": "1", "foreign-writer": "1"}));
    cloud.inject(foreign(Operation::GetVolume));
    client.get(&format!("/volumes/{VOLUME}")).await;
    assert_eq!(client.get(&format!("/volumes/{VOLUME}")).await.json()["labels"], json!({"foreign-writer": "1"}));
}

#[tokio::test]
async fn a_server_is_deleted_between_get_and_patch() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    let path = format!("/servers/{SERVER}");
    for operation in [Operation::GetServer, Operation::PatchServer] {
        furnish(&simulator);
        cloud.inject(FaultPlan::once(operation, Fault::ServerDeleted));
        assert_eq!(client.get(&path).await.status, 200);
        let patch = client.patch(&path, &json!({"labels": {"b": "2"}})).await;
        assert_eq!((patch.status, patch.message().as_str()), (404, "server not found"));
        assert_eq!(cloud.server(SERVER), None);
    }
}

#[tokio::test]
async fn the_journal_counts_on() {
    let (simulator, _, client) = start().await;
    let cloud = simulator.cloud();
    client.get("/servers").await;
    client.get("/what-is-this").await;
    let first = cloud.journal();
    assert_eq!(
        first.iter().map(|call| call.operation).collect::<Vec<_>>(),
        [Operation::ListServers, Operation::Unknown]
    );
    assert_eq!((first[1].status, first[1].region.as_deref()), (Some(404), Some("eu01")));
    assert!(first[0].at <= first[1].at && first[0].since_start <= first[1].since_start);
    cloud.clear_journal();
    client.get("/servers").await;
    assert_eq!(cloud.journal()[0].sequence, first[1].sequence + 1);
}

async fn until(condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition().await {
        assert!(Instant::now() < deadline, "it never came true");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
