//! `arm` on a seed with the guard: the way of a shoot that qualifies, and the reasons of those that do not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use crate::arming::{GUARD, Seed, arm, arm_exactly, balancer, migration, writes};
use rig::shoot::Provider;
use rig::{Shared, Shoot, arm_by_hand, objects, until};
use serde_json::json;

/// One for all tests of this file; each has shoots of its own.
async fn seed() -> Arc<Seed> {
    static SEED: Shared<Seed> = Shared::new();
    SEED.get(Seed::guarded).await
}

#[tokio::test]
async fn a_shoot_that_qualifies_is_guarded_then_probed_then_armed() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("armed").migrated_machines(1)).await;
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (0, "armed"), "{run:?}");
    assert!(run.stdout.contains("3 of 4 Machines with a legacy ID"), "{run:?}");
    assert!(run.stdout.ends_with("1 shoot: 1 armed\n"), "{run:?}");

    assert_eq!(seed.guard_label(&namespace).await.as_deref(), Some("closed"));
    assert_eq!(seed.condition(&namespace, "Armed").await, "True Armed");
    assert_eq!(seed.condition(&namespace, "Guarded").await, "True Guarded");
    let migration = seed.migration(&namespace).await.unwrap();
    assert_eq!(migration["status"]["phase"], "Armed");
    assert_eq!(migration["spec"]["paused"], false);
    assert_eq!(migration["status"]["conditions"][0]["observedGeneration"], 1);
}

#[tokio::test]
async fn nothing_is_armed_before_the_label_and_every_attempt_on_the_guard_is_refused() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("order").migrated_machines(1)).await;
    seed.arm(&["--namespace", &namespace]).await;
    let wanted = [
        "create machinemigrations 201",
        "patch machinemigrations/status 200",
        "patch namespaces 200",
        "patch machinemigrations/status 200",
        "patch machinemigrations/status 200",
    ];
    assert_eq!(seed.writes(&namespace, false), wanted);
    let probes = seed.writes(&namespace, true);
    // Three rounds before the wait for the Nodes, three after it. Right after the label some may have been let in.
    let refused: Vec<&String> = probes.iter().filter(|probe| probe.ends_with(" 403")).collect();
    assert_eq!(refused.len(), 2 * 3 * 4, "{probes:?}");
    for probe in ["create machineclasses 403", "patch machineclasses 403", "patch machines 403", "patch namespaces 403"]
    {
        assert_eq!(refused.iter().filter(|found| **found == probe).count(), 2 * 3, "{probes:?}");
    }
}

#[tokio::test]
async fn a_second_run_changes_nothing() {
    let seed = &*seed().await;
    let armed = seed.shoot(Shoot::new("again")).await;
    let guarded = seed.shoot(Shoot::new("again-guarded").legacy_machines(0).migrated_machines(2)).await;
    let args = ["--namespace", &armed, "--namespace", &guarded];
    let first = seed.arm(&args).await;
    assert_eq!((first.code, first.result(&armed), first.result(&guarded)), (0, "armed", "guarded"), "{first:?}");
    let before = seed.versions(&[&armed, &guarded]).await;
    let second = seed.arm(&args).await;
    assert_eq!(
        (second.code, second.result(&armed), second.result(&guarded)),
        (0, "already-armed", "guarded"),
        "{second:?}"
    );
    assert_eq!(seed.versions(&[&armed, &guarded]).await, before);
}

#[tokio::test]
async fn a_shoot_with_nothing_left_to_rewrite_is_guarded_and_not_armed() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("restored").legacy_machines(0).migrated_machines(2)).await;
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (0, "guarded"), "{run:?}");
    assert_eq!(seed.guard_label(&namespace).await.as_deref(), Some("closed"));
    assert_eq!(seed.condition(&namespace, "Armed").await, "False Guarded");
    assert_eq!(seed.migration(&namespace).await.unwrap()["status"]["phase"], "Guarded");
}

