//! Lists: what a selector selects, in which order, with which members.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod client;

use std::collections::HashSet;

use client::Client;
use serde_json::json;
use simulator::{LabelMode, Labels, Nic, Operation, Server, Simulator, Volume};

const PROJECT: &str = "11111111-1111-4111-8111-111111111111";
const NETWORK: &str = "33333333-3333-4333-8333-333333333333";

fn id(number: usize) -> String {
    format!("22222222-2222-4222-8222-{number:012}")
}

async fn start() -> (Simulator, Client) {
    let simulator = Simulator::start().unwrap();
    let cloud = simulator.cloud();
    let key = cloud.add_project(PROJECT);
    let servers = [
        Server::new(id(1), "one").with_labels([("kubernetes.io/machine", "one"), ("pool", "a")]),
        Server::new(id(2), "two").with_labels([("kubernetes.io/machine", "two"), ("pool", "a")]),
        Server::new(id(3), "three").with_labels([("pool", "b"), ("empty", "")]),
        Server::new(id(4), "four").with_labels(Labels::Null),
        Server::new(id(5), "five"),
        Server::new(id(6), "six").with_label("pool", json!(7)),
    ];
    for server in servers {
        cloud.add_server(PROJECT, "eu01", server);
    }
    let client = Client::new(&simulator, &key).await;
    (simulator, client)
}

#[tokio::test]
async fn terms_are_joined_with_and() {
    let (simulator, client) = start().await;
    let all = ["five", "four", "one", "six", "three", "two"].as_slice();
    let expected: [(&str, &[&str]); 8] = [
        ("", all),
        ("pool=a", &["one", "two"]),
        // As the vendor's Go client encodes it, and as its Python client does.
        ("kubernetes.io%2Fmachine%3Done", &["one"]),
        ("kubernetes.io/machine%3Dtwo%2Cpool%3Da", &["two"]),
        ("pool=b,kubernetes.io/machine", &[]),
        // A key alone: has such a label, whatever its value.
        ("pool", &["one", "six", "three", "two"]),
        ("empty=", &["three"]),
        ("pool=7", &[]),
    ];
    for (selector, names) in expected {
        let answer = client.get(&format!("/servers?label_selector={selector}")).await;
        assert_eq!(answer.items("name"), names, "{selector}");
    }
    assert_eq!(simulator.cloud().count(Operation::ListServers), 1, "an empty selector selects nothing away");
}

#[tokio::test]
async fn what_is_not_documented_is_refused() {
    let (simulator, client) = start().await;
    for selector in ["pool=a,", ",pool=a", ",", "=a", "pool==a", "pool!=a", "pool%20in%20(a)", "!pool", "pool=/x"] {
        let answer = client.get(&format!("/servers?label_selector={selector}")).await;
        assert_eq!(answer.status, 400, "{selector}");
        assert!(answer.message().starts_with("invalid label_selector"), "{selector}: {}", answer.body);
    }
    simulator.cloud().set_label_mode(LabelMode::Strict);
    assert_eq!(client.get("/servers?label_selector=kubernetes.io/machine=one").await.status, 400);
}

#[tokio::test]
async fn the_order_is_not_stable() {
    let (simulator, client) = start().await;
    for number in 10..20 {
        simulator.cloud().add_server(PROJECT, "eu01", Server::new(id(number), format!("more-{number}")));
    }
    let mut orders = HashSet::new();
    // 16 items: that ten lists have the same order by chance happens once in 10^119.
    for _ in 0..10 {
        let list = client.get("/servers").await.json();
        orders.insert(list["items"].as_array().unwrap().iter().map(|item| item["id"].to_string()).collect::<Vec<_>>());
    }
    assert!(orders.len() > 1);
}

#[tokio::test]
async fn details_show_what_is_hidden_without_them() {
    let (simulator, client) = start().await;
    let cloud = simulator.cloud();
    let mut server = Server::new(id(7), "seven").with_nic(Nic::new(NETWORK, "seven"));
    server.user_data = Some("I2Nsb3VkLWNvbmZpZw==".to_owned());
    server.service_account_mails = vec!["a@sa.stackit.cloud".to_owned()];
    cloud.add_server(PROJECT, "eu01", server.with_extra("tomorrow", true));
    let hidden = ["nics", "userData", "serviceAccountMails"];

    for query in ["", "?details=false", "?details=False"] {
        let plain = client.get(&format!("/servers/{}{query}", id(7))).await.json();
        assert!(hidden.iter().all(|member| plain.get(member).is_none()), "{plain}");
        assert_eq!(plain["tomorrow"], true);
    }
    let detailed = client.get(&format!("/servers/{}?details=true", id(7))).await.json();
    assert!(hidden.iter().all(|member| detailed.get(member).is_some()), "{detailed}");
    assert_eq!(detailed["nics"][0]["networkId"], NETWORK);
    for (query, shown) in [("", false), ("?details=true", true)] {
        let list = client.get(&format!("/servers{query}")).await.json();
        let seven = list["items"].as_array().unwrap().iter().find(|item| item["name"] == "seven").unwrap().clone();
        assert_eq!(seven.get("nics").is_some(), shown);
    }
    assert_eq!(client.get("/servers?details=perhaps").await.status, 400);
}

#[tokio::test]
async fn labels_have_three_forms() {
    let (_simulator, client) = start().await;
    let labels = async |number| client.get(&format!("/servers/{}", id(number))).await.json().get("labels").cloned();
    assert_eq!(labels(3).await, Some(json!({"pool": "b", "empty": ""})));
    assert_eq!(labels(4).await, Some(json!(null)));
    assert_eq!(labels(5).await, None);
}

#[tokio::test]
async fn network_interfaces_and_volumes_are_selected_too() {
    let (simulator, client) = start().await;
    let cloud = simulator.cloud();
    cloud.change_server(&id(1), |server| {
        server.nics.push(Nic::new(NETWORK, "attached").with_labels([("a", "1")]));
        server.volumes.push(Volume::new("attached").with_labels([("a", "1")]));
    });
    cloud.add_nic(PROJECT, "eu01", Nic::new(NETWORK, "loose").with_labels([("a", "2")]));
    cloud.add_nic(PROJECT, "eu01", Nic::new("33333333-3333-4333-8333-444444444444", "elsewhere"));
    cloud.add_volume(PROJECT, "eu01", Volume::new("loose").with_labels([("a", "2")]));
    let networks = format!("/networks/{NETWORK}/nics");

    let names = async |path: &str| client.get(path).await.items("name");
    assert_eq!(names("/nics").await, ["attached", "elsewhere", "loose"]);
    assert_eq!(names(&networks).await, ["attached", "loose"]);
    assert_eq!(names(&format!("{networks}?label_selector=a=2")).await, ["loose"]);
    assert_eq!(names("/volumes").await, ["attached", "loose"]);
    assert_eq!(names("/volumes?label_selector=a=1").await, ["attached"]);
    let nics = client.get("/nics?label_selector=a=2").await.json();
    assert_eq!((&nics["items"][0]["status"], nics["items"][0].get("device")), (&json!("DOWN"), None));
    let volumes = client.get("/volumes?label_selector=a=1").await.json();
    assert_eq!((&volumes["items"][0]["status"], &volumes["items"][0]["serverId"]), (&json!("ATTACHED"), &json!(id(1))));
}
