//! The guard on a real API server: what each policy refuses, and what it lets pass.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::manifests::{Cluster, GUARD, OPENSTACK_ID, STACKIT_ID, class, machine, migration};
use rig::Shared;
use serde_json::json;

/// One for all tests of this file; each has namespaces of its own.
async fn cluster() -> Arc<Cluster> {
    static CLUSTER: Shared<Cluster> = Shared::new();
    CLUSTER.get(Cluster::guarded).await
}

#[tokio::test]
async fn an_openstack_class_cannot_be_made_in_a_guarded_namespace() {
    let cluster = &*cluster().await;
    // Every value guards: while rolling back the IDs are still new ones.
    for (namespace, guard) in [("made-closed", "closed"), ("made-rolling", "rolling-back"), ("made-other", "other")] {
        cluster.namespace(namespace, Some(guard)).await;
        let answer = cluster.create(&class(namespace, "pool", "OpenStack")).await.refused_by("no-way-back");
        answer.naming(&format!("MachineClass {namespace}/pool"));
    }
    for spelling in ["openstack", "OPENSTACK"] {
        cluster.create(&class("made-closed", "pool", spelling)).await.refused_by("no-way-back");
    }
    cluster.dry_create(&class("made-closed", "pool", "OpenStack")).await.refused_by("no-way-back");
    let mut generated = class("made-closed", "pool", "OpenStack");
    generated["metadata"] = json!({"namespace": "made-closed", "generateName": "pool-"});
    cluster.create(&generated).await.refused_by("no-way-back");
}

#[tokio::test]
async fn a_class_cannot_be_turned_to_openstack_in_a_guarded_namespace() {
    let cluster = &*cluster().await;
    cluster.namespace("turned", Some("closed")).await;
    cluster.create(&class("turned", "pool", "stackit")).await.passed();
    let patch = json!({"provider": "OpenStack"});
    cluster.patch("turned", "machineclass/pool", &patch).await.refused_by("no-way-back");
    cluster.apply(&class("turned", "pool", "OpenStack")).await.refused_by("no-way-back");
    cluster.replace(&class("turned", "pool", "OpenStack")).await.refused_by("no-way-back");
    let server_side = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    let turned = class("turned", "pool", "OpenStack").to_string();
    cluster.kubectl(&server_side, Some(&turned)).await.refused_by("no-way-back");
}

#[tokio::test]
async fn other_classes_pass_in_a_guarded_namespace() {
    let cluster = &*cluster().await;
    cluster.namespace("other-classes", Some("closed")).await;
    cluster.create(&class("other-classes", "pool", "stackit")).await.passed();
    cluster.create(&class("other-classes", "foreign", "aws")).await.passed();
    let mut without = class("other-classes", "without", "");
    without.as_object_mut().unwrap().remove("provider");
    cluster.create(&without).await.passed();
    cluster.patch("other-classes", "machineclass/without", &json!({"provider": "stackit"})).await.passed();
    cluster.patch("other-classes", "machineclass/pool", &json!({"providerSpec": {"region": "eu02"}})).await.passed();
    cluster.ok(&["-n", "other-classes", "delete", "machineclass", "--all"]).await;
}

#[tokio::test]
async fn a_class_that_was_left_openstack_can_be_written_retired_and_deleted() {
    let cluster = &*cluster().await;
    cluster.namespace("left-behind", None).await;
    cluster.create(&class("left-behind", "retired", "OpenStack")).await.passed();
    cluster.create(&class("left-behind", "deleted", "OpenStack")).await.passed();
    cluster.label("left-behind", &format!("{GUARD}=closed"), &[]).await.passed();
    let finalizers = json!({"metadata": {"finalizers": ["machine.sapcloud.io/machine-controller"]}});
    cluster.patch("left-behind", "machineclass/retired", &finalizers).await.passed();
    cluster.patch("left-behind", "machineclass/retired", &json!({"metadata": {"finalizers": null}})).await.passed();
    cluster.ok(&["-n", "left-behind", "delete", "machineclass", "deleted"]).await;
    cluster.patch("left-behind", "machineclass/retired", &json!({"provider": "stackit"})).await.passed();
    // Retired is retired.
    let back = json!({"provider": "OpenStack"});
    cluster.patch("left-behind", "machineclass/retired", &back).await.refused_by("no-way-back");
}

