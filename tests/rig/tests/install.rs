//! Installing with kubectl, and fixtures that a real API server takes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use rig::shoot::Provider;
use rig::{ApiServer, ApiServerOptions, Shoot, crds, install, objects};
use serde_json::{Value, json};

/// A policy, a namespace and a webhook, as small as they can be.
const FOLDER: &[(&str, &str)] = &[
    ("kustomization.yaml", "resources: [webhook.yaml, policy.yaml, namespace.yaml]\nsortOptions: {order: fifo}\n"),
    (
        "namespace.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: installed}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: inside, namespace: installed}\n",
    ),
    (
        "policy.yaml",
        "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-secrets}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [secrets], operations: [CREATE]}]
  validations: [{expression: 'false', message: 'no secrets here'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-secrets}
spec: {policyName: no-secrets, validationActions: [Deny]}
",
    ),
    (
        "webhook.yaml",
        "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: hook}
webhooks:
  - name: machine.example.test
    admissionReviewVersions: [v1]
    clientConfig: {service: {namespace: installed, name: hook, path: /mutate/machine}}
    rules: [{apiGroups: [machine.sapcloud.io], apiVersions: [v1alpha1], resources: [machines], operations: [UPDATE]}]
    failurePolicy: Ignore
    sideEffects: None
    timeoutSeconds: 1
",
    ),
];

fn write(folder: &Path) {
    for (name, text) in FOLDER {
        std::fs::write(folder.join(name), text).unwrap();
    }
}

#[tokio::test]
async fn a_folder_is_in_force_when_the_call_returns_and_gone_after_its_deletion() {
    let server = ApiServer::start(ApiServerOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let secret = ["create", "secret", "generic", "some", "-n", "default", "--dry-run=server"];
    server.kubectl(&secret, None).await.unwrap().ok().unwrap();

    install::apply_webhooks(&server, folder.path(), "https://127.0.0.1:4711", Some("a CA")).await.unwrap();

    let refused = server.kubectl(&secret, None).await.unwrap();
    assert!(refused.stderr.contains("no secrets here"), "{}", refused.stderr);
    let text = server
        .kubectl(&["get", "mutatingwebhookconfiguration", "hook", "-o", "json"], None)
        .await
        .unwrap()
        .ok()
        .unwrap();
    let hook: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        hook["webhooks"][0]["clientConfig"],
        json!({ "url": "https://127.0.0.1:4711/mutate/machine", "caBundle": "YSBDQQ==" })
    );
    let policies = ["get", "validatingadmissionpolicies", "-o", "name"];
    let left = server.kubectl(&policies, None).await.unwrap().ok().unwrap();
    assert_eq!(left.trim(), "validatingadmissionpolicy.admissionregistration.k8s.io/no-secrets", "the canary is gone");

    install::delete_folder(&server, folder.path()).await.unwrap();

    assert_eq!(server.kubectl(&policies, None).await.unwrap().ok().unwrap().trim(), "");
    assert!(!server.kubectl(&["get", "namespace", "installed"], None).await.unwrap().success());
}

#[tokio::test]
async fn a_webhook_that_nobody_answers_is_seen_in_the_audit_log_and_the_metrics() {
    let server = ApiServer::start(ApiServerOptions::default()).await.unwrap();
    crds::apply(&server).await.unwrap();
    let shoot = Shoot::new("one").legacy_machines(1);
    shoot.create(&server).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    install::apply_webhooks(&server, folder.path(), "https://127.0.0.1:1", None).await.unwrap();
    let client = server.admin_client().await.unwrap();
    let machine = shoot.machine(&shoot.machines()[0], "");

    // The first write already: the configuration is in force when the call returns.
    let patch = json!({ "metadata": { "annotations": { "seen": "no" } } });
    objects::merge(&client, &machine, &patch).await.unwrap();

    let events = server.audit_events().unwrap();
    let failed = rig::audit::failed_open(&events);
    assert_eq!(failed[0]["objectRef"]["resource"], "machines");
    let count = server
        .metric("apiserver_admission_webhook_fail_open_count", &[("name", "machine.example.test")])
        .await
        .unwrap();
    assert!(count >= 1.0, "{count}");
}

#[tokio::test]
async fn a_shoot_has_all_its_objects_with_their_status_and_nothing_pruned() {
    let server = ApiServer::start(ApiServerOptions::default()).await.unwrap();
    crds::apply(&server).await.unwrap();
    let shoot = Shoot::new("one").legacy_machines(2).migrated_machines(1);

    shoot.create(&server).await.unwrap();

    let client = server.admin_client().await.unwrap();
    let mut made = 0;
    for wanted in shoot.objects() {
        let found = objects::get(&client, &wanted).await.unwrap().unwrap_or_else(|| panic!("no {wanted}"));
        let found = serde_json::to_value(found).unwrap();
        // Of our own kinds each field comes back; of the API server's own, it adds defaults.
        if wanted["apiVersion"].as_str().unwrap().contains("sapcloud")
            || wanted["kind"] == "Worker"
            || wanted["kind"] == "Cluster"
        {
            for part in ["spec", "status", "provider", "providerSpec", "nodeTemplate"] {
                let (mut wanted, mut found) = (wanted[part].clone(), found[part].clone());
                // A null that no schema names is dropped.
                for value in [&mut wanted, &mut found] {
                    if let Some(metadata) = value.pointer_mut("/nodeTemplate/metadata").and_then(Value::as_object_mut) {
                        metadata.remove("creationTimestamp");
                    }
                }
                assert_eq!(found, wanted, "{part} of {}", wanted["metadata"]["name"]);
            }
        }
        made += 1;
    }
    assert_eq!(made, 12);
    let machine = &shoot.machines()[2];
    assert!(shoot.stackit_id(machine).starts_with(&format!("stackit://{}/", shoot.project_id())));
    assert_ne!(shoot.project_id(), Shoot::new("two").project_id());
}

#[tokio::test]
async fn a_deleted_pod_stays_terminating_until_it_is_ended() {
    let server = ApiServer::start(ApiServerOptions::default()).await.unwrap();
    crds::apply(&server).await.unwrap();
    let shoot = Shoot::new("one").legacy_machines(0).before_the_switch();
    shoot.create(&server).await.unwrap();
    let client = server.admin_client().await.unwrap();
    let mut pod = rig::shoot::mcm_pod("machine-controller-manager-0", Provider::OpenStack);
    pod["metadata"]["namespace"] = shoot.namespace().into();

    objects::delete(&client, &pod).await.unwrap();

    let terminating = objects::get(&client, &pod).await.unwrap().expect("still there");
    assert!(terminating.metadata.deletion_timestamp.is_some());
    objects::end_pod(&client, &shoot.namespace(), "machine-controller-manager-0").await.unwrap();
    assert!(objects::get(&client, &pod).await.unwrap().is_none());
}
