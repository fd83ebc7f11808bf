//! Two replicas of the binary, self-managed, with the rights of the shipped service account: whoever installs the manifests has to do nothing
//! about certificates, and a write that the API server sends through either replica is migrated.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::gate_forward::Switching;
use crate::support::cluster::{SERVICE_ACCOUNT, installed, knows, replica};
use crate::support::{DEADLINE, repository};
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use rig::forwarder::Forwarder;
use rig::install;
use rig::shoot::{Provider, Shoot};

const OVERLAY: &str = "manifests/overlays/self-managed";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_without_a_certificate_migrates_and_applying_it_again_changes_nothing() {
    let server = installed().await;
    let client = server.admin_client().await.unwrap();
    let kubeconfig = server.service_account_kubeconfig(SERVICE_ACCOUNT.0, SERVICE_ACCOUNT.1).await.unwrap();
    let flags = ["--tls-self-managed", "--tls-extra-san", "127.0.0.1,localhost"];
    let replicas = [replica(&kubeconfig, &flags), replica(&kubeconfig, &flags)];
    let forwarder = Forwarder::start().unwrap();
    for replica in &replicas {
        let admission = replica.address("admission", DEADLINE).await.unwrap();
        forwarder.add(admission, replica.address("admin", DEADLINE).await.unwrap()).unwrap();
    }
    forwarder.await_ready(2, DEADLINE).await.unwrap();

    // The manifests as they are shipped, without a bundle.
    install::apply_webhooks(&server, &repository(OVERLAY), &forwarder.url(), None).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), SERVICE_ACCOUNT.0);
    let secret = secrets.get("mcm-migration-webhook-tls").await.unwrap();
    let ca = secret.data.unwrap()["ca.crt"].0.clone();
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let gates: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let published = || async {
        let webhooks = configurations.get("mcm-migration-webhook").await?.webhooks.unwrap_or_default();
        let gate = gates.get("mcm-migration-webhook").await?.webhooks.unwrap_or_default();
        let held = webhooks.into_iter().map(|webhook| webhook.client_config);
        let held = held.chain(gate.into_iter().map(|webhook| webhook.client_config));
        let held: Vec<_> = held.map(|config| config.ca_bundle.unwrap_or_default().0).collect();
        Ok((held == [ca.clone(), ca.clone(), ca.clone()]).then_some(()))
    };
    rig::until("the bundle is in all three webhooks", DEADLINE, published).await.unwrap();

    let shoot = Shoot::new("prod").legacy_machines(1);
    shoot.create(&server).await.unwrap();
    rig::arm_by_hand(&client, &shoot.namespace()).await.unwrap();
    for replica in &replicas {
        knows(replica, &ca, &shoot, "rewritten").await;
    }
    let (namespace, [name]) = (shoot.namespace(), shoot.machines().try_into().unwrap());
    let touched = || async {
        let patch = r#"{"metadata":{"labels":{"touched":"yes"}}}"#;
        let what = ["patch", "machine", &name, "--type=merge", "-p", patch, "--dry-run=server", "-o", "json"];
        let output = server.kubectl(&[&["-n", &namespace], &what[..]].concat(), None).await?.ok()?;
        anyhow::ensure!(output.contains("stackit.cloud/migrated-machine"), "{output}");
        Ok(Some(()))
    };
    rig::until("the Machine is migrated", DEADLINE, touched).await.unwrap();

    // The gate forward is answered too, and refuses what nobody could ask it while it had no bundle.
    let switching = Switching::new(&server, "next", &[Provider::Stackit]).await;
    switching.without_id("lost").await;
    switching.refused_with("mcm-migration gate: ").await;

    install::apply_webhooks(&server, &repository(OVERLAY), &forwarder.url(), None).await.unwrap();
    assert_eq!(published().await.unwrap(), Some(()), "applying the manifests again took the bundle away");
    touched().await.unwrap();
    for replica in &replicas {
        let logs = replica.logs().iter().map(ToString::to_string).collect::<String>();
        assert!(!logs.contains("PRIVATE KEY"), "a key is in the log");
    }
}
