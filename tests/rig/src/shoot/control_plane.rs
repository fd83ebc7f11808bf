//! The rest of a shoot's namespace, and the objects of Gardener.

use serde_json::{Value, json};

use super::{Provider, SEED, uuid};

const TIME: &str = "2026-01-01T00:00:00Z";

/// The Deployment of the machine-controller-manager; without a namespace.
#[must_use]
pub fn mcm_deployment(provider: Provider) -> Value {
    let labels = json!({ "app": "kubernetes", "role": "machine-controller-manager" });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "machine-controller-manager", "labels": { "gardener.cloud/role": "controlplane" } },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": pod_spec(provider) },
        },
    })
}

/// A running pod of the machine-controller-manager; without a namespace. It has a node, so deleting it leaves it
/// terminating until [`crate::objects::end_pod`].
#[must_use]
pub fn mcm_pod(name: &str, provider: Provider) -> Value {
    let mut spec = pod_spec(provider);
    spec["nodeName"] = "seed-node-1".into();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "labels": { "app": "kubernetes", "role": "machine-controller-manager" } },
        "spec": spec,
        "status": {
            "phase": "Running",
            "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": TIME }],
        },
    })
}

fn pod_spec(provider: Provider) -> Value {
    json!({
        "containers": [
            { "name": "machine-controller-manager", "image": "machine-controller-manager:v0.62.0" },
            { "name": provider.container(), "image": format!("{}:v0", provider.container()) },
        ],
        "terminationGracePeriodSeconds": 5,
    })
}

/// A Node of the seed.
#[must_use]
pub fn node(name: &str, ready: bool) -> Value {
    let status = if ready { "True" } else { "Unknown" };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": { "name": name },
        "status": { "conditions": [{
            "type": "Ready", "status": status, "reason": "Kubelet", "message": "by the test",
            "lastHeartbeatTime": TIME, "lastTransitionTime": TIME,
        }] },
    })
}

/// The secret `cloudprovider`. Without a key it gets one that is made up and opens nothing.
pub(super) fn cloudprovider(project_id: &str, key: Option<&str>) -> Value {
    let made_up = json!({ "id": uuid("key"), "credentials": { "kid": uuid("kid"), "iss": "nobody@sa.stackit.invalid", "privateKey": "none" } });
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": "cloudprovider", "labels": { "gardener.cloud/purpose": "cloudprovider" } },
        "type": "Opaque",
        "stringData": {
            "project-id": project_id, "serviceaccount.json": key.map_or_else(|| made_up.to_string(), str::to_owned),
        },
    })
}

pub(super) fn worker(name: &str, machine_deployment: &str, count: usize) -> Value {
    json!({
        "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker",
        "metadata": { "name": name, "finalizers": ["extensions.gardener.cloud/worker"] },
        "spec": {
            "type": "stackit", "region": "eu01", "secretRef": { "name": "cloudprovider" },
            "infrastructureProviderStatus": {
                "apiVersion": "stackit.provider.extensions.gardener.cloud/v1alpha1", "kind": "InfrastructureStatus",
                "networks": { "id": uuid("network") },
            },
            "pools": [{
                "name": "worker", "minimum": count, "maximum": count + 2, "maxSurge": 1, "maxUnavailable": 0,
                "machineType": "c1.4", "machineImage": { "name": "flatcar", "version": "4230.2.1" }, "architecture": "amd64",
                "zones": ["eu01-1"], "kubernetesVersion": "1.33.4", "userDataSecretRef": { "name": "osc", "key": "cloud_config" },
                "volume": { "size": "50Gi", "type": "storage_premium_perf1" },
            }],
        },
        "status": {
            "observedGeneration": 1,
            "lastOperation": {
                "type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "Successfully reconciled worker",
                "lastUpdateTime": TIME,
            },
            "machineDeployments": [{ "name": machine_deployment, "minimum": count, "maximum": count + 2 }],
        },
    })
}

pub(super) fn cluster(namespace: &str, name: &str, project: &str) -> Value {
    json!({
        "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Cluster",
        "metadata": { "name": namespace },
        "spec": {
            "cloudProfile": {
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "CloudProfile", "metadata": { "name": "stackit" },
                "spec": { "type": "stackit", "regions": [{ "name": "eu01" }] },
            },
            "seed": {
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Seed", "metadata": { "name": SEED },
                "spec": { "provider": { "type": "stackit", "region": "eu01" } },
            },
            "shoot": {
                "apiVersion": "core.gardener.cloud/v1beta1", "kind": "Shoot",
                "metadata": { "name": name, "namespace": format!("garden-{project}"), "uid": uuid(namespace) },
                "spec": { "seedName": SEED, "region": "eu01", "provider": { "type": "stackit" } },
                "status": {
                    "seedName": SEED, "technicalID": namespace, "uid": uuid(namespace),
                    "lastOperation": { "type": "Reconcile", "state": "Succeeded", "progress": 100, "lastUpdateTime": TIME },
                },
            },
        },
    })
}
