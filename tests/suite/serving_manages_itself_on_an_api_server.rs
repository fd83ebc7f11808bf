//! Self-managed certificates on a real API server, with the rights of the shipped service account: replicas share one Secret, the `caBundle` is
//! kept right, and an API server that trusts nothing else loses no call through changes of certificate and CA.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what was measured shows with --nocapture")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::serving_support::{Metrics, eventually};
use crate::support::cluster::{SERVICE_ACCOUNT, installed};
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use mcm_migration_webhook::serving::certificates::rotation::Lifetimes;
use mcm_migration_webhook::serving::certificates::{KubeShelf, SelfManaged, SelfManagedConfig, Shelf, ShelfError};
use mcm_migration_webhook::serving::{Admin, ListenConfig, Listeners, Readiness, Shutdown, serve};
use rig::ApiServer;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const NAMESPACE: &str = "mcm-migration-system";
const SECRET: &str = "mcm-migration-webhook-tls";
const CONFIGURATION: &str = "mcm-migration-webhook";
/// A webhook of somebody else in the same configuration.
const FOREIGN: &str = "machine.example.org";

/// As short as they can be on a busy machine: certificates change every 9 s, CAs every 20 s.
const SHORT: Lifetimes = Lifetimes {
    authority: Duration::from_secs(30),
    leaf: Duration::from_secs(15),
    settling: Duration::from_secs(3),
    backdated: Duration::from_secs(2),
};

async fn shelf(server: &ApiServer) -> KubeShelf {
    let kubeconfig = server.service_account_kubeconfig(SERVICE_ACCOUNT.0, SERVICE_ACCOUNT.1).await.unwrap();
    let client = rig::api_server::client(&kubeconfig).await.unwrap();
    KubeShelf::new(client, NAMESPACE, SECRET, &[CONFIGURATION.to_owned()], &[])
}

/// A replica that allows everything and ends each connection, so that each call is a handshake. Ends with the tasks.
async fn replica(server: &ApiServer, lifetimes: Lifetimes, tasks: &mut JoinSet<()>) -> SocketAddr {
    let config = SelfManagedConfig {
        service: "mcm-migration-webhook".to_owned(),
        namespace: NAMESPACE.to_owned(),
        extra_names: vec!["127.0.0.1".to_owned()],
        lifetimes,
        interval: Duration::from_millis(300),
    };
    let Metrics { registry, serving } = Metrics::new();
    let (managed, store) = SelfManaged::start(shelf(server).await, &config, serving.clone()).await.unwrap();
    let loopback: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let limits = ListenConfig {
        listen: loopback,
        admin_listen: loopback,
        max_connections: 256,
        shutdown_delay: Duration::ZERO,
        drain_timeout: Duration::ZERO,
    };
    let listeners = Listeners::bind(&limits).await.unwrap();
    let address = listeners.admission_address();
    let routes = Router::new().route("/allow", post(allow));
    let admin = Admin { readiness: Readiness::default(), registry, refresh: Box::new(|| {}) };
    tasks.spawn(async move { match managed.run().await {} });
    tasks.spawn(async move { serve(listeners, routes, store, admin, serving, Shutdown::new()).await.unwrap() });
    address
}

async fn allow(Json(review): Json<Value>) -> ([(&'static str, &'static str); 1], Json<Value>) {
    let response = json!({"uid": review["request"]["uid"], "allowed": true});
    let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    ([("connection", "close")], Json(answer))
}

/// A configuration that refuses every new `ConfigMap` of the label unless both replicas can be called.
fn configuration(replicas: &[SocketAddr]) -> MutatingWebhookConfiguration {
    let webhook = |name: String, url: String, ours: bool| {
        json!({
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": url},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
            "objectSelector": {"matchLabels": {"called": if ours { "yes" } else { "never" }}},
            "failurePolicy": "Fail",
            "timeoutSeconds": 5,
            "sideEffects": "None",
        })
    };
    let ours = replicas.iter().enumerate().map(|(number, address)| {
        webhook(format!("replica-{number}.mcm-migration.stackit.cloud"), format!("https://{address}/allow"), true)
    });
    let foreign = webhook(FOREIGN.to_owned(), "https://127.0.0.1:1/".to_owned(), false);
    let webhooks: Vec<_> = ours.chain([foreign]).collect();
    serde_json::from_value(json!({"metadata": {"name": CONFIGURATION}, "webhooks": webhooks})).unwrap()
}

