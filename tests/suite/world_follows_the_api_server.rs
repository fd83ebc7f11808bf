//! The caches know what the API server knows, with the shipped rights, and no more than decides.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use crate::world::{DEADLINE, Kept, MAX_AGE, Seed, class, guarded, secret};
use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{GuardLabel, Provider};
use mcm_migration_webhook::world::{Resource, shoot_namespaces, snapshot};
use rig::{Shared, objects, until};
use serde_json::{Value, json};

const PROJECT: &str = "2b1f0a3c-7d5e-4f60-8a91-b2c3d4e5f601";
const HIDDEN: &str = "hush-hush";

/// One for all tests of this file that leave it alone; each has namespaces of its own.
async fn seed() -> Arc<Seed> {
    static SEED: Shared<Seed> = Shared::new();
    SEED.get(Seed::with_the_machine_migration).await
}

/// Every kind that decides, once.
fn shoot(namespace: &str) -> Vec<Value> {
    let container = json!([{"name": "machine-controller-manager-provider-stackit", "image": "none"}]);
    let labels = json!({"role": "machine-controller-manager"});
    vec![
        guarded(namespace),
        json!({
            "apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
            "metadata": {"name": "openstack-to-stackit", "namespace": namespace}, "spec": {},
            "status": {"conditions": [{"type": "Armed", "status": "True", "reason": "Armed", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }),
        class(namespace, "pool", "stackit"),
        json!({
            "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": "machine", "namespace": namespace,
                "annotations": {"stackit.cloud/machine-should-be-migrated": "true"}},
            "spec": {"providerID": "openstack:///r/1", "class": {"kind": "MachineClass", "name": "pool"}},
        }),
        json!({
            "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineDeployment",
            "metadata": {"name": "pool", "namespace": namespace},
            "spec": {"replicas": 1, "selector": {}, "template": {"spec": {"class": {"kind": "MachineClass", "name": "pool"}}}},
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "machine-controller-manager", "namespace": namespace},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": {"containers": container}}},
        }),
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "machine-controller-manager-0", "namespace": namespace, "labels": labels},
            "spec": {"containers": container}, "status": {"phase": "Running"},
        }),
        secret(namespace, "cloudprovider", &json!({"project-id": PROJECT, "serviceaccount.json": HIDDEN})),
        json!({
            "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker",
            "metadata": {"name": "worker", "namespace": namespace}, "spec": {"type": "stackit"},
            "status": {"lastOperation": {"type": "Reconcile", "state": "Succeeded"}, "machineDeployments": [{"name": "pool"}]},
        }),
        json!({
            "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Cluster", "metadata": {"name": namespace},
            "spec": {"cloudProfile": {}, "seed": {"metadata": {"name": "here"}},
                "shoot": {"spec": {"seedName": "here"}, "status": {"seedName": "here"}}},
        }),
    ]
}

/// Whether each of the ten kinds has left what decides.
fn is_complete(facts: &NamespaceFacts) -> bool {
    facts.guard() == Some(GuardLabel::Closed)
        && facts.migration.is_some_and(|migration| migration.armed && !migration.paused)
        && facts.classes.get("pool") == Some(&Provider::Stackit)
        && facts
            .machines
            .get("machine")
            .is_some_and(|machine| machine.is_legacy() && machine.marked && &*machine.class == "pool")
        && facts.machine_deployments.get("pool").is_some_and(|class| &**class == "pool")
        && facts.mcm_deployment.is_some_and(|template| template.stackit && !template.openstack)
        && facts.mcm_pods.get("machine-controller-manager-0").is_some_and(|pod| pod.containers.stackit && !pod.ended)
        && facts.project.is_some_and(|project| project.as_str() == PROJECT)
        && facts
            .workers
            .get("worker")
            .is_some_and(|worker| worker.is_stackit && worker.wanted_machine_deployments.len() == 1)
        && facts.cluster.as_ref().is_some_and(|cluster| &*cluster.shoot_status_seed == "here")
}

#[tokio::test]
async fn what_is_there_is_listed_and_what_comes_is_watched() {
    let seed = &*seed().await;
    seed.apply(&shoot("listed")).await;
    let kept = Kept::filled(&seed.kubeconfig).await;
    kept.knows("the shoot that was there before", "listed", is_complete).await;
    seed.apply(&shoot("watched")).await;
    kept.knows("the shoot that came later", "watched", is_complete).await;
    kept.knows("nothing of a namespace that is not there", "absent", |facts| *facts == NamespaceFacts::default()).await;
}

#[tokio::test]
async fn changes_and_deletions_are_known_at_once() {
    let seed = &*seed().await;
    seed.apply(&[guarded("changes"), class("changes", "pool", "OpenStack")]).await;
    let kept = Kept::filled(&seed.kubeconfig).await;
    kept.knows("the OpenStack class", "changes", |facts| facts.openstack_class() == Some("pool")).await;
    seed.apply(&[class("changes", "pool", "stackit")]).await;
    kept.knows("the class that flipped", "changes", |facts| {
        facts.openstack_class().is_none() && facts.has_stackit_class()
    })
    .await;
    objects::delete(&seed.admin().await, &class("changes", "pool", "stackit")).await.unwrap();
    kept.knows("that the class is gone", "changes", |facts| facts.classes.is_empty()).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "changes"}});
    let label = json!({"metadata": {"labels": {"mcm-migration.stackit.cloud/guard": "rolling-back"}}});
    objects::merge(&seed.admin().await, &namespace, &label).await.unwrap();
    kept.knows("the other label", "changes", |facts| facts.guard() == Some(GuardLabel::RollingBack)).await;
}

