//! The conventions of Gardener's seeds in `overlays/gardener-seed`: without them its network policies shut the program off, its pods
//! go first when a node is short of memory, and its replicas share a zone.
//!
//! Sources: Gardener's `docs/operations/network_policies.md`, `docs/development/high-availability-of-components.md` and
//! `docs/development/priority-classes.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

use serde_json::{Value, json};

#[tokio::test]
async fn the_pods_may_reach_dns_and_the_api_server_of_the_seed() {
    let labels = &one("Deployment").await["spec"]["template"]["metadata"]["labels"];
    for to in ["to-dns", "to-runtime-apiserver"] {
        assert_eq!(labels[format!("networking.gardener.cloud/{to}")], "allowed", "{labels}");
    }
    // The Service still finds them.
    let selector = one("Service").await["spec"]["selector"].clone();
    for (key, value) in selector.as_object().unwrap() {
        assert_eq!(&labels[key], value, "{key}");
    }
}

#[tokio::test]
async fn the_pods_have_the_priority_of_gardeners_extensions() {
    assert_eq!(one("Deployment").await["spec"]["template"]["spec"]["priorityClassName"], "gardener-system-900");
}

#[tokio::test]
async fn gardener_spreads_the_replicas_as_those_of_a_server() {
    let label = |what: &str| format!("high-availability-config.resources.gardener.cloud/{what}");
    assert_eq!(one("Deployment").await["metadata"]["labels"][label("type")], "server");
    // Gardener's webhook looks at no other namespace.
    let namespace = one("Namespace").await;
    assert_eq!(namespace["metadata"]["labels"][label("consider")], "true");
    assert_eq!(namespace["metadata"]["name"], "mcm-migration-system");
}

#[tokio::test]
async fn the_ports_that_are_let_in_are_those_that_the_pods_listen_on() {
    let service = one("Service").await;
    let annotation = |what: &str| -> Value {
        let name = format!("networking.resources.gardener.cloud/{what}");
        serde_json::from_str(service["metadata"]["annotations"][&name].as_str().expect(&name)).unwrap()
    };
    let container = one("Deployment").await["spec"]["template"]["spec"]["containers"][0].clone();
    // The program's own flag, the pod's port and the Service's target are one and the same.
    let port = |name: &str, flag: &str| -> u64 {
        let ports = container["ports"].as_array().unwrap();
        let port = ports.iter().find(|port| port["name"] == name).unwrap()["containerPort"].as_u64().unwrap();
        assert!(container["args"].as_array().unwrap().contains(&json!(format!("--{flag}=[::]:{port}"))), "{name}");
        let targets = service["spec"]["ports"].as_array().unwrap();
        assert!(targets.iter().any(|target| target["targetPort"] == name), "{name}");
        port
    };
    let only = |port: u64| json!([{"protocol": "TCP", "port": port}]);
    assert_eq!(annotation("from-world-to-ports"), only(port("webhook", "listen")), "the API server calls");
    assert_eq!(annotation("from-all-seed-scrape-targets-allowed-ports"), only(port("admin", "admin-listen")));
    let garden = json!([{"matchLabels": {"kubernetes.io/metadata.name": "garden"}}]);
    assert_eq!(annotation("namespace-selectors"), garden, "where the seed's Prometheus runs");
}

/// The only object of a kind in the overlay, as kubectl renders it.
async fn one(kind: &str) -> Value {
    let kubectl = rig::assets::ensure().await.unwrap().kubectl;
    let output = Command::new(kubectl)
        .args(["kustomize", &crate::manifests::folder("overlays/gardener-seed")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut objects = rig::install::parse(&String::from_utf8(output.stdout).unwrap()).unwrap();
    objects.retain(|object| object["kind"] == kind);
    assert_eq!(objects.len(), 1, "{kind}");
    objects.remove(0)
}
