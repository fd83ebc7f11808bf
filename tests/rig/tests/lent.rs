//! An API server goes from test to test and shows nothing of the earlier one, unless that one has spoilt it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use rig::{ApiServer, Lent, Shoot, crds, install, objects};
use serde_json::{Value, json};

/// What an API server has refused by a policy or by a webhook.
const REFUSALS: [&str; 2] =
    ["apiserver_validating_admission_policy_check_total", "apiserver_admission_webhook_rejection_count"];

fn settings(value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "default", "name": "settings" },
        "data": { "value": value },
    })
}

async fn set_up(server: &ApiServer) -> anyhow::Result<()> {
    crds::apply(server).await?;
    install::apply_objects(server, &[settings("as it was")]).await
}

async fn take() -> Lent {
    Lent::take("kinds and settings", set_up).await.unwrap()
}

/// What refuses every new Secret by a policy, and every ServiceAccount and `ResourceQuota` by webhooks that nobody answers.
/// (Not a `ConfigMap`: with those the rig finds out what is in force.)
fn refusals() -> Vec<Value> {
    let webhooks = |kind: &str, resource: &str| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": { "name": "nobody" },
            "webhooks": [{
                "name": "nobody.example.test", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 1, "clientConfig": { "url": "https://127.0.0.1:1/" },
                "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": ["CREATE"] }],
            }],
        })
    };
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": "no-secrets" },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"], "operations": ["CREATE"],
            }] },
            "validations": [{ "expression": "false", "message": "no secrets here" }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": "no-secrets" },
        "spec": { "policyName": "no-secrets", "validationActions": ["Deny"] },
    });
    let mutating = webhooks("MutatingWebhookConfiguration", "serviceaccounts");
    vec![policy, binding, mutating, webhooks("ValidatingWebhookConfiguration", "resourcequotas")]
}

const REFUSED: [&str; 3] = ["ResourceQuota", "ServiceAccount", "Secret"];

/// A new object of `kind`, as a dry run.
async fn create(server: &ApiServer, kind: &str) -> kube::Result<()> {
    let object = json!({ "apiVersion": "v1", "kind": kind, "metadata": { "namespace": "default", "name": "new" } });
    let api = objects::api_for(server.admin_client().await.unwrap(), &object).unwrap();
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    api.create(&dry_run, &serde_json::from_value(object).unwrap()).await.map(drop)
}

/// Whether kubectl knows the kind of cert-manager.
async fn knows_certificates(server: &ApiServer) -> bool {
    let output = server.kubectl(&["get", "certificates.cert-manager.io", "-A"], None).await.unwrap();
    assert!(output.success() || output.stderr.contains("doesn't have a resource type"), "{output:?}");
    output.success()
}

async fn refused(server: &ApiServer) -> f64 {
    let mut sum = 0.0;
    for name in REFUSALS {
        sum += server.metric(name, &[]).await.unwrap();
    }
    sum
}

#[tokio::test]
async fn the_next_test_finds_it_as_it_was_set_up() {
    let first = take().await;
    let url = first.url();
    // Nothing of `set_up` either.
    assert_eq!(first.audit_events_about("settings").unwrap(), [] as [Value; 0]);
    let shoot = Shoot::new("lent");
    shoot.create(&first).await.unwrap();
    assert!(!first.audit_events_about(&shoot.namespace()).unwrap().is_empty());
    install::apply_objects(&first, &[settings("changed")]).await.unwrap();
    crds::apply_cert_manager(&first).await.unwrap();
    assert!(knows_certificates(&first).await);
    install::apply_objects(&first, &refusals()).await.unwrap();
    for kind in REFUSED {
        create(&first, kind).await.unwrap_err();
    }
    assert!(refused(&first).await >= 3.0);
    drop(first);

    let second = take().await;

    // What the API server might still act on comes first.
    for kind in REFUSED {
        create(&second, kind).await.unwrap();
    }
    assert!(!knows_certificates(&second).await);
    assert_eq!(second.url(), url);
    assert!(refused(&second).await.abs() < 0.5);
    assert_eq!(second.audit_events_about(&shoot.namespace()).unwrap(), [] as [Value; 0]);
    let client = second.admin_client().await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    assert_eq!(maps.get("settings").await.unwrap().data.unwrap()["value"], "as it was");
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": shoot.namespace() } });
    assert_eq!(objects::get(&client, &namespace).await.unwrap(), None);
    // The kind is there still, its objects are not.
    let output = second.kubectl(&["get", "machines.machine.sapcloud.io", "-A", "-o", "name"], None).await.unwrap();
    assert_eq!(output.ok().unwrap(), "");
    shoot.create(&second).await.unwrap();
}

#[tokio::test]
async fn one_that_was_killed_or_whose_test_failed_goes_to_nobody() {
    let none = async |_: &ApiServer| Ok(());
    let other = async |_: &ApiServer| Ok(());
    let first = Lent::take("plain", none).await.unwrap();
    let url = first.url();
    first.kill_api_server();
    drop(first);
    let second = Lent::take("plain", none).await.unwrap();
    assert_ne!(second.url(), url);

    let url = second.url();
    std::thread::spawn(move || {
        let _failing = second;
        panic!("a test that fails");
    })
    .join()
    .unwrap_err();
    let third = Lent::take("plain", none).await.unwrap();
    assert_ne!(third.url(), url);

    let url = third.url();
    drop(third);
    // The same name for another state.
    assert_ne!(Lent::take("plain", other).await.unwrap().url(), url);
    assert_eq!(Lent::take("plain", none).await.unwrap().url(), url);
}