/// Every webhook's bundle by its name; empty where there is none.
async fn bundles(configurations: &Api<MutatingWebhookConfiguration>) -> BTreeMap<String, String> {
    let webhooks = configurations.get(CONFIGURATION).await.unwrap().webhooks.unwrap();
    let bundle = |bundle: Option<k8s_openapi::ByteString>| String::from_utf8(bundle.unwrap_or_default().0).unwrap();
    webhooks.into_iter().map(|webhook| (webhook.name, bundle(webhook.client_config.ca_bundle))).collect()
}

async fn secret(client: &Client) -> BTreeMap<String, String> {
    let secret = Api::<Secret>::namespaced(client.clone(), NAMESPACE).get(SECRET).await.unwrap();
    secret.data.unwrap().into_iter().map(|(key, value)| (key, String::from_utf8(value.0).unwrap())).collect()
}

/// Whether each webhook of ours has the Secret's bundle, and that of somebody else none.
async fn published(client: &Client) -> bool {
    let (bundle, configurations) = (secret(client).await["ca.crt"].clone(), Api::all(client.clone()));
    bundles(&configurations)
        .await
        .iter()
        .all(|(name, held)| if name == FOREIGN { held.is_empty() } else { *held == bundle })
}

async fn write(config_maps: &Api<ConfigMap>, name: &str) -> kube::Result<()> {
    let mut config_map = ConfigMap::default();
    config_map.metadata.name = Some(name.to_owned());
    config_map.metadata.labels = Some(BTreeMap::from([("called".to_owned(), "yes".to_owned())]));
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    config_maps.create(&dry_run, &config_map).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_that_trusts_only_the_published_bundle_loses_no_call_through_two_changes_of_authority() {
    let server = installed().await;
    let client = server.admin_client().await.unwrap();
    let mut tasks = JoinSet::new();
    // There is no configuration yet; that is no reason not to start.
    let (mut one, mut two) = (JoinSet::new(), JoinSet::new());
    let replicas = tokio::join!(replica(&server, SHORT, &mut one), replica(&server, SHORT, &mut two));
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    configurations.create(&PostParams::default(), &configuration(&[replicas.0, replicas.1])).await.unwrap();
    eventually("the bundle is published", async || published(&client).await).await;
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    eventually("the API server has taken it up", async || write(&config_maps, "first").await.is_ok()).await;

    let (written, stop) = (Arc::new(AtomicU32::new(0)), CancellationToken::new());
    for writer in 0..2 {
        let (config_maps, written, stop) = (config_maps.clone(), Arc::clone(&written), stop.clone());
        tasks.spawn(async move {
            while !stop.is_cancelled() {
                let number = written.fetch_add(1, Ordering::Relaxed);
                write(&config_maps, &format!("written-{writer}-{number}")).await.expect("a write failed");
            }
        });
    }
    let (mut authorities, mut leaves) = (BTreeSet::new(), BTreeSet::new());
    let changes = async {
        while authorities.len() < 3 {
            let secret = secret(&client).await;
            authorities.insert(secret["ca.key"].clone());
            leaves.insert(secret["tls.crt"].clone());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        // And a certificate after the last change.
        let last = secret(&client).await["tls.crt"].clone();
        eventually("one more certificate", async || secret(&client).await["tls.crt"] != last).await;
    };
    tokio::select! {
        ended = timeout(Duration::from_secs(180), changes) => ended.expect("the CA does not change"),
        Some(ended) = tasks.join_next() => ended.unwrap(),
    }
    stop.cancel();
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let written = written.load(Ordering::Relaxed);
    println!("{written} writes, each with two calls; {} CAs, {} certificates", authorities.len(), leaves.len());
    assert!(written > 50, "{written} writes only");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_that_somebody_changes_and_a_secret_that_somebody_deletes_come_back() {
    let server = installed().await;
    let client = server.admin_client().await.unwrap();
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let mut tasks = JoinSet::new();
    let loopback: SocketAddr = "127.0.0.1:1".parse().unwrap();
    configurations.create(&PostParams::default(), &configuration(&[loopback])).await.unwrap();
    let address = replica(&server, Lifetimes::default(), &mut tasks).await;
    assert!(published(&client).await, "it is published before a replica is ready");
    let before = secret(&client).await;

    // Applied again without a bundle by somebody who owns all fields.
    let mut emptied = configuration(&[address]);
    emptied.metadata.resource_version = configurations.get(CONFIGURATION).await.unwrap().metadata.resource_version;
    configurations.replace(CONFIGURATION, &PostParams::default(), &emptied).await.unwrap();
    eventually("the bundle is back", async || published(&client).await).await;
    // Somebody else's CA.
    let name = "replica-0.mcm-migration.stackit.cloud";
    let other = BASE64_STANDARD.encode(crate::serving_support::new_ca().certificate);
    let patch = json!({"webhooks": [{"name": name, "clientConfig": {"caBundle": other}}]});
    configurations.patch(CONFIGURATION, &PatchParams::default(), &Patch::Strategic(&patch)).await.unwrap();
    eventually("the bundle is back", async || published(&client).await).await;
    // Everything else in the configuration is as it was.
    let after = configurations.get(CONFIGURATION).await.unwrap();
    let mut webhooks = after.webhooks.unwrap();
    for webhook in &mut webhooks {
        webhook.client_config.ca_bundle = None;
    }
    let named = |webhooks: Vec<MutatingWebhook>| -> Vec<_> {
        webhooks.into_iter().map(|webhook| (webhook.name, webhook.client_config, webhook.object_selector)).collect()
    };
    assert_eq!(named(webhooks), named(configuration(&[address]).webhooks.unwrap()));

    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    secrets.delete(SECRET, &DeleteParams::default()).await.unwrap();
    eventually("the Secret is back", async || secrets.get_opt(SECRET).await.unwrap().is_some()).await;
    assert_eq!(secret(&client).await, before);
}

#[tokio::test]
async fn whoever_read_an_older_configuration_or_secret_is_refused() {
    let server = installed().await;
    let client = server.admin_client().await.unwrap();
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let loopback: SocketAddr = "127.0.0.1:1".parse().unwrap();
    configurations.create(&PostParams::default(), &configuration(&[loopback])).await.unwrap();
    let mut tasks = JoinSet::new();
    replica(&server, Lifetimes::default(), &mut tasks).await;
    tasks.shutdown().await;
    let bundle = secret(&client).await["ca.crt"].clone();

    let shelf = shelf(&server).await;
    let (read, stored) = (shelf.configurations().await.unwrap(), shelf.read().await.unwrap());
    let touch = json!({"metadata": {"annotations": {"touched": "yes"}}});
    configurations.patch(CONFIGURATION, &PatchParams::default(), &Patch::Merge(&touch)).await.unwrap();
    let error = shelf.publish(&read[0], "an older bundle").await.unwrap_err();
    assert!(matches!(error, ShelfError::Conflict(_)), "{error}");
    assert!(published(&client).await && bundle.contains("BEGIN CERTIFICATE"));

    let secrets: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
    secrets.patch(SECRET, &PatchParams::default(), &Patch::Merge(&touch)).await.unwrap();
    let error = shelf.write(&stored.state.unwrap(), stored.version).await.unwrap_err();
    assert!(matches!(error, ShelfError::Conflict(_)), "{error}");
    let again = shelf.read().await.unwrap();
    shelf.write(&again.state.unwrap(), again.version).await.unwrap();
    let kept = secrets.get(SECRET).await.unwrap();
    assert_eq!(kept.metadata.annotations.unwrap()["touched"], "yes", "what others wrote to it stays");
}
