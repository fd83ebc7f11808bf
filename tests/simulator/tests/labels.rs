//! What a PATCH does to labels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;

use client::Client;
use serde_json::json;
use simulator::{Operation, Server, Simulator};

const PROJECT: &str = "11111111-1111-4111-8111-111111111111";
const SERVER: &str = "22222222-2222-4222-8222-222222222222";

#[tokio::test]
async fn a_patch_merges_and_null_removes() {
    let simulator = Simulator::start().unwrap();
    let cloud = simulator.cloud();
    let key = cloud.add_project(PROJECT);
    cloud.add_server(PROJECT, "eu01", Server::new(SERVER, "machine-1").with_labels([("a", "1"), ("b", "2")]));
    let client = Client::new(&simulator, &key).await;
    let path = format!("/servers/{SERVER}");

    let answer = client.patch(&path, &json!({"labels": {"kubernetes.io/machine": "machine-1", "a": null}})).await;

    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["labels"], json!({"b": "2", "kubernetes.io/machine": "machine-1"}));
    assert_eq!(client.get(&path).await.json()["labels"], json!({"b": "2", "kubernetes.io/machine": "machine-1"}));
    let patches = cloud.calls(Operation::PatchServer);
    assert_eq!(patches.len(), 1);
    assert_eq!(patches[0].body, Some(json!({"labels": {"kubernetes.io/machine": "machine-1", "a": null}})));
    assert_eq!(patches[0].status, Some(200));
    assert_eq!(patches[0].kid, Some(key.kid));
}
