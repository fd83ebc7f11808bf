//! Where a shoot is paused, leaving, another seed's or on its way back, nothing is written and no cloud is called: from the beginning, and from
//! the moment on at which that turns so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::side_task_faults::proof::text;
use crate::side_task_faults::{Stage, await_complete};
use crate::side_task_support::{LONG, Seed, assert_harmless};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use rig::objects;
use rig::shoot::Shoot;
use serde_json::{Value, json};
use simulator::Call;

/// For how long the caches may not know yet, and an answer on ownership counts.
const LATE: Duration = Duration::from_secs(4);
/// Several passes.
const PASSES: Duration = Duration::from_secs(4);

/// Why a shoot is to be left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    Paused,
    RollingBack,
    Migrate,
    WaitForState,
    LastOperationMigrate,
    ShootMigrates,
    AnotherSeed,
    AnotherSeedStill,
    ClusterOfAnotherSeed,
    ClusterAbsent,
    WorkerAbsent,
    NamespaceTerminating,
    NotStackit,
}

impl Why {
    const ALL: [Self; 13] = [
        Self::Paused,
        Self::RollingBack,
        Self::Migrate,
        Self::WaitForState,
        Self::LastOperationMigrate,
        Self::ShootMigrates,
        Self::AnotherSeed,
        Self::AnotherSeedStill,
        Self::ClusterOfAnotherSeed,
        Self::ClusterAbsent,
        Self::WorkerAbsent,
        Self::NamespaceTerminating,
        Self::NotStackit,
    ];

    /// Makes it so.
    async fn bring_about(self, client: &Client, shoot: &Shoot) {
        let namespace = shoot.namespace();
        let named =
            |api: &str, kind: &str, name: &str| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}});
        let worker = || {
            let mut worker = named("extensions.gardener.cloud/v1alpha1", "Worker", shoot.worker());
            worker["metadata"]["namespace"] = namespace.clone().into();
            worker
        };
        let cluster = named("extensions.gardener.cloud/v1alpha1", "Cluster", &namespace);
        let space = named("v1", "Namespace", &namespace);
        let operation = |operation: &str| json!({"metadata": {"annotations": {"gardener.cloud/operation": operation}}});
        let merge = async |object: &Value, patch: Value| drop(objects::merge(client, object, &patch).await.unwrap());
        match self {
            Self::Paused => {
                let mut migration =
                    named("mcm-migration.stackit.cloud/v1alpha1", "MachineMigration", "openstack-to-stackit");
                migration["metadata"]["namespace"] = namespace.clone().into();
                migration["spec"] = json!({"paused": true});
                drop(objects::apply(client, &migration).await.unwrap());
            }
            Self::RollingBack => {
                let label = |value: &str| json!({"metadata": {"labels": {"mcm-migration.stackit.cloud/guard": value}}});
                merge(&space, label("closed")).await;
                merge(&space, label("rolling-back")).await;
            }
            Self::Migrate => merge(&worker(), operation("migrate")).await,
            Self::WaitForState => merge(&worker(), operation("wait-for-state")).await,
            Self::LastOperationMigrate => {
                let status = json!({"lastOperation": {"type": "Migrate", "state": "Processing"}});
                drop(objects::patch_status(client, &worker(), &status).await.unwrap());
            }
            Self::ShootMigrates => {
                merge(&cluster, json!({"spec": {"shoot": {"status": {"lastOperation": {"type": "Migrate"}}}}})).await;
            }
            Self::AnotherSeed => merge(&cluster, json!({"spec": {"shoot": {"spec": {"seedName": "seed-two"}}}})).await,
            Self::AnotherSeedStill => {
                merge(&cluster, json!({"spec": {"shoot": {"status": {"seedName": "seed-two"}}}})).await;
            }
            Self::ClusterOfAnotherSeed => {
                merge(&cluster, json!({"spec": {"seed": {"metadata": {"name": "seed-two"}}}})).await;
            }
            Self::ClusterAbsent => objects::delete(client, &cluster).await.unwrap(),
            Self::WorkerAbsent => {
                merge(&worker(), json!({"metadata": {"finalizers": null}})).await;
                objects::delete(client, &worker()).await.unwrap();
            }
            // There is no controller that would empty it.
            Self::NamespaceTerminating => objects::delete(client, &space).await.unwrap(),
            Self::NotStackit => merge(&worker(), json!({"spec": {"type": "openstack"}})).await,
        }
    }

    /// Whether the MachineMigration of such a shoot is kept up.
    fn reports(self) -> bool {
        matches!(self, Self::Paused | Self::RollingBack)
    }
}

