//! What a PATCH does to labels, and what else can be written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;

use client::Client;
use serde_json::{Value, json};
use simulator::{LabelMode, Labels, Nic, Operation, Server, Simulator, Volume};

const PROJECT: &str = "11111111-1111-4111-8111-111111111111";
const SERVER: &str = "22222222-2222-4222-8222-222222222222";
const NETWORK: &str = "33333333-3333-4333-8333-333333333333";
const NIC: &str = "44444444-4444-4444-8444-444444444444";
const VOLUME: &str = "55555555-5555-4555-8555-555555555555";

/// One server with a network interface and a volume, all with the labels `a: 1` and `b: 2`.
async fn start() -> (Simulator, Client) {
    let simulator = Simulator::start().unwrap();
    let cloud = simulator.cloud();
    let key = cloud.add_project(PROJECT);
    let labels = || Labels::from([("a", "1"), ("b", "2")]);
    let server = Server::new(SERVER, "machine-1")
        .with_labels(labels())
        .with_nic(Nic::new(NETWORK, "machine-1").with_id(NIC).with_labels(labels()))
        .with_volume(Volume::boot("machine-1").with_id(VOLUME).with_labels(labels()));
    cloud.add_server(PROJECT, "eu01", server);
    let client = Client::new(&simulator, &key).await;
    (simulator, client)
}

fn labels(simulator: &Simulator) -> Value {
    let labels = simulator.cloud().server(SERVER).unwrap().labels;
    labels.map().map_or(Value::Null, |map| json!(map))
}

fn server() -> String {
    format!("/servers/{SERVER}")
}

fn nic() -> String {
    format!("/networks/{NETWORK}/nics/{NIC}")
}

fn volume() -> String {
    format!("/volumes/{VOLUME}")
}

#[tokio::test]
async fn a_patch_merges_and_null_removes() {
    let (_simulator, client) = start().await;
    for path in [server(), nic(), volume()] {
        let answer =
            client.patch(&path, &json!({"labels": {"kubernetes.io/machine": "m", "a": null, "none": null}})).await;
        assert_eq!(answer.status, 200, "{path}");
        let expected = json!({"b": "2", "kubernetes.io/machine": "m"});
        assert_eq!(answer.json()["labels"], expected, "{path}: the answer is the whole object");
        assert_eq!(client.get(&path).await.json()["labels"], expected, "{path}");
        // Nothing to do is no error, and a second time is as good as once.
        assert_eq!(client.patch(&path, &json!({"labels": {}})).await.json()["labels"], expected, "{path}");
        assert_eq!(client.patch(&path, &json!({})).await.json()["labels"], expected, "{path}");
    }
}

#[tokio::test]
async fn absent_and_null_become_a_map_with_the_first_label() {
    let (simulator, client) = start().await;
    for form in [Labels::Absent, Labels::Null, Labels::from([("x", "y"); 0])] {
        simulator.cloud().change_server(SERVER, |server| server.labels = form);
        assert_eq!(client.patch(&server(), &json!({"labels": {"a": "b"}})).await.json()["labels"], json!({"a": "b"}));
        // The last one gone leaves an empty map.
        assert_eq!(client.patch(&server(), &json!({"labels": {"a": null}})).await.json()["labels"], json!({}));
    }
}

#[tokio::test]
async fn one_bad_label_refuses_the_whole_patch() {
    let (simulator, client) = start().await;
    let long = "x".repeat(64);
    let bad = [
        (json!({"path": "/opt/mstr"}), "does not match regex ", ": value /opt/mstr"),
        (json!({"-a": "b"}), "does not match regex ", ": key -a"),
        (json!({"a:b": "c"}), "does not match regex ", ": key a:b"),
        (json!({"": "c"}), "does not match regex ", ": key "),
        (json!({&long: "c"}), "does not match regex ", long.as_str()),
        (json!({"c": long}), "does not match regex ", long.as_str()),
        (json!({"stackit-a": "c"}), "label key is reserved", ": key stackit-a"),
        (json!({"stackit.cloud/a": "c"}), "label key is reserved", ": key stackit.cloud/a"),
        (json!({"migration.stackit.cloud/a": "c"}), "label key is reserved", ": key migration.stackit.cloud/a"),
        (
            json!({"c": 1}),
            "request body has an error: doesn't match schema: Error at \"/labels/c\"",
            "must be a string",
        ),
    ];
    for (mut change, start, end) in bad {
        change["good"] = json!("label");
        let answer = client.patch(&server(), &json!({"labels": change})).await;
        assert_eq!(answer.status, 400, "{change}");
        assert_eq!(answer.json()["code"], 400);
        let message = answer.message();
        assert!(message.starts_with(start) && message.ends_with(end), "{change}: {message}");
        assert_eq!(labels(&simulator), json!({"a": "1", "b": "2"}), "{change}");
    }
    // Nothing says what null does to the map itself, so nobody may send it.
    assert_eq!(client.patch(&server(), &json!({"labels": null})).await.status, 400);
    assert!(simulator.cloud().calls(Operation::PatchServer).iter().all(|call| !call.applied));
}

