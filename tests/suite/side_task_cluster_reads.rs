//! What the side task reads of a real API server, with the rights that are shipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use mcm_migration_core::decide::{Known, NamespaceFacts};
use mcm_migration_core::domain::ProjectId;
use mcm_migration_core::plan::{ClassDetails, LeaseSighting};
use mcm_migration_webhook::sidetask::{Cluster, ClusterError, Snapshot, VersionOf, Write};
use mcm_migration_webhook::world::World;
use rig::shoot::{Provider, node};
use rig::{Shoot, arm_by_hand, objects};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

use crate::side_task_cluster::world::{DEADLINE, Kept, MAX_AGE};
use crate::side_task_cluster::{
    Seed, class, cluster, cluster_of, machine, make, migration, namespace, seed, version, worker,
};

#[tokio::test]
async fn a_snapshot_is_what_the_caches_come_to_know_and_the_details_of_the_classes() {
    let seed = &*seed().await;
    let shoot = Shoot::new("snapshot").migrated_machines(1).pods(&[Provider::Stackit, Provider::OpenStack]);
    let name = make(seed, &shoot).await;
    let mut left = rig::shoot::class("left", Provider::OpenStack);
    left["metadata"]["namespace"] = name.clone().into();
    objects::create(&seed.admin().await, &left).await.unwrap();
    arm_by_hand(&seed.admin().await, &name).await.unwrap();

    let Snapshot { facts, classes } = cluster(seed).await.snapshot(&name).await.unwrap();
    assert_eq!((facts.machines.len(), facts.mcm_pods.len(), facts.workers.len()), (4, 2, 1));
    assert!(facts.migration.unwrap().armed && facts.cluster.is_some() && facts.mcm_deployment.is_some());
    assert_eq!(facts.project, ProjectId::parse(&shoot.project_id()).ok());
    let kept = Kept::filled(&seed.kubeconfig).await;
    kept.knows("the same as the snapshot", &name, |known| *known == facts).await;

    let details =
        |object: &Value| ClassDetails::of(object["provider"].as_str().unwrap(), object["providerSpec"].clone());
    assert_eq!(classes.len(), 2);
    assert_eq!(classes["left"], details(&left));
    assert_eq!(classes[&*shoot.class()], details(&rig::shoot::class("", Provider::Stackit)));
    let providers: Vec<_> = classes.iter().map(|(name, class)| (name.clone(), class.provider)).collect();
    assert_eq!(facts.classes.into_iter().collect::<Vec<_>>(), providers);
}

#[tokio::test]
async fn the_owner_is_read_of_four_kinds_alone() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("owner")).await;
    arm_by_hand(&seed.admin().await, &name).await.unwrap();
    let cluster = cluster(seed).await;
    let all = cluster.snapshot(&name).await.unwrap().facts;
    let owner = cluster.owner(&name).await.unwrap();
    let wanted = NamespaceFacts {
        namespace: all.namespace,
        migration: all.migration,
        workers: all.workers,
        cluster: all.cluster,
        ..NamespaceFacts::default()
    };
    assert!(wanted.namespace.is_some() && wanted.migration.is_some() && wanted.cluster.is_some());
    assert_eq!(owner, wanted);
}

#[tokio::test]
async fn shoots_are_the_namespaces_with_a_worker_and_a_look_shows_the_caches() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("look")).await;
    objects::create(&seed.admin().await, &namespace("no-worker")).await.unwrap();
    let kept = Kept::filled(&seed.kubeconfig).await;
    kept.knows("the Machines", &name, |facts| facts.machines.len() == 3).await;
    kept.knows("the other one", "no-worker", |facts| facts.namespace.is_some()).await;
    let cluster = cluster_of(&seed.kubeconfig, Arc::clone(&kept.world)).await;
    let shoots = cluster.shoots();
    assert!(shoots.contains(&name.as_str().into()) && !shoots.contains(&"no-worker".into()), "{shoots:?}");
    assert!(shoots.is_sorted());
    let machines = cluster.look(&name, |known| match known {
        Known::Fresh(facts) => facts.machines.len(),
        Known::Stale(resource) => panic!("{resource} are stale"),
    });
    assert_eq!(machines, 3);
}

