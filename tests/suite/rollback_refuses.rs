//! What holds the way back, and that nothing is written meanwhile that must not be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::rollback_support::{Back, GUARD, MIGRATED, OURS, PREVIOUS, Run, SETTLED};
use crate::side_task_support::{LONG, server_of};
use rig::objects;
use rig::shoot::{Provider, Shoot, mcm_pod, node};
use serde_json::{Value, json};
use simulator::{Fault, FaultPlan, Operation};

async fn merge(back: &Back, object: &Value, patch: &Value) {
    objects::merge(&back.seed.client, object, patch).await.unwrap();
}

/// Every ID and every label is as it was before.
async fn assert_untouched(back: &Back, shoot: &Shoot, guard: &str) {
    for machine in shoot.machines() {
        let found = objects::get(&back.seed.client, &shoot.machine(&machine, "")).await.unwrap().unwrap();
        let id = serde_json::to_value(found).unwrap()["spec"]["providerID"].clone();
        assert_eq!(id, shoot.stackit_id(&machine));
        let server = back.seed.cloud().server(&shoot.server_id(&machine)).unwrap();
        assert!(server.labels.text(OURS[1]).is_some(), "{machine} lost its label");
    }
    assert_eq!(back.guard(shoot).await.as_deref(), Some(guard));
}

