//! Each write of the side task does what it says and only that, and nothing when somebody was faster.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use mcm_migration_webhook::sidetask::{Cluster, ClusterError, KubeCluster, MachineNow, Write, Written};
use rig::shoot::Provider;
use rig::{Shoot, objects};
use serde_json::{Value, json};

use crate::side_task_cluster::{
    BIG, GUARD, MARKER, Seed, class, cluster, difference, machine, make, migration, namespace, object, seed, version,
    worker,
};

const FOREIGN: &str = "somebody.else/annotation";

/// Gives an object what nobody may lose: a foreign annotation and, in the places that take any member, unknown ones.
async fn adorn(seed: &Seed, id: &Value, open: &[&str]) {
    let mut patch = json!({"metadata": {"annotations": {FOREIGN: "1"}}});
    for path in open {
        let mut place = &mut patch;
        for member in path.split('.') {
            place = &mut place[member];
        }
        *place = json!({"unknown": {"big": BIG, "list": [1, null, 1.5]}});
    }
    objects::merge(&seed.admin().await, id, &patch).await.unwrap();
}

/// Writes, and gives the answer and what became different.
async fn written(
    seed: &Seed,
    cluster: &KubeCluster,
    shoot: &str,
    id: &Value,
    write: Write<'_>,
) -> (Written, Vec<String>) {
    let before = object(seed, id).await;
    let answer = cluster.write(shoot, write).await.unwrap();
    (answer, difference(&before, &object(seed, id).await))
}

#[track_caller]
fn machine_of(written: Written) -> MachineNow {
    match written {
        Written::Machine(machine) => machine,
        Written::Took(_) => panic!("no Machine"),
    }
}

#[tokio::test]
async fn each_write_of_a_machine_changes_its_annotation_and_nothing_else() {
    let seed = &*seed().await;
    let shoot = Shoot::new("machines").legacy_machines(2);
    let name = make(seed, &shoot).await;
    let [legacy, fresh] = <[String; 2]>::try_from(shoot.machines()).unwrap();
    let (legacy_id, fresh_id) = (machine(&name, &legacy), machine(&name, &fresh));
    for id in [&legacy_id, &fresh_id] {
        adorn(seed, id, &["spec.nodeTemplate"]).await;
    }
    objects::merge(&seed.admin().await, &fresh_id, &json!({"spec": {"providerID": null}})).await.unwrap();
    let cluster = cluster(seed).await;

    let now = &version(seed, &legacy_id).await;
    let touch = Write::Touch { machine: &legacy, version: now };
    let (answer, changed) = written(seed, &cluster, &name, &legacy_id, touch).await;
    assert_eq!(changed, [format!("add /metadata/annotations/{MARKER} \"true\"")]);
    let now = machine_of(answer);
    assert!(now.facts.marked && now.facts.is_legacy());
    assert_eq!(Some(now), cluster.machine(&name, &legacy).await.unwrap());

    let now = &version(seed, &legacy_id).await;
    let clear = Write::Clear { machine: &legacy, version: now };
    let (answer, changed) = written(seed, &cluster, &name, &legacy_id, clear).await;
    assert_eq!(changed, [format!("remove /metadata/annotations/{MARKER}")]);
    assert!(!machine_of(answer).facts.marked);

    let now = &version(seed, &fresh_id).await;
    let settle = Write::SettleNoServer { machine: &fresh, version: now };
    let (answer, changed) = written(seed, &cluster, &name, &fresh_id, settle).await;
    assert_eq!(changed, ["add /metadata/annotations/mcm-migration.stackit.cloud/settled \"no-server\""]);
    let now = machine_of(answer);
    assert!(now.facts.settled && !now.facts.migrated && now.facts.provider_id.is_empty());

    let provider_id = shoot.legacy_id(&fresh);
    let now = &version(seed, &fresh_id).await;
    let settle = Write::SettleId { machine: &fresh, version: now, provider_id: &provider_id };
    let (answer, changed) = written(seed, &cluster, &name, &fresh_id, settle).await;
    let wanted = [
        "add /metadata/annotations/stackit.cloud/migrated-machine \"true\"".to_owned(),
        format!("add /spec/providerID \"{provider_id}\""),
    ];
    assert_eq!(changed, wanted);
    let now = machine_of(answer);
    assert!(now.facts.migrated && *now.facts.provider_id == provider_id);
}