#[tokio::test]
async fn a_pod_that_loses_the_label_is_gone() {
    let seed = &*seed().await;
    seed.apply(&shoot("relabelled")).await;
    let kept = Kept::filled(&seed.kubeconfig).await;
    kept.knows("the pod", "relabelled", |facts| facts.mcm_pods.len() == 1).await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "machine-controller-manager-0", "namespace": "relabelled"}});
    objects::merge(&seed.admin().await, &pod, &json!({"metadata": {"labels": {"role": "other"}}})).await.unwrap();
    kept.knows("that it is no pod of ours", "relabelled", |facts| facts.mcm_pods.is_empty()).await;
}

#[tokio::test]
async fn of_a_secret_only_the_project_is_in_memory() {
    let seed = &*seed().await;
    seed.apply(&[
        guarded("secrets"),
        secret(
            "secrets",
            "cloudprovider",
            &json!({"project-id": PROJECT, "serviceaccount.json": HIDDEN, "other": HIDDEN}),
        ),
        secret("secrets", "other", &json!({"project-id": "11111111-7d5e-4f60-8a91-b2c3d4e5f601"})),
    ])
    .await;
    let kept = Kept::filled(&seed.kubeconfig).await;
    kept.knows("the project", "secrets", |facts| facts.project.is_some_and(|project| project.as_str() == PROJECT))
        .await;
    let memory = format!("{:?}", kept.world);
    assert!(memory.contains(PROJECT), "{memory}");
    for hidden in [HIDDEN, "aHVzaC1odXNo", "11111111-7d5e", "serviceaccount"] {
        assert!(!memory.contains(hidden), "{hidden} is in {memory}");
    }
    seed.apply(&[secret("secrets", "cloudprovider", &json!({"project-id": format!("{PROJECT}\n")}))]).await;
    kept.knows("no project in a value with white space", "secrets", |facts| facts.project.is_none()).await;
}

#[tokio::test]
async fn a_quiet_cluster_stays_fresh() {
    let seed = Seed::with_the_machine_migration().await;
    let kept = Kept::filled(&seed.kubeconfig).await;
    // Nothing can be awaited here: it is about what must not happen for a while.
    let until = tokio::time::Instant::now() + MAX_AGE * 5 / 2;
    while tokio::time::Instant::now() < until {
        assert_eq!(kept.world.stale(), None, "{:#?}", kept.world.ages());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn without_the_machine_migration_s_crd_there_is_none_until_it_is_installed() {
    let seed = Seed::start().await;
    let kept = Kept::filled(&seed.kubeconfig).await;
    kept.knows("that there is none", "later", |facts| facts.migration.is_none()).await;
    seed.install_the_machine_migration().await;
    seed.apply(&shoot("later")).await;
    kept.knows("the MachineMigration that came with its CRD", "later", is_complete).await;
}

#[tokio::test]
async fn an_api_server_that_was_gone_is_followed_again() {
    let seed = Seed::with_the_machine_migration().await;
    seed.apply(&[guarded("gone"), class("gone", "pool", "OpenStack")]).await;
    let kept = Kept::filled(&seed.kubeconfig).await;
    kept.knows("the class", "gone", |facts| facts.openstack_class() == Some("pool")).await;
    seed.server.kill_api_server();
    until("stale", MAX_AGE + Duration::from_secs(40), || async { Ok(kept.world.stale()) }).await.unwrap();
    seed.server.start_api_server().await.unwrap();
    seed.apply(&[class("gone", "pool", "stackit")]).await;
    kept.knows("what changed since", "gone", NamespaceFacts::has_stackit_class).await;
    kept.stale(None, DEADLINE).await;
}

#[tokio::test]
async fn a_resource_that_may_not_be_read_is_stale_and_heals() {
    let seed = Seed::with_the_machine_migration().await;
    let kept = Kept::filled(&seed.kubeconfig).await;
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "mcm-migration-webhook"}});
    let shipped = objects::get(&seed.admin().await, &role).await.unwrap().unwrap();
    let mut rules = shipped.data["rules"].clone();
    for rule in rules.as_array_mut().unwrap() {
        rule["resources"].as_array_mut().unwrap().retain(|resource| resource != "machineclasses");
    }
    rules.as_array_mut().unwrap().retain(|rule| rule["resources"] != json!([]));
    objects::merge(&seed.admin().await, &role, &json!({"rules": rules})).await.unwrap();
    kept.stale(Some(Resource::MachineClasses), MAX_AGE + Duration::from_secs(40)).await;
    objects::merge(&seed.admin().await, &role, &json!({"rules": shipped.data["rules"]})).await.unwrap();
    kept.stale(None, DEADLINE).await;
}

#[tokio::test]
async fn a_snapshot_reads_one_namespace_uncached_and_no_secret() {
    let seed = &*seed().await;
    seed.apply(&shoot("snapshot")).await;
    seed.apply(&shoot("snapshot-beside")).await;
    let client = rig::api_server::client(&seed.kubeconfig).await.unwrap();
    let mut facts = snapshot(&client, "snapshot").await.unwrap();
    assert_eq!(facts.project, None);
    facts.project = mcm_migration_core::domain::ProjectId::parse(PROJECT).ok();
    assert!(is_complete(&facts), "{facts:#?}");
    assert_eq!((facts.machines.len(), facts.classes.len()), (1, 1));
    assert_eq!(snapshot(&client, "absent").await.unwrap(), NamespaceFacts::default());
    let shoots = shoot_namespaces(&client).await.unwrap();
    assert!(
        shoots.windows(2).all(|pair| pair[0] < pair[1]) && shoots.iter().any(|shoot| shoot == "snapshot"),
        "{shoots:?}"
    );
}