#[tokio::test]
async fn the_longest_names_are_accepted() {
    let (_simulator, client) = start().await;
    let (key, value) = (format!("a/{}", "k".repeat(61)), "v".repeat(63));
    for change in [json!({&key: value}), json!({"empty": ""}), json!({"A-z_0.9": "A-z_0.9"})] {
        assert_eq!(client.patch(&server(), &json!({"labels": change})).await.status, 200, "{change}");
    }
}

#[tokio::test]
async fn modes_differ_in_the_keys_they_take() {
    let (simulator, client) = start().await;
    let long_name = format!("example.org/{}", "n".repeat(63));
    // Observed, prefixed, strict.
    let expected = [
        ("kubernetes.io/machine", [200, 200, 400]),
        ("kubernetes.io", [200, 200, 200]),
        (long_name.as_str(), [400, 200, 400]),
        ("Upper.Case/name", [200, 400, 400]),
        ("two/slashes/here", [200, 400, 400]),
    ];
    for (key, statuses) in expected {
        for (mode, status) in [LabelMode::Observed, LabelMode::Prefixed, LabelMode::Strict].into_iter().zip(statuses) {
            simulator.cloud().set_label_mode(mode);
            let answer = client.patch(&server(), &json!({"labels": {key: "x"}})).await;
            assert_eq!(answer.status, status, "{mode:?} {key}: {}", answer.body);
        }
    }
}

#[tokio::test]
async fn there_are_at_most_64_labels() {
    let (simulator, client) = start().await;
    let full: Value = (0..62).map(|number| (format!("k{number}"), json!("v"))).collect();
    assert_eq!(client.patch(&server(), &json!({"labels": full})).await.status, 200);
    let one_more = client.patch(&server(), &json!({"labels": {"k62": "v"}})).await;
    assert_eq!(one_more.status, 400, "{}", one_more.body);
    assert_eq!(client.patch(&server(), &json!({"labels": {"k62": "v", "a": null}})).await.status, 200);
    assert_eq!(simulator.cloud().server(SERVER).unwrap().labels.map().unwrap().len(), 64);
}

#[tokio::test]
async fn a_shelved_server_cannot_be_changed() {
    let (simulator, client) = start().await;
    for status in ["DEALLOCATED", "DEALLOCATING", "DELETING", "DELETED"] {
        simulator.cloud().change_server(SERVER, |server| status.clone_into(&mut server.status));
        let answer = client.patch(&server(), &json!({"labels": {"c": "3"}})).await;
        assert_eq!(answer.status, 409, "{status}");
        assert!(answer.message().contains(status));
        assert_eq!(labels(&simulator), json!({"a": "1", "b": "2"}));
    }
    simulator.cloud().change_server(SERVER, |server| "A-STATUS-OF-TOMORROW".clone_into(&mut server.status));
    assert_eq!(client.patch(&server(), &json!({"labels": {"c": "3"}})).await.json()["status"], "A-STATUS-OF-TOMORROW");
}

#[tokio::test]
async fn bodies_must_be_json_objects() {
    let (simulator, client) = start().await;
    for body in [json!([]), json!("labels"), json!({"labels": []}), json!({"name": 3}), json!({"metadata": {"a": 1}})] {
        let answer = client.patch(&server(), &body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.message().starts_with("request body has an error"), "{body}: {}", answer.body);
    }
    let request = || client.http.patch(format!("{}{}", client.base, server())).bearer_auth(&client.token);
    let typed = |kind: &'static str, body: &'static str| request().header("content-type", kind).body(body).send();
    assert_eq!(typed("application/json", "{").await.unwrap().status().as_u16(), 400);
    assert_eq!(typed("text/plain", "{\"labels\":{\"c\":\"3\"}}").await.unwrap().status().as_u16(), 400);
    assert_eq!(labels(&simulator), json!({"a": "1", "b": "2"}));
}