#[tokio::test]
async fn a_retired_class_gets_the_whole_spec_of_its_sibling_and_keeps_all_else() {
    let seed = &*seed().await;
    let shoot = Shoot::new("retire").classes(Provider::OpenStack);
    let (name, class_name) = (make(seed, &shoot).await, shoot.class());
    let id = class(&name, &class_name);
    adorn(seed, &id, &["providerSpec.spec.tags", "nodeTemplate.virtualCapacity"]).await;
    let cluster = cluster(seed).await;

    let provider_spec = json!({"region": "eu01", "labels": {"a": "b"}, "big": BIG, "none": null, "list": [{"c": 1.5}]});
    let before = object(seed, &id).await;
    let now = &version(seed, &id).await;
    let retire = Write::Retire { class: &class_name, version: now, provider_spec: &provider_spec };
    let (answer, _) = written(seed, &cluster, &name, &id, retire).await;
    assert_eq!(answer, Written::Took(true));
    let mut wanted = before;
    wanted["provider"] = "stackit".into();
    wanted["providerSpec"] = provider_spec.clone();
    let after = object(seed, &id).await;
    assert_eq!(difference(&wanted, &after), [""; 0]);
    assert_eq!(after["providerSpec"]["big"], BIG);
    assert_eq!(after["nodeTemplate"]["virtualCapacity"]["unknown"]["big"], BIG);
    assert!(after["providerSpec"].get("spec").is_none(), "something of the old one is left: {after}");
}

#[tokio::test]
async fn the_worker_is_marked_and_unmarked_and_keeps_all_else() {
    let seed = &*seed().await;
    let shoot = Shoot::new("mark");
    let (name, worker_name) = (make(seed, &shoot).await, shoot.worker().to_owned());
    let id = worker(&name, &worker_name);
    adorn(seed, &id, &[]).await;
    let cluster = cluster(seed).await;
    let path = "/metadata/annotations/stackit.cloud/machine-controller-manager-migrated";
    let now = &version(seed, &id).await;
    let mark = Write::MarkWorker { worker: &worker_name, version: now, marked: true };
    let set = written(seed, &cluster, &name, &id, mark).await;
    assert_eq!(set, (Written::Took(true), vec![format!("add {path} \"true\"")]));
    let now = &version(seed, &id).await;
    let unmark = Write::MarkWorker { worker: &worker_name, version: now, marked: false };
    let unset = written(seed, &cluster, &name, &id, unmark).await;
    assert_eq!(unset, (Written::Took(true), vec![format!("remove {path}")]));
}

#[tokio::test]
async fn the_guard_is_closed_and_the_namespace_keeps_all_else() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("close")).await;
    let id = namespace(&name);
    adorn(seed, &id, &[]).await;
    let cluster = cluster(seed).await;
    let now = &version(seed, &id).await;
    let closed = written(seed, &cluster, &name, &id, Write::CloseGuard { version: now }).await;
    assert_eq!(closed, (Written::Took(true), vec![format!("add /metadata/labels/{GUARD} \"closed\"")]));
}

#[tokio::test]
async fn the_machine_migration_is_made_once() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("make")).await;
    let cluster = cluster(seed).await;
    assert_eq!(cluster.write(&name, Write::MakeMigration).await, Ok(Written::Took(true)));
    assert_eq!(object(seed, &migration(&name)).await["spec"], json!({"paused": false}));
    // An operator pauses it; making it again must not lift that.
    let paused = json!({"spec": {"paused": true}});
    objects::merge(&seed.admin().await, &migration(&name), &paused).await.unwrap();
    let again = cluster.write(&name, Write::MakeMigration).await;
    assert!(matches!(again, Err(ClusterError::Conflict(_))), "{again:?}");
    assert_eq!(object(seed, &migration(&name)).await["spec"], paused["spec"]);
}

