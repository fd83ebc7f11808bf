//! `sweep` when a shoot is held, when something changes in between, and when the cloud fails.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::side_task_support::Seed;
use crate::sweeping::{deleted, left_behind, merge, migrated, named, parts, sweep};
use rig::shoot::{Provider, uuid};
use rig::{Shoot, objects};
use serde_json::json;
use simulator::{Fault, FaultPlan, Operation, Server};

#[tokio::test]
async fn nothing_of_a_shoot_that_is_held_goes() {
    let seed = Seed::start().await;
    let mut shoots = Vec::new();
    for (name, why) in [
        ("paused", "paused"),
        ("back", "rolling-back"),
        ("leaving", "worker-migrating"),
        ("restoring", "worker-restoring"),
        ("openstack", "openstack-mcm-alive"),
        ("other-seed", "not-ours"),
    ] {
        let shoot = migrated(&seed, name, 1).await;
        left_behind(&seed, &shoot, &named(&shoot, "gone"));
        let namespace = shoot.namespace();
        let (mmig, group) = ("mcm-migration.stackit.cloud/v1alpha1", "extensions.gardener.cloud/v1alpha1");
        match name {
            "paused" => {
                let pause = json!({"spec": {"paused": true}});
                merge(&seed, mmig, "MachineMigration", &namespace, "openstack-to-stackit", pause).await;
            }
            "back" => {
                let label = json!({"metadata": {"labels": {"mcm-migration.stackit.cloud/guard": "rolling-back"}}});
                let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
                objects::merge(&seed.client, &object, &label).await.unwrap();
            }
            "leaving" | "restoring" => {
                let operation = if name == "leaving" { "migrate" } else { "restore" };
                let patch = json!({"metadata": {"annotations": {"gardener.cloud/operation": operation}}});
                merge(&seed, group, "Worker", &namespace, shoot.worker(), patch).await;
            }
            "openstack" => {
                let mut pod = rig::shoot::mcm_pod("machine-controller-manager-9", Provider::OpenStack);
                pod["metadata"]["namespace"] = namespace.clone().into();
                objects::create(&seed.client, &pod).await.unwrap();
            }
            _ => {
                let object = json!({"apiVersion": group, "kind": "Cluster", "metadata": {"name": namespace}});
                let patch = json!({"spec": {"shoot": {"spec": {"seedName": "another"}}}});
                objects::merge(&seed.client, &object, &patch).await.unwrap();
            }
        }
        shoots.push((shoot, why));
    }
    let bare = seed.create(Shoot::new("unguarded").legacy_machines(0).migrated_machines(1)).await;
    left_behind(&seed, &bare, &named(&bare, "gone"));

    let run = sweep(&seed, &["--all", "--delete", "--grace", "0s"]).await;
    assert_eq!((run.code, deleted(&seed.cloud())), (0, vec![]), "{run:?}");
    for (shoot, why) in &shoots {
        let lines = run.about(&shoot.namespace());
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines.iter().all(|line| line.contains("listed only") && line.contains(why)), "{lines:?}");
    }
    assert!(run.about(&bare.namespace()).is_empty(), "nobody named it and it is none of ours: {run:?}");
    let run = sweep(&seed, &["--namespace", &bare.namespace(), "--delete", "--grace", "0s"]).await;
    assert!(run.end("volume").contains("no-guard"), "{run:?}");
    assert_eq!(deleted(&seed.cloud()), Vec::<String>::new());
}