#[tokio::test]
async fn an_armed_that_was_left_over_is_taken_back_before_the_label_is_set() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("left-over")).await;
    let client = seed.client().await;
    objects::apply(&client, &migration(&namespace)).await.unwrap();
    let conditions = json!([
        {"type": "Armed", "status": "True", "reason": "Armed", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {"type": "Weather", "status": "Unknown", "reason": "Fog", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]);
    objects::patch_status(&client, &migration(&namespace), &json!({"conditions": conditions})).await.unwrap();
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (0, "armed"), "{run:?}");
    assert_eq!(seed.writes(&namespace, false)[..2], ["patch machinemigrations/status 200", "patch namespaces 200"]);
    assert_eq!(seed.condition(&namespace, "Weather").await, "Unknown Fog");
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_says_what_it_would_do() {
    let seed = &*seed().await;
    let fresh = seed.shoot(Shoot::new("dry")).await;
    let restored = seed.shoot(Shoot::new("dry-restored").legacy_machines(0).migrated_machines(1)).await;
    let armed = seed.shoot(Shoot::new("dry-armed")).await;
    arm_by_hand(&seed.client().await, &armed).await.unwrap();
    let all = [fresh.as_str(), &restored, &armed];
    let before = seed.versions(&all).await;
    let run = seed.arm(&["--dry-run", "--namespace", &fresh, "--namespace", &restored, "--namespace", &armed]).await;
    assert_eq!(run.code, 0, "{run:?}");
    let wanted = "would make the MachineMigration, close the guard, probe it, wait until every Node is Ready";
    assert!(run.of(&fresh)[0].contains("would be armed") && run.of(&fresh)[0].contains(wanted), "{run:?}");
    assert!(run.of(&restored)[0].contains("would be guarded"), "{run:?}");
    assert_eq!(run.result(&armed), "already-armed", "{run:?}");
    assert!(run.stdout.contains("nothing was written") && run.stdout.contains("Nodes of the seed were not looked at"));
    assert_eq!(seed.versions(&all).await, before);
    for namespace in all {
        assert_eq!(seed.writes(namespace, false), [""; 0]);
    }
}

#[tokio::test]
async fn a_paused_shoot_is_only_reported() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("paused")).await;
    let mut paused = migration(&namespace);
    paused["spec"]["paused"] = true.into();
    objects::apply(&seed.client().await, &paused).await.unwrap();
    let before = seed.versions(&[&namespace]).await;
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.reasons(&namespace)), (2, vec!["paused"]), "{run:?}");
    assert_eq!(seed.versions(&[&namespace]).await, before);
}

#[tokio::test]
async fn what_changes_while_the_nodes_are_waited_for_keeps_it_from_being_armed() {
    let seed = &*seed().await;
    let (paused, flipped) = (seed.shoot(Shoot::new("late-pause")).await, seed.shoot(Shoot::new("late-pod")).await);
    let args = ["--namespace", &paused, "--namespace", &flipped, "--node-ready-for", "8s"];
    let args = [&args[..], &["--allow-unsafe-node-ready-for"]].concat();
    let (run, ()) = tokio::join!(arm_exactly(Some(&seed.operator), &args), async {
        for namespace in [&paused, &flipped] {
            until("the guard is proved", Duration::from_secs(60), || async {
                Ok((seed.condition(namespace, "Guarded").await == "True Guarded").then_some(()))
            })
            .await
            .unwrap();
        }
        seed.patch(&paused, "machinemigration/openstack-to-stackit", &json!({"spec": {"paused": true}})).await;
        let mut pod = rig::shoot::mcm_pod("late", Provider::OpenStack);
        pod["metadata"]["namespace"] = flipped.clone().into();
        objects::create(&seed.client().await, &pod).await.unwrap();
    });
    assert_eq!(
        (run.code, run.reasons(&paused), run.reasons(&flipped)),
        (2, vec!["paused"], vec!["openstack-mcm-alive"]),
        "{run:?}"
    );
    for namespace in [&paused, &flipped] {
        assert_eq!(seed.condition(namespace, "Armed").await, "False NotArmed");
    }
}

#[tokio::test]
async fn a_shoot_on_its_way_back_is_only_reported() {
    let seed = &*seed().await;
    let namespace = seed.shoot(Shoot::new("back")).await;
    arm_by_hand(&seed.client().await, &namespace).await.unwrap();
    seed.kubectl(&["label", "namespace", &namespace, &format!("{GUARD}=rolling-back"), "--overwrite"]).await;
    let before = seed.versions(&[&namespace]).await;
    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!((run.code, run.reasons(&namespace)), (2, vec!["rolling-back"]), "{run:?}");
    assert_eq!(seed.versions(&[&namespace]).await, before);
}

