//! `sweep` on a real API server and a simulated cloud: what is proved to be left over goes, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::side_task_support::{LONG, Seed};
use crate::sweeping::{deleted, labels, labels_of, left_behind, migrated, named, nic, parts, sweep, volume};
use mcm_stand_in::{Mcm, Options};
use rig::{Shoot, objects, until};
use serde_json::json;
use simulator::{Nic, Operation, Server, Volume};

#[tokio::test]
async fn what_is_proved_goes_and_everything_else_stays() {
    let seed = Seed::start().await;
    let shoot = migrated(&seed, "prod", 2).await;
    let (cloud, namespace, project) = (seed.cloud(), shoot.namespace(), shoot.project_id());
    let (left_nic, left_volume) = left_behind(&seed, &shoot, &named(&shoot, "gone"));

    // None of these may go.
    let live = shoot.machines()[0].clone();
    cloud.add_nic(&project, "eu01", nic(&shoot, &live));
    let server = shoot.server_id(&shoot.machines()[1]);
    let attached = nic(&shoot, &named(&shoot, "attached"));
    cloud.change_server(&server, |server| server.nics.push(attached));
    let in_use = volume(&shoot, &named(&shoot, "in-use"));
    cloud.change_server(&server, |server| server.volumes.push(in_use));
    let csi = labels(&namespace, "pvc-1");
    let of_csi = Volume::new("pvc-0d9f").with_labels(labels_of(&csi));
    cloud.add_volume(&project, "eu01", of_csi.clone());
    let mut with_csi = volume(&shoot, &named(&shoot, "csi"));
    with_csi.labels.set("csi.stackit.example/cluster", "c");
    cloud.add_volume(&project, "eu01", with_csi.clone());
    cloud.add_volume(&project, "eu01", Volume::new("pvc-unlabelled"));
    let unlabelled = Nic::new(rig::shoot::uuid("network"), named(&shoot, "unlabelled"));
    cloud.add_nic(&project, "eu01", unlabelled.clone());
    let mut renamed = nic(&shoot, &named(&shoot, "renamed"));
    renamed.name = "renamed".to_owned();
    cloud.add_nic(&project, "eu01", renamed.clone());
    let elsewhere = labels("shoot--garden--elsewhere", "shoot--garden--elsewhere-w");
    let elsewhere =
        Nic::new(rig::shoot::uuid("network"), "shoot--garden--elsewhere-w").with_labels(labels_of(&elsewhere));
    cloud.add_nic(&project, "eu01", elsewhere.clone());
    // Its Machine lives in another seed: the server is there.
    let other = named(&shoot, "other-seed");
    cloud.add_server(&project, "eu01", Server::new(rig::shoot::uuid(&format!("server of {other}")), &other));
    let others = nic(&shoot, &other);
    cloud.add_nic(&project, "eu01", others.clone());
    // A Machine that was settled as no-server, with its server gone and its old network interface there.
    let settled = named(&shoot, "settled");
    let mut machine = shoot.machine(&settled, "");
    machine["metadata"]["annotations"]["mcm-migration.stackit.cloud/settled"] = "no-server".into();
    objects::create(&seed.client, &machine).await.unwrap();
    let of_settled = Nic::new(rig::shoot::uuid("network"), &settled);
    cloud.add_nic(&project, "eu01", of_settled.clone());

    let before = parts(&cloud, &shoot);
    let run = sweep(&seed, &["--all"]).await;
    assert_eq!(run.code, 0, "{run:?}");
    assert!(cloud.journal().iter().all(|call| !call.operation.is_write()), "it only lists");
    assert_eq!(run.about("  leftover").len(), 2, "{run:?}");
    for (id, why) in [
        (&of_settled.id, "no-server"),
        (&unlabelled.id, "no label of ours"),
        (&renamed.id, "do not prove"),
        (&of_csi.id, "do not prove"),
        (&with_csi.id, "storage driver"),
        (&others.id, "another seed"),
        (&elsewhere.id, "not in this seed"),
    ] {
        let said = run.end(id);
        assert!(said.contains("listed only") && said.contains(why), "{said}");
    }
    assert!(run.about("pvc-unlabelled").is_empty() && run.about(&live).is_empty(), "{run:?}");

    let run = sweep(&seed, &["--namespace", &namespace, "--delete", "--grace", "1s"]).await;
    assert_eq!(run.code, 0, "{run:?}");
    let mut left = before.clone();
    left.remove(&left_nic.id);
    left.remove(&left_volume.id);
    assert_eq!(parts(&cloud, &shoot), left, "{run:?}");
    assert_eq!(run.about("  removed").len(), 2, "{run:?}");

    // And a second time there is nothing to do.
    cloud.clear_journal();
    let run = sweep(&seed, &["--namespace", &namespace, "--delete", "--grace", "1h"]).await;
    assert_eq!((run.code, deleted(&cloud).len()), (0, 0), "{run:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_machine_leaves_after_its_migration_is_found_by_its_labels() {
    let seed = Seed::start().await;
    let cloud = seed.cloud();
    let shoot = seed.create(Shoot::new("way").legacy_machines(2)).await;
    for machine in shoot.machines() {
        let claim = Volume::new(format!("pvc-{machine}"));
        cloud.change_server(&shoot.server_id(&machine), |server| {
            server.volumes.extend([Volume::boot(&machine), claim]);
        });
    }
    let mcm = Mcm::for_shoot(&seed.server, &shoot, seed.cloud(), Options::default()).await.unwrap();
    let _product = seed.one_replica(&[]).await;
    mcm.watch_over(seed.await_condition(&shoot, "Complete", LONG)).await;
    seed.assert_complete(&shoot).await;
    crate::side_task_support::assert_harmless(&cloud.journal());
    let claims = |volume: &Volume| volume.name.starts_with("pvc-");
    for (volume, server) in cloud.volumes(&shoot.project_id()) {
        assert_eq!(volume.labels.text("mcm-migration-server").is_some(), !claims(&volume), "{volume:?} of {server:?}");
    }

    // The Machine goes, its server with it, and the STACKIT provider leaves the rest.
    let [gone, stays]: [String; 2] = shoot.machines().try_into().unwrap();
    let (namespace, project) = (shoot.namespace(), shoot.project_id());
    objects::delete(
        &seed.client,
        &json!({"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": gone, "namespace": namespace}}),
    )
    .await
    .unwrap();
    until("the server is gone", LONG, || async { Ok(cloud.server(&shoot.server_id(&gone)).is_none().then_some(())) })
        .await
        .unwrap();
    until("the Machine is gone", LONG, || async { Ok((seed.machines(&namespace).await.len() == 1).then_some(())) })
        .await
        .unwrap();
    assert_eq!(cloud.nics(&project).len() + cloud.volumes(&project).len(), 6, "all of them are still there");

    let run = sweep(&seed, &["--all", "--delete", "--grace", "2s"]).await;
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.about(" of ").iter().filter(|line| line.contains(&gone) && line.contains("removed")).count(), 2);
    let names = |names: Vec<String>| names.into_iter().collect::<std::collections::BTreeSet<_>>();
    let volumes = cloud.volumes(&project).into_iter().map(|(volume, _)| volume.name).collect();
    assert_eq!(names(volumes), names(vec![format!("pvc-{gone}"), format!("pvc-{stays}"), stays.clone()]));
    assert_eq!(cloud.nics(&project).into_iter().map(|(nic, _)| nic.name).collect::<Vec<_>>(), [stays]);
    mcm.verdict().unwrap();
}

