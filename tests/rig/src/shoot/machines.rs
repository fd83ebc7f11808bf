//! Objects of the machine-controller-manager, with the fields that real ones carry
//! (`machine.sapcloud.io/v1alpha1`, gardener/machine-controller-manager `docs/documents/apis.md`).

use serde_json::{Value, json};

use super::Provider;

const API_VERSION: &str = "machine.sapcloud.io/v1alpha1";
const TIME: &str = "2026-01-01T00:00:00Z";

/// `openstack:///RegionOne/<server>`, as the OpenStack provider writes it.
#[must_use]
pub fn legacy_id(server: &str) -> String {
    format!("openstack:///RegionOne/{server}")
}

/// `stackit://<project>/<server>`, as the STACKIT provider writes it.
#[must_use]
pub fn stackit_id(project: &str, server: &str) -> String {
    format!("stackit://{project}/{server}")
}

/// A running Machine with finalizer, labels, annotations, node template and status; without a namespace.
#[must_use]
pub fn machine(name: &str, class: &str, provider_id: &str) -> Value {
    let node = format!("node-{name}");
    json!({
        "apiVersion": API_VERSION, "kind": "Machine",
        "metadata": {
            "name": name,
            "labels": { "machine-template-hash": "2903847561", "name": class, "node": node },
            "annotations": { "machinepriority.machine.sapcloud.io": "3" },
            "finalizers": ["machine.sapcloud.io/machine-controller-manager"],
        },
        "spec": {
            "class": { "apiGroup": "machine.sapcloud.io", "kind": "MachineClass", "name": class },
            "creationTimeout": "20m0s", "drainTimeout": "2h0m0s", "healthTimeout": "10m0s", "maxEvictRetries": 10,
            "nodeConditions": "KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable",
            "nodeTemplate": {
                "metadata": {
                    "creationTimestamp": null,
                    "labels": { "node.kubernetes.io/role": "node", "worker.gardener.cloud/pool": "worker" },
                    "annotations": { "worker.gardener.cloud/kubernetes-version": "1.33.4" },
                },
                // Another field than the one that is rewritten; never touched.
                "spec": {
                    "providerID": format!("openstack:///{}", provider_id.rsplit('/').next().unwrap_or_default()),
                    "taints": [{ "key": "node.gardener.cloud/critical-components-not-ready", "effect": "NoSchedule" }],
                },
            },
            "providerID": provider_id,
        },
        "status": {
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
                "lastHeartbeatTime": TIME, "lastTransitionTime": TIME,
            }],
            "currentStatus": { "phase": "Running", "lastUpdateTime": TIME },
            "lastOperation": {
                "type": "Create", "state": "Successful", "lastUpdateTime": TIME,
                "description": format!("Machine {name} successfully joined the cluster"),
            },
        },
    })
}

/// The same Machine after its migration: the annotations that stay.
#[must_use]
pub fn migrated_machine(mut machine: Value, previous_id: &str) -> Value {
    let annotations = &mut machine["metadata"]["annotations"];
    annotations["stackit.cloud/migrated-machine"] = "true".into();
    annotations["mcm-migration.stackit.cloud/previous-provider-id"] = previous_id.into();
    machine
}

/// A MachineClass of one of the providers, as Gardener's extension writes it; without a namespace.
#[must_use]
pub fn class(name: &str, provider: Provider) -> Value {
    let spec = match provider {
        Provider::OpenStack => json!({
            "apiVersion": "openstack.machine.gardener.cloud/v1alpha1", "kind": "MachineProviderConfig",
            "spec": {
                "region": "RegionOne", "availabilityZone": "eu01-1", "flavorName": "c1.4", "imageName": "flatcar-4230",
                "keyName": "shoot-ssh", "networkID": super::uuid("network"), "podNetworkCIDRs": ["100.64.0.0/12"],
                "securityGroups": ["shoot"], "tags": { "kubernetes.io-cluster-shoot": "1", "kubernetes.io-role-node": "1" },
            },
        }),
        Provider::Stackit => json!({
            "region": "eu01", "availabilityZone": "eu01-1", "machineType": "c1.4", "imageId": super::uuid("image"),
            "labels": { "kubernetes.io/cluster": "shoot", "kubernetes.io/role": "node" },
            "networking": { "networkId": super::uuid("network") }, "securityGroups": [super::uuid("security group")],
            "bootVolume": { "size": 50, "performanceClass": "storage_premium_perf1", "deleteOnTermination": true },
        }),
    };
    json!({
        "apiVersion": API_VERSION, "kind": "MachineClass",
        "metadata": { "name": name, "labels": { "gardener.cloud/purpose": "machineclass" } },
        "provider": provider.class_value(),
        "providerSpec": spec,
        "credentialsSecretRef": { "name": "cloudprovider" },
        "secretRef": { "name": name },
        "nodeTemplate": {
            "architecture": "amd64", "capacity": { "cpu": "4", "memory": "8Gi", "gpu": "0" }, "instanceType": "c1.4",
            "region": "eu01", "zone": "eu01-1",
        },
    })
}

pub(super) fn machine_deployment(name: &str, class: &str, replicas: usize) -> Value {
    let mut deployment = replicated("MachineDeployment", name, name, class, replicas);
    deployment["spec"]["strategy"] =
        json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } });
    deployment
}

pub(super) fn machine_set(deployment: &str, class: &str, replicas: usize) -> Value {
    replicated("MachineSet", &format!("{deployment}-5f3d1"), deployment, class, replicas)
}

fn replicated(kind: &str, name: &str, deployment: &str, class: &str, replicas: usize) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": kind,
        "metadata": { "name": name, "labels": { "name": deployment } },
        "spec": {
            "replicas": replicas, "minReadySeconds": 500,
            "selector": { "matchLabels": { "name": deployment } },
            "template": {
                "metadata": { "labels": { "name": deployment } },
                "spec": { "class": { "apiGroup": "machine.sapcloud.io", "kind": "MachineClass", "name": class } },
            },
        },
        "status": { "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas, "observedGeneration": 1 },
    })
}