#[tokio::test]
async fn a_write_at_an_old_version_is_a_conflict_and_changes_nothing() {
    let seed = &*seed().await;
    let shoot = Shoot::new("stale").classes(Provider::OpenStack);
    let name = make(seed, &shoot).await;
    let (first, class_name, worker_name) = (shoot.machines().remove(0), shoot.class(), shoot.worker().to_owned());
    let spec = json!({"region": "eu01"});
    let cluster = cluster(seed).await;
    objects::merge(
        &seed.admin().await,
        &machine(&name, &first),
        &json!({"metadata": {"annotations": {MARKER: "true"}}}),
    )
    .await
    .unwrap();

    let ids = [machine(&name, &first), class(&name, &class_name), worker(&name, &worker_name), namespace(&name)];
    let mut old = Vec::new();
    for id in &ids {
        old.push(version(seed, id).await);
        adorn(seed, id, &[]).await;
    }
    let machine = first.as_str();
    let writes = [
        (0, Write::SettleId { machine, version: &old[0], provider_id: "openstack:///RegionOne/x" }),
        (0, Write::SettleNoServer { machine, version: &old[0] }),
        (0, Write::Touch { machine, version: &old[0] }),
        (0, Write::Clear { machine, version: &old[0] }),
        (1, Write::Retire { class: &class_name, version: &old[1], provider_spec: &spec }),
        (2, Write::MarkWorker { worker: &worker_name, version: &old[2], marked: true }),
        (2, Write::MarkWorker { worker: &worker_name, version: &old[2], marked: false }),
        (3, Write::CloseGuard { version: &old[3] }),
    ];
    for (index, write) in writes {
        let before = version(seed, &ids[index]).await;
        let answer = cluster.write(&name, write.clone()).await;
        assert!(matches!(answer, Err(ClusterError::Conflict(_))), "{write:?}: {answer:?}");
        assert_eq!(version(seed, &ids[index]).await, before, "{write:?}");
    }
}

#[tokio::test]
async fn a_write_to_an_object_that_is_gone_says_so_and_makes_none() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("without")).await;
    let cluster = cluster(seed).await;
    let spec = json!({});
    for write in [
        Write::Touch { machine: "gone", version: "1" },
        Write::SettleNoServer { machine: "gone", version: "1" },
        Write::Retire { class: "gone", version: "1", provider_spec: &spec },
        Write::MarkWorker { worker: "gone", version: "1", marked: true },
    ] {
        let answer = cluster.write(&name, write.clone()).await;
        assert!(matches!(&answer, Err(ClusterError::Gone(text)) if text.contains("/gone")), "{write:?}: {answer:?}");
    }
    let answer = cluster.write("gone", Write::CloseGuard { version: "1" }).await;
    assert!(matches!(&answer, Err(ClusterError::Gone(text)) if text.contains("Namespace gone")), "{answer:?}");
}

#[tokio::test]
async fn every_write_is_the_program_s_own_in_the_managed_fields() {
    let seed = &*seed().await;
    let shoot = Shoot::new("manager").classes(Provider::OpenStack);
    let name = make(seed, &shoot).await;
    let (first, class_name, worker_name) = (shoot.machines().remove(0), shoot.class(), shoot.worker().to_owned());
    let spec = json!({"region": "eu01"});
    let cluster = cluster(seed).await;
    let ids = [machine(&name, &first), class(&name, &class_name), worker(&name, &worker_name), namespace(&name)];
    let mut now = Vec::new();
    for id in &ids {
        now.push(version(seed, id).await);
    }
    let writes = [
        Write::Touch { machine: &first, version: &now[0] },
        Write::Retire { class: &class_name, version: &now[1], provider_spec: &spec },
        Write::MarkWorker { worker: &worker_name, version: &now[2], marked: true },
        Write::CloseGuard { version: &now[3] },
        Write::MakeMigration,
    ];
    for write in writes {
        cluster.write(&name, write).await.unwrap();
    }
    for id in ids.iter().chain([&migration(&name)]) {
        let found = objects::get(&seed.admin().await, id).await.unwrap().unwrap();
        let managers = found.metadata.managed_fields.unwrap();
        let ours = managers.iter().any(|fields| fields.manager.as_deref() == Some("mcm-migration-webhook"));
        assert!(ours, "{id}: {managers:?}");
    }
}