/// A Machine that the STACKIT provider made, with its server.
async fn made_by_stackit(back: &Back, shoot: &Shoot, name: &str) {
    objects::create(&back.seed.client, &shoot.machine(name, &shoot.stackit_id(name))).await.unwrap();
    back.seed.cloud().add_server(&shoot.project_id(), "eu01", server_of(shoot, name));
    back.label_server(shoot, name);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_of_stackit_must_be_gone_or_left_behind_twice() {
    let back = Back::start().await;
    let shoot = back.migrated("stackit", 2).await;
    made_by_stackit(&back, &shoot, "born").await;
    objects::create(&back.seed.client, &shoot.machine("empty", "")).await.unwrap();
    back.annotate(&shoot.machine("empty", ""), &json!({SETTLED: "no-server"})).await;

    let run = back.run(&shoot, &[]).await;
    assert_eq!(run.code, 2, "{run:#?}");
    assert_eq!(run.subjects("stackit-machines-remain"), ["born", "empty"], "{run:#?}");
    assert_untouched(&back, &shoot, "closed").await;
    back.switched_back(&shoot).await;
    let run = back.run(&shoot, &["--leave-behind", "born", "--yes-vm-stays", "born"]).await;
    assert_eq!((run.code, run.subjects("stackit-machines-remain")), (2, vec!["empty".to_owned()]), "{run:#?}");
    for once in [["--leave-behind", "born"], ["--yes-vm-stays", "born"]] {
        assert_eq!(back.run(&shoot, &once).await.code, 64);
    }
    assert_untouched(&back, &shoot, "closed").await;

    let twice = ["--leave-behind", "born,empty", "--yes-vm-stays", "born,empty"];
    let run = back.run(&shoot, &twice).await;
    assert_eq!(run.code, 0, "{run:#?}");
    let account = back.migration(&shoot).await["status"]["rollback"].clone();
    assert_eq!((&account["leftBehind"], &account["leftBehindTotal"]), (&json!(["born", "empty"]), &json!(2)));
    let born = objects::get(&back.seed.client, &shoot.machine("born", "")).await.unwrap().unwrap();
    assert_eq!(serde_json::to_value(born).unwrap()["spec"]["providerID"], shoot.stackit_id("born"));
    assert!(back.seed.cloud().server(&shoot.server_id("born")).unwrap().labels.text(OURS[1]).is_some());
    let empty = objects::get(&back.seed.client, &shoot.machine("empty", "")).await.unwrap().unwrap();
    assert!(!empty.metadata.annotations.unwrap_or_default().contains_key(SETTLED), "it must be settled anew");
    for machine in shoot.machines() {
        let found = objects::get(&back.seed.client, &shoot.machine(&machine, "")).await.unwrap().unwrap();
        assert_eq!(serde_json::to_value(found).unwrap()["spec"]["providerID"], shoot.legacy_id(&machine));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_id_that_is_not_certain_is_not_written() {
    let back = Back::start().await;
    let shoot = back.migrated("unsure", 2).await;
    back.switched_back(&shoot).await;
    let first = shoot.machine(&shoot.machines()[0], "");
    let names = [shoot.machines()[0].clone()];

    // Another server, then nonsense, then nothing at all: with no name of the region, with two, with one that no other Machine agrees with.
    let other = shoot.legacy_id("another");
    let map = ["--region-map", "RegionOne=eu01,RegionTwo=eu01"];
    let odd = ["--region-map", "RegionTwo=eu01"];
    let cases: [(Value, &str, &[&str]); 5] = [
        (json!(other), "previous-id-mismatch", &[]),
        (json!("openstack:///nonsense"), "previous-id-unknown", &[]),
        (json!(null), "previous-id-unknown", &[]),
        (json!(null), "previous-id-unknown", &map),
        (json!(null), "previous-id-unknown", &odd),
    ];
    for (annotation, reason, more) in cases {
        back.annotate(&first, &json!({PREVIOUS: annotation})).await;
        let run = back.run(&shoot, more).await;
        assert_eq!((run.code, run.subjects(reason)), (2, names.to_vec()), "{annotation}: {run:#?}");
        assert_untouched(&back, &shoot, "closed").await;
    }
    // With one name that agrees it is the class's region, and a server that is gone holds nothing.
    back.seed.cloud().delete_server(&shoot.server_id(&shoot.machines()[1]), "the test");
    let run = back.run(&shoot, &["--region-map", "RegionOne=eu01"]).await;
    assert_eq!(run.code, 0, "{run:#?}");
    for machine in shoot.machines() {
        let found = objects::get(&back.seed.client, &shoot.machine(&machine, "")).await.unwrap().unwrap();
        assert_eq!(serde_json::to_value(found).unwrap()["spec"]["providerID"], shoot.legacy_id(&machine));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stackit_pod_that_comes_back_holds_it_and_the_guard_stays() {
    let back = Back::start().await;
    let shoot = back.migrated("again", 2).await;
    back.switched_back(&shoot).await;
    let product = back.rollback(&shoot, &["--quarantine", "30s", "--allow-unsafe-quarantine"]);
    product.await_log(|line| line["event"] == "done" && line["step"] == "unmark", LONG).await.unwrap();
    let mut pod = mcm_pod("machine-controller-manager-9", Provider::Stackit);
    pod["metadata"]["namespace"] = shoot.namespace().into();
    objects::create(&back.seed.client, &pod).await.unwrap();
    let run = Run::of(product).await;
    assert_eq!((run.code, run.subjects("stackit-mcm-alive").len()), (2, 1), "{run:#?}");
    assert_eq!(back.guard(&shoot).await.as_deref(), Some("rolling-back"));
    objects::end_pod(&back.seed.client, &shoot.namespace(), "machine-controller-manager-9").await.unwrap();

    // An OpenStack pod that proves nothing holds it as well: there is no Lease.
    let mut pod = mcm_pod("machine-controller-manager-10", Provider::OpenStack);
    pod["metadata"]["namespace"] = shoot.namespace().into();
    objects::create(&back.seed.client, &pod).await.unwrap();
    let product = back.rollback(&shoot, &[]);
    let waits = |line: &Value| line["event"] == "waits" && line["reasons"][0]["reason"] == "no-lease-evidence";
    product.await_log(waits, LONG).await.unwrap();
    assert_eq!(back.guard(&shoot).await.as_deref(), Some("rolling-back"));
    product.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_node_holds_it_before_anything_is_taken_off() {
    let back = Back::start().await;
    let shoot = back.migrated("node", 1).await;
    back.switched_back(&shoot).await;
    objects::create(&back.seed.client, &node("seed-node-2", false)).await.unwrap();
    let product = back.rollback(&shoot, &[]);
    let waits = |line: &Value| line["event"] == "waits" && line["reasons"][0]["subject"] == "seed-node-2";
    product.await_log(waits, LONG).await.unwrap();
    assert_untouched(&back, &shoot, "closed").await;
    product.kill();
    let run = back.run(&shoot, &["--ignore-lost-node", "seed-node-2"]).await;
    assert_eq!(run.code, 0, "{run:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_elses_shoot_server_or_cloud_is_left_alone() {
    let back = Back::start().await;
    let (away, renamed, denied, bare) = (
        back.migrated("away", 1).await,
        back.migrated("renamed", 2).await,
        back.migrated("denied", 1).await,
        back.seed.create(Shoot::new("bare").legacy_machines(0).migrated_machines(1)).await,
    );
    for shoot in [&away, &renamed, &denied] {
        back.switched_back(shoot).await;
    }
    let cluster = json!({"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Cluster",
        "metadata": {"name": away.namespace()}});
    let other_seed = json!({"spec": {"shoot": {"spec": {"seedName": "seed-two"}}}});
    merge(&back, &cluster, &other_seed).await;
    let run = back.run(&away, &[]).await;
    assert_eq!((run.code, run.reasons()), (2, vec!["not-ours".to_owned()]), "{run:#?}");
    assert_untouched(&back, &away, "closed").await;

    // Rewritten Machines without a guard: nothing keeps a class from turning while their IDs are STACKIT's.
    let run = back.run(&bare, &[]).await;
    assert_eq!((run.code, run.reasons()), (2, vec!["no-guard".to_owned()]), "{run:#?}");

    back.seed.cloud().change_server(&renamed.server_id(&renamed.machines()[0]), |server| server.name = "other".into());
    let run = back.run(&renamed, &[]).await;
    assert_eq!((run.code, run.subjects("name-mismatch").len()), (2, 1), "{run:#?}");
    assert_untouched(&back, &renamed, "rolling-back").await;

    back.seed.cloud().inject(FaultPlan::always(Operation::PatchServer, Fault::Forbidden).project(denied.project_id()));
    let run = back.run(&denied, &[]).await;
    assert_eq!(run.code, 1, "{run:#?}");
    assert_untouched(&back, &denied, "rolling-back").await;
    back.seed.cloud().clear_faults();
    assert_eq!(back.run(&denied, &[]).await.code, 0, "it goes on where it was");
    back.assert_back(&denied).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_and_a_machine_made_in_the_middle() {
    let back = Back::start().await;
    let shoot = back.migrated("twice", 3).await;
    back.switched_back(&shoot).await;
    let args = ["--quarantine", "6s", "--allow-unsafe-quarantine"];
    let (first, second) = (back.rollback(&shoot, &args), back.rollback(&shoot, &args));
    first
        .await_log(|line| line["event"] == "waits" && line["reasons"][0]["reason"] == "quarantined", LONG)
        .await
        .unwrap();
    objects::create(&back.seed.client, &shoot.machine("late", "")).await.unwrap();
    let (first, second) = tokio::join!(Run::of(first), Run::of(second));
    assert_eq!((first.code, second.code), (0, 0), "{first:#?} {second:#?}");
    let late = objects::get(&back.seed.client, &shoot.machine("late", "")).await.unwrap().unwrap();
    assert!(!late.metadata.annotations.unwrap_or_default().contains_key(MIGRATED));
    objects::merge(&back.seed.client, &shoot.machine("late", ""), &json!({"metadata": {"finalizers": null}}))
        .await
        .unwrap();
    objects::delete(&back.seed.client, &shoot.machine("late", "")).await.unwrap();
    back.assert_back(&shoot).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_tells_the_whole_way_and_writes_nothing() {
    let back = Back::start().await;
    let shoot = back.migrated("dry", 2).await;
    let versions = back.versions(&shoot).await;
    let state = |run: &Run, step: &str| {
        let line = run.lines.iter().find(|line| line["event"] == "plan" && line["step"] == step);
        line.map(|line| line["state"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    let held = back.run(&shoot, &["--dry-run"]).await;
    assert_eq!(
        (held.code, held.reasons()),
        (2, vec!["stackit-mcm-deployed".to_owned(), "stackit-mcm-alive".to_owned()])
    );
    for (step, wanted) in [
        ("pause", "would"),
        ("guard", "held"),
        ("unlabel", "would"),
        ("write-back", "would"),
        ("clean", "done"),
        ("guard-off", "would"),
    ] {
        assert_eq!(state(&held, step), wanted, "{step}: {held:#?}");
    }
    assert_eq!(back.versions(&shoot).await, versions);
    back.switched_back(&shoot).await;
    let run = back.run(&shoot, &["--dry-run"]).await;
    assert_eq!((run.code, state(&run, "guard")), (0, "would".to_owned()), "{run:#?}");
    assert_eq!(back.versions(&shoot).await, versions);
    assert!(
        !back.seed.cloud().journal().iter().any(|call| call.by.is_none() && call.operation == Operation::PatchServer)
    );
    assert_untouched(&back, &shoot, "closed").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_the_api_lets_nobody_change_is_waited_for_and_named() {
    let back = Back::start().await;
    let shoot = back.migrated("shelved", 2).await;
    back.switched_back(&shoot).await;
    let shelved = shoot.machines().swap_remove(0);
    let state = |state: &'static str| {
        back.seed.cloud().change_server(&shoot.server_id(&shelved), |server| server.status = state.to_owned());
    };
    state("DEALLOCATED");
    let run = back.run(&shoot, &[]).await;
    assert_eq!(run.code, 2, "{run:#?}");
    assert_eq!(run.subjects("server-deferred"), [format!("{shelved}: Deallocated")], "{run:#?}");
    assert_eq!(back.guard(&shoot).await.as_deref(), Some("rolling-back"));
    state("ACTIVE");
    let run = back.run(&shoot, &[]).await;
    assert_eq!(run.code, 0, "{run:#?}");
    back.assert_back(&shoot).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_not_read_the_shoot_is_told_so_by_a_dry_run_too() {
    let mut back = Back::start().await;
    let shoot = back.migrated("closed-to", 1).await;
    back.operator = back.seed.server.user_kubeconfig("nobody", &[]).unwrap();
    let run = back.run(&shoot, &["--dry-run"]).await;
    assert_eq!((run.code, run.reasons()), (1, vec!["read-failed".to_owned()]), "{run:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_made_before_the_nodes_were_waited_for_may_have_a_server() {
    let back = Back::start().await;
    let shoot = back.migrated("hung", 1).await;
    back.switched_back(&shoot).await;
    // As a command leaves it that was killed; the STACKIT provider may have come back since, and hang on a Node.
    let label = json!({"metadata": {"labels": {GUARD: "rolling-back"}}});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shoot.namespace()}});
    merge(&back, &namespace, &label).await;
    let product = back.rollback(&shoot, &["--node-ready-for", "10s"]);
    let waits = |line: &Value| line["event"] == "waits" && line["reasons"][0]["reason"] == "seed-node-lost";
    product.await_log(waits, LONG).await.unwrap();
    objects::create(&back.seed.client, &shoot.machine("early", "")).await.unwrap();
    let run = Run::of(product).await;
    assert_eq!((run.code, run.subjects("stackit-machines-remain")), (2, vec!["early".to_owned()]), "{run:#?}");
    assert_untouched(&back, &shoot, "rolling-back").await;
}
