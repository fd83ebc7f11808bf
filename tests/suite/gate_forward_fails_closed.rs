//! Where the program does not answer, or does not know, a class keeps its provider; every other write goes on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::gate_forward::{Switching, WEBHOOK, turned};
use crate::support::cluster::{self, Cluster, SERVICE_ACCOUNT};
use crate::support::{DEADLINE, repository};
use rig::shoot::Provider::Stackit;
use rig::{ApiProxy, install};
use serde_json::json;

#[tokio::test]
async fn while_the_program_is_down_only_the_turn_is_refused() {
    let cluster = Cluster::start().await;
    let shoot = Switching::new(&cluster.server, "down", &[Stackit]).await;
    shoot.let_in().await;
    cluster.product.kill();
    let asked = || async {
        let labels = [("name", WEBHOOK)];
        cluster.server.metric("apiserver_admission_webhook_request_total", &labels).await.unwrap()
    };
    let before = asked().await;

    for patch in
        [json!({"metadata": {"labels": {"a": "b"}}}), json!({"providerSpec": {"spec": {"flavorName": "c1.8"}}})]
    {
        shoot.patch(patch, &[]).await.ok().unwrap();
    }
    for machine in shoot.shoot.machines() {
        shoot.kubectl(&["label", "machine", &machine, "touched=yes"]).await.ok().unwrap();
    }
    shoot.without_id("made").await;
    let same = (asked().await - before).abs();
    assert!(same < 0.5, "a write that is no turn was asked about");

    let output = shoot.patch(turned(), &[]).await;
    assert!(
        !output.success() && output.stderr.contains(&format!("failed calling webhook \"{WEBHOOK}\"")),
        "{output:?}"
    );
    assert!(shoot.replace().await.is_err());
    assert_eq!(shoot.provider().await, "OpenStack");
    assert!(asked().await > before, "the metric counts calls that fail too");

    // Uninstalled, nothing is in the way any more.
    let gone = ["delete", "validatingwebhookconfiguration", "mcm-migration-webhook"];
    cluster.server.kubectl(&gone, None).await.unwrap().ok().unwrap();
    shoot.let_in().await;
}

#[tokio::test]
async fn what_is_not_known_refuses_and_heals() {
    let server = cluster::installed().await;
    let (namespace, name) = SERVICE_ACCOUNT;
    let token = server.service_account_kubeconfig(namespace, name).await.unwrap();
    let proxy = ApiProxy::start(&server).unwrap();
    let tls = cluster::certificates();
    let args = ["--tls-cert-dir", tls.path().to_str().unwrap(), "--cache-max-age", "15s"];
    let product = cluster::replica(&proxy.kubeconfig_for(&token).unwrap(), &args);
    product.ready(DEADLINE).await.unwrap();
    let ca = std::fs::read_to_string(tls.path().join("ca.crt")).unwrap();
    let url = format!("https://127.0.0.1:{}", product.address("admission", DEADLINE).await.unwrap().port());
    install::apply_webhooks(&server, &repository("manifests/overlays/self-managed"), &url, Some(&ca)).await.unwrap();

    let shoot = Switching::new(&server, "stale", &[Stackit]).await;
    shoot.let_in().await;
    proxy.swallow_watch("pods");
    let refused = shoot.refused_with("(cache-stale)").await;
    assert!(refused.contains("what the webhook knows of the pods is incomplete or too old"), "{refused}");
    let (code, message) = shoot.replace().await.unwrap_err();
    assert_eq!(code, 403, "{message}");
    shoot.patch(json!({"metadata": {"labels": {"a": "b"}}}), &[]).await.ok().unwrap();
    proxy.heal();
    shoot.let_in().await;
    shoot.replace().await.unwrap();
}
