//! What Gardener does on the seed that a shoot leaves.

use kube::Client;
use mcm_stand_in::Mcm;
use rig::shoot::{Provider, mcm_deployment};
use rig::{Shoot, objects};
use serde_json::{Value, json};

use super::snapshot::Snapshot;
use crate::side_task_support::Seed;

pub(super) fn named(api: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = namespace.into();
    }
    object
}

pub(super) fn worker(shoot: &Shoot) -> Value {
    named("extensions.gardener.cloud/v1alpha1", "Worker", Some(&shoot.namespace()), shoot.worker())
}

pub(super) fn cluster(shoot: &Shoot) -> Value {
    named("extensions.gardener.cloud/v1alpha1", "Cluster", None, &shoot.namespace())
}

/// Takes the shoot down with what Gardener persists: the MCM goes, the state is kept, finalizers and Machines go, then the Worker; the Cluster
/// goes last, and the namespace with it.
pub async fn drain(seed: &Seed, shoot: &Shoot, mcm: &Mcm) -> Snapshot {
    let (client, namespace) = (&seed.client, shoot.namespace());
    leave(client, shoot).await;
    let mut deployment = mcm_deployment(Provider::Stackit);
    deployment["metadata"]["namespace"] = namespace.clone().into();
    objects::delete(client, &deployment).await.unwrap();
    mcm.stop().await.unwrap();
    let snapshot = Snapshot::take(seed, shoot).await;
    for machine in &snapshot.0 {
        remove(client, machine).await;
    }
    for (kind, name) in [
        ("MachineSet", format!("{}-5f3d1", shoot.machine_deployment())),
        ("MachineDeployment", shoot.machine_deployment()),
    ] {
        remove(client, &named("machine.sapcloud.io/v1alpha1", kind, Some(&namespace), &name)).await;
    }
    let class = ["-n", &namespace, "delete", "machineclasses.machine.sapcloud.io", "--all"];
    seed.server.kubectl(&class, None).await.unwrap().ok().unwrap();
    remove(client, &worker(shoot)).await;
    remove(client, &cluster(shoot)).await;
    objects::delete(client, &named("v1", "Namespace", None, &namespace)).await.unwrap();
    snapshot
}

/// The gardenlet asks the Worker to migrate, and the Shoot says so.
async fn leave(client: &Client, shoot: &Shoot) {
    let operation = json!({"metadata": {"annotations": {"gardener.cloud/operation": "migrate"}}});
    objects::merge(client, &worker(shoot), &operation).await.unwrap();
    let status = json!({"lastOperation": {"type": "Migrate", "state": "Processing"}});
    objects::patch_status(client, &worker(shoot), &status).await.unwrap();
    let last = json!({"spec": {"shoot": {"status": {"lastOperation": {"type": "Migrate", "state": "Processing"}}}}});
    objects::merge(client, &cluster(shoot), &last).await.unwrap();
}

/// Takes the finalizers off and deletes.
async fn remove(client: &Client, object: &Value) {
    objects::merge(client, object, &json!({"metadata": {"finalizers": null}})).await.unwrap();
    objects::delete(client, object).await.unwrap();
}
