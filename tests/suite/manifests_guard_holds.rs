//! The guard while everything around it is missing, restarting or being taken away.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::manifests::{Cluster, GUARD, OPENSTACK_ID, STACKIT_ID, class, folder, machine};
use rig::{ApiServer, ApiServerOptions, until};
use serde_json::json;

const POLICIES: [&str; 4] = ["no-way-back", "keep-ids", "keep-guard", "no-mixed"];

/// The three that have no parameters, and so need nothing but themselves.
const FIRST_THREE: [&str; 3] = ["no-way-back", "keep-ids", "keep-guard"];

/// What the folders install for the whole cluster.
const LEFT: &str =
    "mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles,clusterrolebindings,namespaces";

#[tokio::test]
async fn it_refuses_from_the_first_request_after_the_api_server_restarts() {
    let cluster = Cluster::guarded().await;
    cluster.0.restart().await.unwrap();
    for policy in FIRST_THREE {
        cluster.probe(policy).await.refused_by(policy);
    }
    // This one reads the classes first, and lets Machines in until it has them.
    cluster.all_refuse(Duration::from_secs(60)).await;
    // Nothing that should pass is held up meanwhile.
    cluster.namespace("after", None).await;
    cluster.create(&class("after", "pool", "OpenStack")).await.passed();
    cluster.create(&machine("after", "m", Some(OPENSTACK_ID))).await.passed();
}

#[tokio::test]
async fn it_holds_without_the_definition_of_the_migration() {
    let cluster = Cluster::guarded().await;
    cluster.ok(&["delete", "crd", "machinemigrations.mcm-migration.stackit.cloud"]).await;
    for policy in POLICIES {
        cluster.probe(policy).await.refused_by(policy);
    }
    cluster.0.restart().await.unwrap();
    for policy in FIRST_THREE {
        cluster.probe(policy).await.refused_by(policy);
    }
    cluster.all_refuse(Duration::from_secs(60)).await;
    cluster.patch("in-force", "machine/migrated", &json!({"metadata": {"annotations": {"a": "b"}}})).await.passed();
    cluster.patch("in-force", "machineclass/pool", &json!({"providerSpec": {"region": "eu02"}})).await.passed();
    cluster.label("in-force", "a=b", &[]).await.passed();
}

#[tokio::test]
async fn it_stands_in_nobodys_way_where_there_are_no_machine_classes() {
    let cluster = Cluster(ApiServer::start(ApiServerOptions::default()).await.unwrap().into());
    let machines = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rig/crds/machines.yaml");
    cluster.ok(&["apply", "-f", machines]).await;
    cluster.ok(&["apply", "-k", &folder("guard")]).await;
    cluster.ok(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]).await;
    cluster.namespace("in-force", Some("closed")).await;
    cluster.create(&machine("in-force", "migrated", Some(STACKIT_ID))).await.passed();
    for policy in ["keep-ids", "keep-guard"] {
        let refused = || async { Ok((!cluster.probe(policy).await.success).then_some(())) };
        until(policy, Duration::from_secs(60), refused).await.unwrap();
    }
    // By now the fourth is known too, and cannot read its parameters.
    cluster.namespace("free", None).await;
    cluster.create(&machine("free", "m", Some(STACKIT_ID))).await.passed();
    cluster.patch("free", "machine/m", &json!({"spec": {"providerID": OPENSTACK_ID}})).await.passed();
}

#[tokio::test]
async fn both_of_two_api_servers_refuse() {
    let first = Cluster::guarded().await;
    let second = Cluster(first.0.second_on_same_etcd().await.unwrap().into());
    for policy in FIRST_THREE {
        second.probe(policy).await.refused_by(policy);
    }
    second.all_refuse(Duration::from_secs(60)).await;
    // A label that one of them has just taken is known to the other within a moment.
    first.namespace("fresh", None).await;
    first.label("fresh", &format!("{GUARD}=closed"), &[]).await.passed();
    let refused = || async {
        let answer = second.dry_create(&class("fresh", "pool", "OpenStack")).await;
        Ok((!answer.success).then_some(answer))
    };
    let answer = until("the other one knows the label", Duration::from_secs(120), refused).await.unwrap();
    answer.refused_by("no-way-back");
    for policy in POLICIES {
        first.probe(policy).await.refused_by(policy);
    }
}

#[tokio::test]
async fn deleting_any_other_folder_leaves_it_in_force() {
    let cluster = Cluster::guarded().await;
    // cert-manager's kinds, as far as they have to be known to be applied.
    cluster.kubectl(&["apply", "-f", "-"], Some(crate::manifests::CERT_MANAGER_CRDS)).await.passed();
    cluster.ok(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]).await;
    let policies = ["get", "validatingadmissionpolicies,validatingadmissionpolicybindings,crd", "-o=name"];
    let before = cluster.ok(&policies).await;
    for name in crate::manifests::kustomizations().iter().filter(|name| *name != "guard") {
        cluster.ok(&["apply", "-k", &folder(name)]).await;
        let installed = cluster.ok(&["get", LEFT, "-o=name"]).await;
        assert!(installed.contains("mcm-migration"), "{name} installs nothing that could be left behind: {installed}");
        cluster.ok(&["delete", "-k", &folder(name), "--ignore-not-found", "--wait=false"]).await;
        cluster.finalize_all().await;
        let left = cluster.ok(&["get", LEFT, "-o=name"]).await;
        assert!(!left.contains("mcm-migration"), "{name} leaves behind: {left}");
        assert_eq!(cluster.ok(&policies).await, before, "{name} takes something of the guard away");
        for policy in POLICIES {
            cluster.probe(policy).await.refused_by(policy);
        }
    }
}
