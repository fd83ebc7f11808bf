//! What others do in between, and what lists do not show yet.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;
mod furnished;

use std::time::{Duration, Instant};

use furnished::{NETWORK, NIC, PROJECT, SERVER, VOLUME, furnish, start};
use serde_json::{Value, json};
use simulator::{Fault, FaultPlan, Operation, Server};

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
        let answer = client.patch(&path, &json!({"labels": {"b": "2"}})).await;
        assert_eq!((answer.status, answer.message().as_str()), (404, "server not found"));
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
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition().await {
        assert!(Instant::now() < deadline, "it never came true");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