#[tokio::test]
async fn allowed_addresses_and_the_fate_of_a_volume_are_kept() {
    let (simulator, client) = start().await;
    let cloud = simulator.cloud();
    let addresses = json!(["10.250.0.0/16", "10.1.2.3", "fd00::/8"]);
    let answer = client.patch(&nic(), &json!({"allowedAddresses": addresses})).await;
    assert_eq!(answer.json()["allowedAddresses"], addresses);
    assert_eq!(answer.json()["labels"], json!({"a": "1", "b": "2"}), "what is not named stays");
    for bad in [json!(["10.0.0.0/33"]), json!(["somewhere"]), json!("10.0.0.0/8"), json!([1])] {
        assert_eq!(client.patch(&nic(), &json!({"allowedAddresses": bad})).await.status, 400, "{bad}");
    }
    assert_eq!(client.get(&nic()).await.json()["allowedAddresses"], addresses);
    assert_eq!(cloud.nics(PROJECT)[0].0.allowed_addresses, ["10.250.0.0/16", "10.1.2.3", "fd00::/8"]);

    let attachment = format!("{}/volume-attachments/{VOLUME}", server());
    let expected = |delete: bool| json!({"serverId": SERVER, "volumeId": VOLUME, "deleteOnTermination": delete});
    assert_eq!(client.get(&attachment).await.json(), expected(false));
    assert_eq!(client.patch(&attachment, &json!({"deleteOnTermination": true})).await.json(), expected(true));
    assert_eq!(client.patch(&attachment, &json!({"deleteOnTermination": "no"})).await.status, 400);
    assert_eq!(client.get(&attachment).await.json(), expected(true));
    assert_eq!(client.get(&server()).await.json()["bootVolume"], json!({"id": VOLUME, "deleteOnTermination": true}));

    // The volume goes with its server, the network interface stays behind.
    assert_eq!(client.delete(&volume()).await.status, 409);
    assert_eq!(client.delete(&nic()).await.status, 409);
    assert_eq!(client.delete(&server()).await.status, 204);
    assert_eq!(client.get(&server()).await.status, 404);
    assert_eq!(client.get(&volume()).await.status, 404);
    assert_eq!(client.get(&nic()).await.json()["status"], "DOWN");
    assert_eq!(client.delete(&nic()).await.status, 204);
    assert_eq!(cloud.nics(PROJECT), []);
}

#[tokio::test]
async fn a_server_can_be_made_of_what_lies_about() {
    let (simulator, client) = start().await;
    let cloud = simulator.cloud();
    cloud.set_boot_time(std::time::Duration::from_millis(200));
    client.delete(&server()).await;
    assert_eq!(client.get(&volume()).await.json()["status"], "AVAILABLE");
    let payload = json!({
        "name": "machine-2", "machineType": "c1.2", "networking": {"nicIds": [NIC]}, "volumes": [VOLUME],
        "labels": {"kubernetes.io/machine": "machine-2"},
    });

    let answer = client.post("/servers", &payload).await;

    assert_eq!((answer.status, &answer.json()["status"]), (201, &json!("CREATING")));
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(cloud.calls(Operation::CreateServer)[0].server.as_deref(), Some(id.as_str()));
    assert_eq!(client.get(&nic()).await.json()["device"], id);
    assert_eq!(client.get(&volume()).await.json()["serverId"], id);
    assert_eq!(client.post("/servers", &payload).await.status, 409, "they are taken");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while client.get(&format!("/servers/{id}")).await.json()["status"] != "ACTIVE" {
        assert!(std::time::Instant::now() < deadline, "the server never becomes active");
    }
    for member in ["name", "machineType", "networking"] {
        let mut less = payload.clone();
        less.as_object_mut().unwrap().remove(member);
        assert_eq!(client.post("/servers", &less).await.status, 400, "{member}");
    }
    let bad = json!({"name": "n", "machineType": "c1.2", "networking": {}, "labels": {"stackit-a": "b"}});
    assert_eq!(client.post("/servers", &bad).await.status, 400);
}

#[test]
fn a_deletion_by_somebody_else_stands_in_the_journal() {
    let cloud = simulator::Cloud::new();
    cloud.add_server(PROJECT, "eu01", Server::new(SERVER, "machine-1"));
    assert!(cloud.delete_server(SERVER, "orphan collector"));
    assert!(!cloud.delete_server(SERVER, "orphan collector"));
    let journal = cloud.journal();
    assert_eq!(journal.len(), 1);
    assert_eq!(journal[0].operation, Operation::DeleteServer);
    assert_eq!(journal[0].by.as_deref(), Some("orphan collector"));
    assert_eq!((journal[0].server.as_deref(), journal[0].project.as_deref()), (Some(SERVER), Some(PROJECT)));
    assert_eq!(cloud.server(SERVER), None);
}
