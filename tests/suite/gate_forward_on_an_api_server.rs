//! The gate forward on a real API server with the shipped manifests: a class turns to STACKIT only when no server can be lost by it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::gate_forward::{Switching, WEBHOOK, turned};
use crate::support::cluster::Cluster;
use rig::shoot::Provider::{OpenStack, Stackit};
use rig::{Shared, objects};
use serde_json::{Value, json};

/// One API server for all, for as long as one of them runs.
static CLUSTER: Shared<Cluster> = Shared::new();

async fn cluster() -> Arc<Cluster> {
    CLUSTER.get(Cluster::start).await
}

#[tokio::test]
async fn a_class_waits_until_each_machine_is_settled() {
    let server = &cluster().await.server;
    let shoot = Switching::new(server, "settling", &[Stackit]).await;
    shoot.let_in().await;
    for name in ["found", "needless", "going"] {
        shoot.without_id(name).await;
    }
    shoot.kubectl(&["delete", "machine", "going", "--wait=false"]).await.ok().unwrap();

    let refused = shoot.refused_with("found, going, needless").await;
    assert!(
        refused.contains(&format!("admission webhook \"{WEBHOOK}\" denied the request: mcm-migration gate: ")),
        "{refused}"
    );
    assert!(refused.contains("(machines-unsettled)") && refused.contains("Next: the side task"), "{refused}");
    let (code, message) = shoot.replace().await.unwrap_err();
    assert_eq!(code, 403, "{message}");
    assert!(message.contains("found, going, needless"), "{message}");
    assert!(!shoot.patch(turned(), &[]).await.success());
    assert_eq!(shoot.provider().await, "OpenStack");

    // The API server's own audit log says it, without the program.
    let key = |name: &str| format!("{WEBHOOK}/{name}");
    let told = server.audit_events().unwrap().into_iter().any(|event| {
        let of = &event["annotations"];
        event["verb"] == "update" && of[key("decision")] == "refused" && of[key("subject")] == "found, going, needless"
    });
    assert!(told, "the audit log names what was refused, and why");

    let id = json!({"spec": {"providerID": shoot.shoot.legacy_id("found")}}).to_string();
    shoot.kubectl(&["patch", "machine", "found", "--type=merge", "-p", &id]).await.ok().unwrap();
    shoot.refused_with(": going, needless.").await;
    let settled = "mcm-migration.stackit.cloud/settled=no-server";
    shoot.kubectl(&["annotate", "machine", "needless", settled]).await.ok().unwrap();
    shoot.refused_with(": going.").await;
    shoot
        .kubectl(&["patch", "machine", "going", "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#])
        .await
        .ok()
        .unwrap();
    let output = shoot.let_in().await;
    assert_eq!(output.stderr, "", "no warning");
    shoot.replace().await.unwrap();
    assert_eq!(shoot.provider().await, "stackit");
}

#[tokio::test]
async fn a_class_waits_for_the_last_openstack_pod_also_while_that_is_terminating() {
    let server = &cluster().await.server;
    let shoot = Switching::new(server, "last-pod", &[OpenStack, Stackit]).await;
    let pod = "machine-controller-manager-0";
    let words = format!("the pod {pod} still has the container of the OpenStack provider");
    shoot.refused_with(&words).await;
    shoot.kubectl(&["delete", "pod", pod, "--wait=false"]).await.ok().unwrap();
    shoot.refused_with(&words).await;
    let (code, message) = shoot.replace().await.unwrap_err();
    assert_eq!(code, 403, "{message}");
    objects::end_pod(&server.admin_client().await.unwrap(), &shoot.namespace, pod).await.unwrap();
    shoot.let_in().await;
    shoot.replace().await.unwrap();
}

#[tokio::test]
async fn a_pod_that_has_ended_holds_up_no_class() {
    let server = &cluster().await.server;
    let shoot = Switching::new(server, "ended", &[OpenStack]).await;
    shoot.refused_with("(openstack-mcm-alive)").await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": shoot.namespace, "name": "machine-controller-manager-0"}});
    objects::patch_status(&server.admin_client().await.unwrap(), &pod, &json!({"phase": "Failed"})).await.unwrap();
    shoot.let_in().await;
}

#[tokio::test]
async fn a_paused_shoot_is_let_in_with_a_warning_and_the_audit_says_what_would_have_been() {
    let cluster = &*cluster().await;
    let shoot = Switching::new(&cluster.server, "paused", &[Stackit]).await;
    shoot.without_id("lost").await;
    shoot.refused_with("(machines-unsettled)").await;
    let migration = json!({
        "apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
        "metadata": {"name": "openstack-to-stackit", "namespace": shoot.namespace},
        "spec": {"paused": true},
    });
    objects::apply(&cluster.server.admin_client().await.unwrap(), &migration).await.unwrap();
    shoot.let_in().await;
    let output = shoot.patch(turned(), &[]).await;
    assert!(output.success(), "{output:?}");
    for warning in ["let in (paused), would be refused: machines-unsettled (lost)", "gets a second server"] {
        assert!(output.stderr.contains(warning), "{}", output.stderr);
    }
    assert_eq!(shoot.provider().await, "stackit");
    let told = cluster.server.audit_events().unwrap().into_iter().any(|event| {
        let of = |name: &str| event["annotations"][format!("{WEBHOOK}/{name}")].clone();
        (of("decision"), of("reason"), of("subject"), of("dry-run"))
            == (json!("waived"), json!("paused"), json!("machines-unsettled (lost)"), json!("false"))
    });
    assert!(told, "the audit log says what would have been refused");
}

#[tokio::test]
async fn a_pause_that_a_rollback_left_behind_waives_nothing() {
    let cluster = &*cluster().await;
    let shoot = Switching::new(&cluster.server, "left-behind", &[Stackit]).await;
    shoot.without_id("lost").await;
    let migration = json!({
        "apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
        "metadata": {
            "name": "openstack-to-stackit", "namespace": shoot.namespace,
            "annotations": {"mcm-migration.stackit.cloud/paused-by-rollback": "true"},
        },
        "spec": {"paused": true},
    });
    objects::apply(&cluster.server.admin_client().await.unwrap(), &migration).await.unwrap();
    let refusal = shoot.refused_with("(paused-by-rollback)").await;
    for words in ["machines-unsettled (lost)", &format!("rollback --namespace {}` again", shoot.namespace)] {
        assert!(refusal.contains(words), "{refusal}");
    }
    let (code, message) = shoot.replace().await.unwrap_err();
    assert_eq!(code, 403, "{message}");
}

#[tokio::test]
async fn a_write_that_is_no_turn_costs_no_call() {
    let cluster = &*cluster().await;
    let shoot = Switching::new(&cluster.server, "others", &[Stackit]).await;
    shoot.without_id("unsettled").await;
    shoot.refused_with("unsettled").await;
    // Other tests ask too; but for this namespace each call leaves its annotations in the audit log.
    let asked = || async {
        let of = |event: &Value| {
            event["objectRef"]["namespace"] == shoot.namespace.as_str()
                && event["annotations"].get(format!("{WEBHOOK}/reason")).is_some()
        };
        cluster.server.audit_events().unwrap().iter().filter(|event| of(event)).count()
    };
    let before = asked().await;
    assert!(before > 0);
    for patch in [
        json!({"metadata": {"annotations": {"a": "b"}}}),
        json!({"providerSpec": {"spec": {"flavorName": "c1.8"}}}),
        json!({"provider": "aws"}),
        json!({"provider": "stackit"}),
        json!({"providerSpec": {"region": "eu02"}}),
        json!({"provider": null}),
        json!({"provider": "OpenStack"}),
    ] {
        let output = shoot.patch(patch.clone(), &[]).await;
        assert!(output.success(), "{patch}: {}", output.stderr);
    }
    let client = cluster.server.admin_client().await.unwrap();
    for (name, provider) in [("made", Stackit), ("left", OpenStack)] {
        let mut class = rig::shoot::class(name, provider);
        class["metadata"]["namespace"] = json!(shoot.namespace);
        objects::create(&client, &class).await.unwrap();
        objects::delete(&client, &class).await.unwrap();
    }
    assert_eq!(asked().await, before, "a write that is no turn was asked about");
    let errors =
        cluster.server.metric("apiserver_admission_match_condition_evaluation_errors_total", &[]).await.unwrap();
    assert!(errors < 0.5, "a condition could not be evaluated");
    shoot.refused_with("unsettled").await;
    assert!(asked().await > before);
}

#[tokio::test]
async fn a_namespace_without_machines_or_of_another_provider_is_not_held_up() {
    let server = &cluster().await.server;
    // Not even the class's own Machines, when they are another class's.
    let shoot = Switching::new(server, "other-class", &[Stackit]).await;
    let mut machine = shoot.shoot.machine("elsewhere", "");
    machine["spec"]["class"]["name"] = json!("another-class");
    objects::create(&server.admin_client().await.unwrap(), &machine).await.unwrap();
    shoot.let_in().await;

    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "foreign"}});
    let client = server.admin_client().await.unwrap();
    objects::create(&client, &namespace).await.unwrap();
    let mut class = rig::shoot::class("pool", OpenStack);
    class["metadata"]["namespace"] = json!("foreign");
    class["provider"] = json!("aws");
    objects::create(&client, &class).await.unwrap();
    for provider in ["gcp", "OpenStack", "stackit"] {
        objects::merge(&client, &class, &json!({"provider": provider})).await.unwrap();
    }
}