/// Everything that the product wrote in a namespace, dry runs included, since a moment.
fn writes(events: &[Value], namespace: &str, since: Timestamp) -> Vec<String> {
    let is_write = |event: &&Value| {
        let object = &event["objectRef"];
        let in_it = object["namespace"] == namespace || object["name"] == namespace;
        let verb = matches!(text(&event["verb"]), "create" | "update" | "patch" | "delete" | "deletecollection");
        let ours = text(&event["user"]["username"]).contains(":mcm-migration-system:");
        let at: Timestamp = event["requestReceivedTimestamp"].as_str().unwrap().parse().unwrap();
        in_it && verb && ours && at >= since
    };
    let shown = |event: &Value| {
        format!("{} {} at {}", event["verb"], text(&event["requestURI"]), text(&event["requestReceivedTimestamp"]))
    };
    events.iter().filter(is_write).map(shown).collect()
}

fn assert_left_alone(seed: &Seed, why: Why, shoot: &Shoot, since: Timestamp) {
    let events = seed.server.audit_events().unwrap();
    let mut writes = writes(&events, &shoot.namespace(), since);
    if why.reports() {
        writes.retain(|write| !write.contains("/machinemigrations/openstack-to-stackit/status"));
    }
    assert!(writes.is_empty(), "{why:?} and written to: {writes:#?}");
}

fn calls_of(journal: &[Call], shoot: &Shoot) -> Vec<String> {
    let project = shoot.project_id();
    let calls = journal.iter().filter(|call| call.project.as_ref() == Some(&project));
    calls.map(|call| format!("{:?} after {:?}", call.operation, call.since_start)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_is_not_ours_to_move_is_never_touched() {
    let seed = Seed::start().await;
    let mut left = Vec::new();
    for (number, why) in Why::ALL.into_iter().enumerate() {
        // Each would have something to do for every step: one is switched, one is in the middle of it, with a Machine to be settled.
        let switched = Stage::switched(&seed, &format!("a{number}"), 2).await;
        let switching = Stage::switching(&seed, &format!("b{number}")).await;
        for stage in [switched, switching] {
            why.bring_about(&seed.client, &stage.shoot).await;
            left.push((why, stage));
        }
    }
    let control = Stage::switched(&seed, "control", 2).await;
    let since = Timestamp::now();
    let _product = seed.one_replica(&["--boot-volume-care"]).await;
    await_complete(&seed, [&control], LONG).await;
    tokio::time::sleep(PASSES).await;
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    for (why, stage) in &left {
        assert_left_alone(&seed, *why, &stage.shoot, since);
        let calls = calls_of(&journal, &stage.shoot);
        assert!(calls.is_empty(), "{why:?} and the cloud was called: {calls:#?}");
    }
    assert!(!writes(&seed.server.audit_events().unwrap(), &control.namespace(), since).is_empty());
    assert!(!calls_of(&journal, &control.shoot).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_stops_being_ours_is_left_at_once() {
    let seed = Seed::start().await;
    let mut left = Vec::new();
    for (number, why) in Why::ALL.into_iter().enumerate() {
        left.push((why, Stage::switched(&seed, &format!("m{number}"), 2).await));
    }
    let control = Stage::switched(&seed, "control", 2).await;
    // Long enough to bring all of it about while all are in quarantine.
    let _product = seed.one_replica(&["--quarantine", "30s"]).await;
    for (_, stage) in &left {
        seed.await_condition(&stage.shoot, "Rewritten", LONG).await;
    }
    for (why, stage) in &left {
        why.bring_about(&seed.client, &stage.shoot).await;
    }
    assert_eq!(seed.cloud().count(simulator::Operation::PatchServer), 0, "it took too long");
    tokio::time::sleep(LATE).await;
    let since = Timestamp::now();
    let before = seed.cloud().journal().len();
    await_complete(&seed, [&control], LONG).await;
    tokio::time::sleep(PASSES).await;
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    for (why, stage) in &left {
        assert_left_alone(&seed, *why, &stage.shoot, since);
        let calls = calls_of(&journal[before..], &stage.shoot);
        assert!(calls.is_empty(), "{why:?} and the cloud was called: {calls:#?}");
        let labelled = |server: &simulator::Server| server.labels.text("kubernetes.io/machine").is_some();
        assert!(!seed.cloud().servers(&stage.project()).iter().any(labelled), "{why:?} and labelled");
    }
    seed.assert_complete(&control.shoot).await;
}
