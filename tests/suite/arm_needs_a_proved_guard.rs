//! `arm` where the guard is missing, or where something else answers in its place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::arming::{Seed, migration};
use rig::{Shared, Shoot, arm_by_hand, install, objects};
use serde_json::{Value, json};

/// One for the tests of this file: the definition of MachineMigrations, and no policy of the guard.
async fn seed() -> Arc<Seed> {
    static SEED: Shared<Seed> = Shared::new();
    SEED.get(async || {
        let seed = Seed::bare().await;
        seed.install_definition().await;
        seed
    })
    .await
}

/// A policy of somebody else that refuses every MachineClass of one namespace.
fn foreign_policy(namespace: &str) -> [Value; 2] {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": format!("foreign-{namespace}")},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "resourceRules": [{
                    "apiGroups": ["machine.sapcloud.io"], "apiVersions": ["*"], "resources": ["machineclasses"],
                    "operations": ["CREATE"],
                }],
            },
            // Its words are those of the guard; its name is not.
            "validations": [{"expression": "false", "message": "mcm-migration guard: no class today"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": format!("foreign-{namespace}")},
        "spec": {"policyName": format!("foreign-{namespace}"), "validationActions": ["Deny"]},
    });
    [policy, binding]
}

/// A webhook of somebody else that is down and refuses every write of a MachineClass in one namespace.
fn foreign_webhook(namespace: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("foreign-{namespace}")},
        "webhooks": [{
            "name": "foreign.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "timeoutSeconds": 1, "clientConfig": {"url": "https://127.0.0.1:9/"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{
                "apiGroups": ["machine.sapcloud.io"], "apiVersions": ["*"], "resources": ["machineclasses"],
                "operations": ["CREATE"],
            }],
        }],
    })
}

#[tokio::test]
async fn without_the_policies_the_guard_is_open_and_nothing_is_armed() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("open")).await;
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (1, "guard-open"), "{run:?}");
    assert!(run.of(&namespace)[0].contains("creating an OpenStack MachineClass"), "{run:?}");
    assert!(run.of(&namespace)[1].contains("Install `manifests/guard`"), "{run:?}");
    assert_eq!(seed.condition(&namespace, "Armed").await, "False GuardOpen");
    assert_eq!(seed.condition(&namespace, "Guarded").await, "False GuardOpen");
    assert_eq!(seed.migration(&namespace).await.unwrap()["status"]["phase"], "Pending");
    let probes = seed.writes(&namespace, true);
    assert!(probes.len() > 10, "right after the label it is tried again: {probes:?}");
}

#[tokio::test]
async fn an_armed_shoot_whose_guard_is_gone_is_disarmed_at_once() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("gone")).await;
    arm_by_hand(&seed.client().await, &namespace).await.unwrap();
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (1, "guard-open"), "{run:?}");
    assert_eq!(seed.condition(&namespace, "Armed").await, "False GuardOpen");
    assert_eq!(seed.writes(&namespace, true).len(), 1, "the label was there before, so the first acceptance counts");
}

#[tokio::test]
async fn the_refusal_of_a_foreign_policy_proves_nothing_and_is_quoted() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("foreign-policy")).await;
    install::apply_objects(&seed.server, &foreign_policy(&namespace)).await.unwrap();
    arm_by_hand(&seed.client().await, &namespace).await.unwrap();
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (1, "guard-unproven"), "{run:?}");
    assert!(run.of(&namespace)[0].contains("no class today"), "{run:?}");
    assert_eq!(seed.condition(&namespace, "Armed").await, "False GuardUnproven");
}

#[tokio::test]
async fn a_foreign_webhook_that_is_down_proves_nothing_and_is_quoted() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("foreign-webhook")).await;
    arm_by_hand(&seed.client().await, &namespace).await.unwrap();
    install::apply_objects(&seed.server, &[foreign_webhook(&namespace)]).await.unwrap();
    // The API server takes a webhook up a moment later.
    let class = rig::shoot::class("probe", rig::shoot::Provider::Stackit).to_string();
    let create = ["-n", namespace.as_str(), "create", "--dry-run=server", "-f", "-"];
    rig::in_force::await_refusal(&seed.server, &create, Some(&class), "foreign.example.com").await.unwrap();
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (1, "guard-unproven"), "{run:?}");
    assert!(run.of(&namespace)[0].contains("foreign.example.com"), "{run:?}");
    assert_eq!(seed.condition(&namespace, "Armed").await, "False GuardUnproven");
}

#[tokio::test]
async fn a_dry_run_tells_that_the_guard_is_open_and_leaves_armed_as_it_is() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("dry-open")).await;
    arm_by_hand(&seed.client().await, &namespace).await.unwrap();
    let run = seed.arm(&["--dry-run", "--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (1, "guard-open"), "{run:?}");
    assert_eq!(seed.condition(&namespace, "Armed").await, "True Armed");
}

#[tokio::test]
async fn without_the_definition_it_says_what_to_install() {
    let seed = Seed::bare().await;
    let namespace = seed.shoot(Shoot::new("undefined")).await;
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (1, "write-failed"), "{run:?}");
    assert!(run.of(&namespace)[0].contains("install manifests/guard first"), "{run:?}");
    assert_eq!(seed.guard_label(&namespace).await, None);
    // A right that is missing is told by the API server's own words.
    seed.install_definition().await;
    objects::create(&seed.client().await, &migration(&namespace)).await.unwrap();
    let stranger = seed.server.user_kubeconfig("stranger", &[]).unwrap();
    let run = crate::arming::arm(&stranger, &["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (1, "read-failed"), "{run:?}");
    assert!(run.of(&namespace)[0].contains("forbidden"), "{run:?}");
}