#[tokio::test]
async fn whatever_does_not_qualify_is_told_with_its_reason_and_stays_as_it_is() {
    let seed = &*seed().await;
    let client = seed.client().await;
    let mut wanted: Vec<(String, Vec<&str>)> = Vec::new();

    let class = seed.shoot(Shoot::new("no-class").classes(Provider::OpenStack)).await;
    wanted.push((class, vec!["no-class", "openstack-class-in-namespace"]));
    let left = seed.shoot(Shoot::new("no-left")).await;
    let mut other = rig::shoot::class("unreferenced", Provider::OpenStack);
    other["metadata"]["namespace"] = left.clone().into();
    objects::create(&client, &other).await.unwrap();
    wanted.push((left, vec!["openstack-class-in-namespace"]));
    let deployed = seed.shoot(Shoot::new("no-deployed").deployment(Some(Provider::OpenStack))).await;
    wanted.push((deployed, vec!["openstack-mcm-deployed"]));
    let alive = seed.shoot(Shoot::new("no-alive").pods(&[Provider::Stackit, Provider::OpenStack])).await;
    wanted.push((alive, vec!["openstack-mcm-alive"]));
    let ending = seed.shoot(Shoot::new("no-ending").pods(&[Provider::OpenStack])).await;
    seed.kubectl(&["-n", &ending, "delete", "pod", "--all", "--wait=false"]).await;
    wanted.push((ending, vec!["openstack-mcm-alive"]));
    let nothing = seed.shoot(Shoot::new("no-nothing").legacy_machines(0)).await;
    wanted.push((nothing, vec!["nothing-to-migrate"]));
    let foreign = seed.shoot(Shoot::new("no-foreign")).await;
    seed.patch(&foreign, "worker/no-foreign", &json!({"spec": {"type": "aws"}})).await;
    wanted.push((foreign, vec!["worker-not-stackit"]));
    let leaving = seed.shoot(Shoot::new("no-leaving")).await;
    let migrate = json!({"metadata": {"annotations": {"gardener.cloud/operation": "migrate"}}});
    seed.patch(&leaving, "worker/no-leaving", &migrate).await;
    wanted.push((leaving, vec!["worker-migrating"]));
    let elsewhere = seed.shoot(Shoot::new("no-elsewhere")).await;
    seed.patch(
        "default",
        &format!("cluster/{elsewhere}"),
        &json!({"spec": {"shoot": {"spec": {"seedName": "other"}}}}),
    )
    .await;
    wanted.push((elsewhere, vec!["not-ours"]));
    let unowned = seed.shoot(Shoot::new("no-cluster")).await;
    seed.kubectl(&["delete", "cluster", &unowned]).await;
    wanted.push((unowned, vec!["cluster-absent"]));
    wanted.push(("default".to_owned(), vec!["worker-absent", "nothing-to-migrate", "no-class"]));
    wanted.push(("shoot--no--such".to_owned(), vec!["namespace-absent"]));

    let there: Vec<&str> =
        wanted.iter().map(|(name, _)| name.as_str()).filter(|name| !name.contains("--no--")).collect();
    let before = seed.versions(&there).await;
    let args: Vec<&str> = wanted.iter().flat_map(|(name, _)| ["--namespace", name]).collect();
    let run = seed.arm(&args).await;
    assert_eq!(run.code, 2, "{run:?}");
    for (namespace, reasons) in &wanted {
        assert_eq!(run.reasons(namespace), *reasons, "{namespace}: {run:?}");
        assert!(run.of(namespace)[1].len() > 60, "it says what it means and what to do: {run:?}");
    }
    assert_eq!(seed.versions(&there).await, before);
}

#[tokio::test]
async fn a_shoot_that_is_restored_or_deleted_here_is_armed() {
    let seed = &*seed().await;
    let restored = seed.shoot(Shoot::new("restoring")).await;
    let operation = json!({"status": {"lastOperation": {"type": "Restore", "state": "Processing"}}});
    seed.patch_status(&restored, "worker/restoring", &operation).await;
    // Until the restore is done the Shoot names no seed in its status, or the old one.
    let old = json!({"spec": {"shoot": {"status": {"seedName": "old-seed"}}}});
    seed.patch("default", &format!("cluster/{restored}"), &old).await;
    let deleted = seed.shoot(Shoot::new("deleting")).await;
    seed.kubectl(&["-n", &deleted, "delete", "worker", "deleting", "--wait=false"]).await;
    let run = seed.arm(&["--namespace", &restored, "--namespace", &deleted]).await;
    assert_eq!((run.code, run.result(&restored), run.result(&deleted)), (0, "armed", "armed"), "{run:?}");
}

#[tokio::test]
async fn every_api_server_behind_a_load_balancer_is_probed() {
    let seed = &*seed().await;
    let second = seed.server.second_on_same_etcd().await.unwrap();
    rig::in_force::await_policies(&second).await.unwrap();
    let namespace = seed.shoot(Shoot::new("balanced")).await;
    let port = balancer(vec![seed.server.port(), second.port()]).await;
    let file = seed.server.folder().join("balanced.kubeconfig");
    let config = std::fs::read_to_string(&seed.operator).unwrap();
    let (direct, balanced) = (seed.server.url(), format!("https://127.0.0.1:{port}"));
    assert!(config.contains(&direct));
    std::fs::write(&file, config.replace(&direct, &balanced)).unwrap();
    let run = arm(&file, &["--namespace", &namespace]).await;
    assert_eq!((run.code, run.result(&namespace)), (0, "armed"), "{run:?}");
    for server in [&seed.server, &second] {
        let refused = writes(server, &namespace, true).iter().filter(|probe| probe.ends_with(" 403")).count();
        assert!(refused >= 2 * 3, "a round of probes before the wait and one after it: {refused}");
    }
}