#[tokio::test]
async fn classes_pass_in_an_unguarded_namespace() {
    let cluster = &*cluster().await;
    cluster.namespace("unguarded-class", None).await;
    cluster.create(&class("unguarded-class", "pool", "OpenStack")).await.passed();
    cluster.patch("unguarded-class", "machineclass/pool", &json!({"provider": "stackit"})).await.passed();
    cluster.patch("unguarded-class", "machineclass/pool", &json!({"provider": "OpenStack"})).await.passed();
}

#[tokio::test]
async fn a_stackit_id_stays_while_the_guard_is_closed() {
    let cluster = &*cluster().await;
    cluster.namespace("kept-id", Some("closed")).await;
    cluster.create(&machine("kept-id", "m", Some(STACKIT_ID))).await.passed();
    let others = [
        json!({"spec": {"providerID": OPENSTACK_ID}}),
        json!({"spec": {"providerID": format!("{STACKIT_ID}0")}}),
        json!({"spec": {"providerID": ""}}),
        json!({"spec": {"providerID": null}}),
        json!({"spec": null}),
    ];
    for patch in others {
        let answer = cluster.patch("kept-id", "machine/m", &patch).await.refused_by("keep-ids");
        answer.naming("Machine kept-id/m");
    }
    cluster.replace(&machine("kept-id", "m", Some(OPENSTACK_ID))).await.refused_by("keep-ids");
    cluster.replace(&machine("kept-id", "m", None)).await.refused_by("keep-ids");
    let kept = cluster.json(&["-n", "kept-id", "get", "machine", "m"]).await;
    assert_eq!(kept["spec"]["providerID"], STACKIT_ID);
}

#[tokio::test]
async fn everything_else_about_a_migrated_machine_may_change() {
    let cluster = &*cluster().await;
    cluster.namespace("live-machine", Some("closed")).await;
    cluster.create(&machine("live-machine", "m", Some(STACKIT_ID))).await.passed();
    let free = [
        json!({"metadata": {"annotations": {"a": "b"}, "finalizers": ["machine.sapcloud.io/machine-controller"]}}),
        json!({"spec": {"class": {"name": "next"}}}),
        json!({"spec": {"providerID": STACKIT_ID}}),
    ];
    for patch in free {
        cluster.patch("live-machine", "machine/m", &patch).await.passed();
    }
    let status = ["patch", "machine", "m", "--subresource=status", "--type=merge", "-p"];
    let running = json!({"status": {"currentStatus": {"phase": "Running"}}}).to_string();
    cluster.ok(&[&["-n", "live-machine"], &status[..], &[&running]].concat()).await;
    cluster.ok(&["-n", "live-machine", "delete", "machine", "m", "--wait=false"]).await;
    cluster.patch("live-machine", "machine/m", &json!({"metadata": {"finalizers": null}})).await.passed();
}

#[tokio::test]
async fn ids_that_are_no_stackit_ones_may_change_while_the_guard_is_closed() {
    let cluster = &*cluster().await;
    cluster.namespace("legacy-id", Some("closed")).await;
    cluster.create(&machine("legacy-id", "legacy", Some(OPENSTACK_ID))).await.passed();
    cluster.create(&machine("legacy-id", "new", None)).await.passed();
    for name in ["legacy", "new"] {
        let patch = json!({"spec": {"providerID": STACKIT_ID}});
        cluster.patch("legacy-id", &format!("machine/{name}"), &patch).await.passed();
    }
}

#[tokio::test]
async fn ids_may_be_written_back_while_rolling_back_and_in_unguarded_namespaces() {
    let cluster = &*cluster().await;
    for (namespace, guard) in [("id-rolling", Some("rolling-back")), ("id-unguarded", None)] {
        cluster.namespace(namespace, guard).await;
        cluster.create(&machine(namespace, "m", Some(STACKIT_ID))).await.passed();
        let patch = json!({"spec": {"providerID": OPENSTACK_ID}});
        cluster.patch(namespace, "machine/m", &patch).await.passed();
    }
}