#[tokio::test]
async fn machines_and_versions_are_those_of_the_api_server() {
    let seed = &*seed().await;
    let shoot = Shoot::new("versions");
    let name = make(seed, &shoot).await;
    objects::create(&seed.admin().await, &migration(&name)).await.unwrap();
    let cluster = cluster(seed).await;

    let first = shoot.machines().remove(0);
    let now = cluster.machine(&name, &first).await.unwrap().unwrap();
    assert_eq!(now.version, version(seed, &machine(&name, &first)).await);
    assert_eq!(*now.facts.provider_id, shoot.legacy_id(&first));
    assert_eq!(*now.facts.class, shoot.class());

    let (class_name, worker_name) = (shoot.class(), shoot.worker().to_owned());
    for (of, id) in [
        (VersionOf::Namespace, namespace(&name)),
        (VersionOf::Migration, migration(&name)),
        (VersionOf::MachineClass(&class_name), class(&name, &class_name)),
        (VersionOf::Worker(&worker_name), worker(&name, &worker_name)),
    ] {
        assert_eq!(cluster.version(&name, of).await.unwrap(), Some(version(seed, &id).await), "{of:?}");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_none() {
    let seed = &*seed().await;
    let cluster = cluster(seed).await;
    let name = "absent";
    for of in
        [VersionOf::Namespace, VersionOf::Migration, VersionOf::MachineClass("absent"), VersionOf::Worker("absent")]
    {
        assert_eq!(cluster.version(name, of).await.unwrap(), None, "{of:?}");
    }
    assert_eq!(cluster.machine(name, "absent").await.unwrap(), None);
    assert_eq!(cluster.lease(name).await.unwrap(), None);
    assert!(cluster.credentials(name).await.unwrap().is_none());
    assert_eq!(cluster.owner(name).await.unwrap(), NamespaceFacts::default());
    assert_eq!(cluster.snapshot(name).await.unwrap(), Snapshot::default());
}

#[tokio::test]
async fn without_the_definition_there_is_no_machine_migration() {
    let seed = Seed::start().await;
    let name = make(&seed, &Shoot::new("bare")).await;
    let cluster = cluster(&seed).await;
    let facts = cluster.snapshot(&name).await.unwrap().facts;
    assert_eq!((facts.machines.len(), facts.migration), (3, None));
    let owner = cluster.owner(&name).await.unwrap();
    assert_eq!((owner.workers.len(), owner.migration), (1, None));
    assert_eq!(cluster.version(&name, VersionOf::Migration).await.unwrap(), None);
    let made = cluster.write(&name, Write::MakeMigration).await;
    assert!(matches!(&made, Err(ClusterError::Gone(text)) if text.contains("manifests/guard")), "{made:?}");
}

#[tokio::test]
async fn the_lease_shows_holder_and_time_as_they_are_written() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("lease")).await;
    let cluster = cluster(seed).await;
    let admin = seed.admin().await;
    let mut lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "machine-controller", "namespace": name}, "spec": {},
    });
    objects::apply(&admin, &lease).await.unwrap();
    let nobody = LeaseSighting { holder: "".into(), renewed: "".into() };
    assert_eq!(cluster.lease(&name).await.unwrap(), Some(nobody));
    lease["spec"] =
        json!({"holderIdentity": "machine-controller-manager-0", "renewTime": "2026-01-01T00:00:00.123000Z"});
    objects::apply(&admin, &lease).await.unwrap();
    let held =
        LeaseSighting { holder: "machine-controller-manager-0".into(), renewed: "2026-01-01T00:00:00.123000Z".into() };
    assert_eq!(cluster.lease(&name).await.unwrap(), Some(held));
}

#[tokio::test]
async fn credentials_are_those_of_the_secret_and_are_not_shown() {
    let seed = &*seed().await;
    let shoot = Shoot::new("credentials");
    let name = make(seed, &shoot).await;
    let credentials = cluster(seed).await.credentials(&name).await.unwrap().unwrap();
    assert_eq!(credentials.project, ProjectId::parse(&shoot.project_id()).ok());
    let shown = format!("{credentials:?}");
    let key = credentials.key.unwrap();
    assert!(serde_json::from_str::<Value>(key.expose_secret()).unwrap()["credentials"]["privateKey"].is_string());
    assert!(!shown.contains("privateKey"), "{shown}");
}

#[tokio::test]
async fn nodes_are_read_with_the_state_that_counts() {
    let seed = &*seed().await;
    for (name, ready) in [("ready", true), ("lost", false)] {
        objects::create(&seed.admin().await, &node(name, ready)).await.unwrap();
    }
    let nodes = cluster(seed).await.nodes().await.unwrap();
    let found: Vec<_> = nodes.iter().map(|node| (node.name.as_str(), node.ready, !node.uid.is_empty())).collect();
    assert_eq!(found, [("lost", false, true), ("ready", true, true)]);
}

#[tokio::test]
async fn a_refusal_and_a_missing_answer_are_told_apart_and_name_what_was_tried() {
    let seed = &*seed().await;
    let world = || Arc::new(World::new(MAX_AGE));
    let nobody = seed.server.user_kubeconfig("nobody", &[]).unwrap();
    let refused = cluster_of(&nobody, world()).await;
    let errors = [
        refused.machine("n", "m").await.unwrap_err(),
        refused.version("n", VersionOf::MachineClass("m")).await.unwrap_err(),
        refused.write("n", Write::Touch { machine: "m", version: "1" }).await.unwrap_err(),
        refused.credentials("n").await.unwrap_err(),
        refused.owner("n").await.unwrap_err(),
        refused.snapshot("n").await.unwrap_err(),
        refused.nodes().await.unwrap_err(),
    ];
    for error in &errors {
        assert!(matches!(error, ClusterError::Refused(text) if text.contains("forbidden")), "{error:?}");
    }
    for (error, object) in
        errors.iter().zip(["Machine n/m", "MachineClass n/m", "Machine n/m", "Secret n/cloudprovider", "namespace n"])
    {
        assert!(error.to_string().contains(object), "{error} does not name {object}");
    }

    // Nobody listens there.
    let nowhere = kube::Config::new("https://127.0.0.1:1/".parse().unwrap());
    let silent = mcm_migration_webhook::sidetask::KubeCluster::new(nowhere, world()).unwrap();
    let errors = [silent.machine("n", "m").await.unwrap_err(), silent.lease("n").await.unwrap_err()];
    for error in errors {
        assert!(matches!(&error, ClusterError::NoAnswer(text) if text.contains(" n/m")), "{error:?}");
    }
}

#[tokio::test]
async fn snapshots_of_many_shoots_at_once_all_come() {
    let seed = &*seed().await;
    let name = make(seed, &Shoot::new("many")).await;
    let cluster = cluster(seed).await;
    let all = futures::future::join_all((0..40).map(|_| cluster.snapshot(&name)));
    for snapshot in tokio::time::timeout(DEADLINE, all).await.expect("some wait for ever") {
        assert_eq!(snapshot.unwrap().facts.machines.len(), 3);
    }
}