#[tokio::test]
async fn what_changes_in_between_is_left_alone_and_a_failure_holds_up_nothing_else() {
    let seed = Seed::start().await;
    let cloud = seed.cloud();
    let delete = |namespace: String, grace: &'static str| {
        let seed = &seed;
        async move { sweep(seed, &["--namespace", &namespace, "--delete", "--grace", grace]).await }
    };

    // Attached right before it is deleted, and right after it was read for the last time.
    for (name, nic_at, volume_at) in
        [("before", Operation::DeleteNic, Operation::DeleteVolume), ("after", Operation::GetNic, Operation::GetVolume)]
    {
        let shoot = migrated(&seed, name, 1).await;
        left_behind(&seed, &shoot, &named(&shoot, "gone"));
        let before = parts(&cloud, &shoot);
        for operation in [nic_at, volume_at] {
            cloud.inject(FaultPlan::once(operation, Fault::Attached).project(shoot.project_id()));
        }
        let run = delete(shoot.namespace(), "0s").await;
        assert_eq!((run.code, run.about("  kept: ").len()), (0, 2), "{run:?}");
        assert_eq!(parts(&cloud, &shoot), before);
    }

    // Rate limits are waited out, a lost answer is no failure, a 404 means that somebody was faster.
    let shoot = migrated(&seed, "busy", 1).await;
    let (nic, volume) = left_behind(&seed, &shoot, &named(&shoot, "gone"));
    let project = shoot.project_id();
    cloud.inject(FaultPlan::once(Operation::DeleteNic, Fault::TooManyRequests).project(&project).times(2));
    cloud.inject(FaultPlan::once(Operation::DeleteVolume, Fault::AppliedReplyLost).project(&project));
    let run = delete(shoot.namespace(), "0s").await;
    assert!(run.end(&nic.id).ends_with("  removed"), "{run:?}");
    let end = run.end(&volume.id);
    assert!(
        end.contains("  removed: the answer to its deletion was lost") && !end.contains("somebody else"),
        "{run:?}"
    );
    assert_eq!(run.code, 0);

    let shoot = migrated(&seed, "forbidden", 1).await;
    let (nic, volume) = left_behind(&seed, &shoot, &named(&shoot, "gone"));
    let project = shoot.project_id();
    cloud.inject(FaultPlan::always(Operation::DeleteNic, Fault::Forbidden).project(&project));
    let run = delete(shoot.namespace(), "0s").await;
    assert!(run.end(&nic.id).contains("failed: cannot delete the network interface"), "{run:?}");
    assert!(run.end(&volume.id).ends_with("  removed"), "{run:?}");
    assert_eq!(run.code, 1);
    cloud.clear_faults();

    let shoot = migrated(&seed, "gone-in-between", 1).await;
    left_behind(&seed, &shoot, &named(&shoot, "gone"));
    cloud.inject(FaultPlan::once(Operation::GetNic, Fault::NotFoundJson).project(shoot.project_id()));
    cloud.inject(FaultPlan::once(Operation::DeleteVolume, Fault::NotFoundJson).project(shoot.project_id()));
    let run = delete(shoot.namespace(), "0s").await;
    assert_eq!((run.code, run.about("  gone already").len()), (0, 2), "{run:?}");

    // The list of servers is cut short, or refused: nothing is concluded.
    let shoot = migrated(&seed, "cut", 1).await;
    left_behind(&seed, &shoot, &named(&shoot, "gone"));
    cloud.inject(FaultPlan::always(Operation::ListServers, Fault::ListCutShort).project(shoot.project_id()));
    let run = delete(shoot.namespace(), "0s").await;
    assert_eq!((run.code, parts(&cloud, &shoot).len()), (1, 3), "{run:?}");
    cloud.clear_faults();

    // The one look in which everything is as it must be is not enough: while the grace period runs, the Machine, or its server, is made again.
    let shoot = migrated(&seed, "again", 1).await;
    let (machine, server) = (named(&shoot, "machine"), named(&shoot, "server"));
    left_behind(&seed, &shoot, &machine);
    left_behind(&seed, &shoot, &server);
    let before = parts(&cloud, &shoot);
    cloud.clear_journal();
    let sweeping = delete(shoot.namespace(), "4s");
    let meddling = async {
        rig::until("the first look is over", crate::side_task_support::LONG, || async {
            Ok((cloud.count(Operation::ListServers) > 0).then_some(()))
        })
        .await
        .unwrap();
        objects::create(&seed.client, &shoot.machine(&machine, "")).await.unwrap();
        cloud.add_server(&shoot.project_id(), "eu01", Server::new(uuid(&format!("server of {server}")), &server));
    };
    let (run, ()) = tokio::join!(sweeping, meddling);
    assert_eq!((run.code, deleted(&cloud)), (0, vec![]), "{run:?}");
    assert!(before.is_subset(&parts(&cloud, &shoot)));
}

#[tokio::test]
async fn an_api_server_that_is_lost_midway_is_a_reason_to_run_it_again() {
    let seed = Seed::start().await;
    let cloud = seed.cloud();
    let shoot = migrated(&seed, "lost", 1).await;
    left_behind(&seed, &shoot, &named(&shoot, "gone"));
    let namespace = shoot.namespace();
    let sweeping = async { sweep(&seed, &["--namespace", &namespace, "--delete", "--grace", "3s"]).await };
    let meddling = async {
        rig::until("the first look is over", crate::side_task_support::LONG, || async {
            Ok((cloud.count(Operation::ListServers) > 0).then_some(()))
        })
        .await
        .unwrap();
        seed.server.kill_api_server();
    };
    let (run, ()) = tokio::join!(sweeping, meddling);
    assert_eq!((run.code, deleted(&cloud)), (75, vec![]), "{run:?}");
    assert!(run.stderr.contains(&seed.server.url()), "{run:?}");
}