#[tokio::test]
async fn the_label_changes_only_along_a_migration_and_a_rollback() {
    let cluster = &*cluster().await;
    let values = [None, Some("closed"), Some("rolling-back"), Some(""), Some("other")];
    let free = [(None, Some("closed")), (Some("closed"), Some("rolling-back")), (Some("rolling-back"), Some("closed"))];
    for (number, before) in values.into_iter().enumerate() {
        let namespace = format!("label-{number}");
        cluster.namespace(&namespace, before).await;
        for after in values {
            let label = after.map_or(format!("{GUARD}-"), |value| format!("{GUARD}={value}"));
            let answer = cluster.label(&namespace, &label, &["--dry-run=server"]).await;
            if before == after || free.contains(&(before, after)) {
                answer.passed();
            } else {
                answer.refused_by("keep-guard").naming(&format!("namespace {namespace}"));
            }
        }
    }
}

#[tokio::test]
async fn the_label_comes_off_only_in_a_write_that_means_it() {
    const OFF: &str = "mcm-migration.stackit.cloud/guard-off";
    let cluster = &*cluster().await;
    let off = |version: &str| json!({"metadata": {"labels": {GUARD: null}, "annotations": {OFF: version}}});
    let version = async |namespace: &str| {
        let namespace = cluster.json(&["get", "namespace", namespace]).await;
        namespace["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    };
    cluster.namespace("meant", Some("rolling-back")).await;
    let patch = async |patch: &serde_json::Value| {
        cluster.kubectl(&["patch", "namespace", "meant", "--type=merge", "-p", &patch.to_string()], None).await
    };
    let stale = version("meant").await;
    cluster.ok(&["annotate", "namespace", "meant", "a=b"]).await;
    let now = version("meant").await;
    let mut restore = off(&now);
    restore["metadata"]["annotations"] = json!({});
    for not_meant in [restore, off(&stale), off(""), off("true"), off(&format!("{now}0"))] {
        patch(&not_meant).await.refused_by("keep-guard").naming("namespace meant");
    }
    // Said beforehand, it is stale by its own write.
    cluster.ok(&["annotate", "namespace", "meant", &format!("{OFF}={now}")]).await;
    cluster.label("meant", &format!("{GUARD}-"), &[]).await.refused_by("keep-guard");
    // A closed guard is not taken off by any word.
    cluster.namespace("closed-off", Some("closed")).await;
    let meant = off(&version("closed-off").await).to_string();
    let of_closed = ["patch", "namespace", "closed-off", "--type=merge", "-p", &meant];
    cluster.kubectl(&of_closed, None).await.refused_by("keep-guard");

    // As docs/rollback.md has it: whoever means it, can, also when the program is gone.
    let meant = off(&version("meant").await);
    patch(&meant).await.passed();
    let namespace = cluster.json(&["get", "namespace", "meant"]).await;
    assert!(namespace["metadata"]["labels"][GUARD].is_null(), "{namespace}");
}

#[tokio::test]
async fn the_label_cannot_be_taken_away_by_way_of_status_or_finalizers() {
    let cluster = &*cluster().await;
    cluster.namespace("side-door", Some("closed")).await;
    let patch = json!({"metadata": {"labels": {GUARD: null}}}).to_string();
    let status = ["patch", "namespace", "side-door", "--subresource=status", "--type=merge", "-p", &patch];
    cluster.kubectl(&status, None).await.refused_by("keep-guard");
    let mut namespace = cluster.json(&["get", "namespace", "side-door"]).await;
    namespace["metadata"]["labels"].as_object_mut().unwrap().remove(GUARD).unwrap();
    let finalize = ["replace", "--raw", "/api/v1/namespaces/side-door/finalize", "-f", "-"];
    cluster.kubectl(&finalize, Some(&namespace.to_string())).await.refused_by("keep-guard");
}

#[tokio::test]
async fn everything_else_about_a_guarded_namespace_may_change() {
    let cluster = &*cluster().await;
    cluster.namespace("free-namespace", Some("closed")).await;
    cluster.label("free-namespace", "shoot.gardener.cloud/provider=stackit", &[]).await.passed();
    cluster.ok(&["annotate", "namespace", "free-namespace", "a=b"]).await;
    cluster.namespace("never-guarded", None).await;
    cluster.label("never-guarded", "a=b", &[]).await.passed();
}

#[tokio::test]
async fn a_terminating_namespace_may_do_anything_and_can_go() {
    let cluster = &*cluster().await;
    cluster.namespace("leaving", Some("closed")).await;
    cluster.ok(&["delete", "namespace", "leaving", "--wait=false"]).await;
    cluster.label("leaving", &format!("{GUARD}=other"), &[]).await.passed();
    cluster.label("leaving", &format!("{GUARD}-"), &[]).await.passed();
    cluster.finalize("leaving").await;
}

#[tokio::test]
async fn a_migrated_machine_cannot_be_restored_beside_an_openstack_class() {
    let cluster = &*cluster().await;
    // Guarded or not: a namespace that is being restored has no label yet.
    for (namespace, guard) in [("mixed-unguarded", None), ("mixed-rolling", Some("rolling-back"))] {
        cluster.namespace(namespace, None).await;
        cluster.create(&class(namespace, "new", "stackit")).await.passed();
        cluster.create(&class(namespace, "old", "OpenStack")).await.passed();
        if guard.is_some() {
            cluster.label(namespace, &format!("{GUARD}=closed"), &[]).await.passed();
            cluster.label(namespace, &format!("{GUARD}=rolling-back"), &[]).await.passed();
        }
        // The API server reads classes by a watch.
        let refused = || async {
            let answer = cluster.dry_create(&machine(namespace, "m", Some(STACKIT_ID))).await;
            Ok((!answer.success).then_some(()))
        };
        rig::until("the class is known", std::time::Duration::from_secs(120), refused).await.unwrap();
        let answer = cluster.create(&machine(namespace, "m", Some(STACKIT_ID))).await.refused_by("no-mixed");
        answer.naming(&format!("Machine {namespace}/m"));
        answer.naming("MachineClass old");
        // What has not migrated belongs beside it.
        cluster.create(&machine(namespace, "legacy", Some(OPENSTACK_ID))).await.passed();
        cluster.create(&machine(namespace, "new", None)).await.passed();
    }
}

#[tokio::test]
async fn a_migrated_machine_can_be_restored_where_no_class_is_openstack() {
    let cluster = &*cluster().await;
    for (namespace, guard) in [("restored-unguarded", None), ("restored-guarded", Some("closed"))] {
        cluster.namespace(namespace, guard).await;
        // Machines may come before their classes.
        cluster.create(&machine(namespace, "first", Some(STACKIT_ID))).await.passed();
        cluster.create(&class(namespace, "pool", "stackit")).await.passed();
        cluster.create(&machine(namespace, "second", Some(STACKIT_ID))).await.passed();
    }
}

#[tokio::test]
async fn the_migration_has_one_name_and_is_not_paused_by_default() {
    let cluster = &*cluster().await;
    cluster.namespace("named", None).await;
    let answer = cluster.create(&migration("named", "other")).await;
    assert!(!answer.success, "a MachineMigration of any name was let in");
    answer.naming("a MachineMigration is named openstack-to-stackit");
    cluster.create(&migration("named", "openstack-to-stackit")).await.passed();
    let made = cluster.json(&["-n", "named", "get", "mmig", "openstack-to-stackit"]).await;
    assert_eq!(made["spec"], json!({"paused": false}));
}

#[tokio::test]
async fn kubectl_shows_how_far_a_migration_is_and_waits_for_a_condition() {
    let cluster = &*cluster().await;
    cluster.namespace("shown", None).await;
    cluster.create(&migration("shown", "openstack-to-stackit")).await.passed();
    let status = json!({"status": {
        "phase": "Rewritten",
        "reason": "quarantined",
        "machines": {"total": 12, "labelled": 7, "quarantined": 5, "waiting": {"quarantined": 5}},
        "conditions": [{
            "type": "Rewritten", "status": "True", "reason": "Rewritten", "message": "no Machine has an OpenStack ID",
            "lastTransitionTime": "2025-01-01T00:00:00Z", "observedGeneration": 1,
        }],
    }})
    .to_string();
    let patch = ["patch", "mmig", "openstack-to-stackit", "--subresource=status", "--type=merge", "-p", &status];
    let answer = cluster.kubectl(&[&["-n", "shown"], &patch[..]].concat(), None).await.passed();
    assert_eq!(answer.stderr, "", "kubectl has something against the definition");
    let table = cluster.ok(&["-n", "shown", "get", "mmig"]).await;
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["NAME", "PHASE", "DONE", "TOTAL", "REASON", "AGE"]);
    assert_eq!(rows[1][..5], ["openstack-to-stackit", "Rewritten", "7", "12", "quarantined"]);
    cluster
        .ok(&["-n", "shown", "wait", "--for=condition=Rewritten", "mmig/openstack-to-stackit", "--timeout=20s"])
        .await;
}