#[tokio::test]
async fn labels_of_a_domain_used_before_go_and_those_of_others_stay() {
    let seed = Seed::start().await;
    let shoot = migrated(&seed, "domains", 3).await;
    let (cloud, namespace) = (seed.cloud(), shoot.namespace());
    let [done, bare, marked]: [String; 3] = shoot.machines().try_into().unwrap();
    for machine in [&done, &bare, &marked] {
        cloud.change_server(&shoot.server_id(machine), |server| {
            let class = shoot.class();
            let mut own = vec![
                ("kubernetes.io/machine", machine.as_str()),
                ("kubernetes.io/machineclass", &class),
                ("kubernetes.io/cluster", "shoot"),
                ("kubernetes.io/role", "node"),
            ];
            if machine == &bare {
                own.clear();
            }
            let old = [("old.example.org/machine", machine.as_str()), ("old.example.org/machineclass", &class)];
            let foreign = [("old.example.org/owner", "somebody"), ("other.example.org/machine", machine.as_str())];
            for (key, value) in own.into_iter().chain(old).chain(foreign) {
                server.labels.set(key, value);
            }
        });
    }
    let patch = json!({"metadata": {"annotations": {"stackit.cloud/machine-should-be-migrated": "true"}}});
    crate::sweeping::merge(&seed, "machine.sapcloud.io/v1alpha1", "Machine", &namespace, &marked, patch).await;

    let run = sweep(
        &seed,
        &["--namespace", &namespace, "--delete", "--grace", "0s", "--old-label-domain", "old.example.org"],
    )
    .await;
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.end(&marked).contains("the side task takes the marker off"), "{run:?}");
    let patched: Vec<_> = cloud.calls(Operation::PatchServer).into_iter().filter(|call| call.by.is_none()).collect();
    assert_eq!(patched.len(), 1, "{run:?}");
    assert_eq!(
        patched[0].body,
        Some(json!({"labels": {"old.example.org/machine": null, "old.example.org/machineclass": null}}))
    );
    let server = cloud.server(&shoot.server_id(&done)).unwrap();
    assert_eq!(server.labels.map().unwrap().len(), 6, "{:?}", server.labels);
    for machine in [&bare, &marked] {
        let server = cloud.server(&shoot.server_id(machine)).unwrap();
        assert_eq!(server.labels.text("old.example.org/machine"), Some(machine.as_str()));
    }
    tokio::time::timeout(Duration::from_secs(60), sweep(&seed, &["--all"])).await.unwrap();
}
