//! The pod in the API, as the kubelet keeps it.

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ListParams};
use rig::objects;
use rig::shoot::{Provider, mcm_pod};
use serde_json::{Value, json};

/// Makes the pod; one that is there already, such as that of a fixture, is taken over.
pub(crate) async fn ensure(client: &Client, namespace: &str, name: &str, provider: Provider, node: &str) -> Result<()> {
    let mut pod = mcm_pod(name, provider);
    pod["metadata"]["namespace"] = namespace.into();
    pod["spec"]["nodeName"] = node.into();
    if objects::get(client, &pod).await?.is_none() {
        objects::create(client, &pod).await?;
    }
    report(client, namespace, name, provider, 0).await?;
    Ok(())
}

/// Writes down how often the provider's container has been started again. Says whether there is such a pod, not terminating.
pub(crate) async fn report(
    client: &Client,
    namespace: &str,
    name: &str,
    provider: Provider,
    restarts: u32,
) -> Result<bool> {
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": namespace, "name": name } });
    match objects::get(client, &pod).await? {
        Some(found) if found.metadata.deletion_timestamp.is_none() => {}
        _ => return Ok(false),
    }
    let container = |name: &str, restarts: u32| -> Value {
        json!({
            "name": name, "image": format!("{name}:v0"), "imageID": "", "ready": true, "started": true, "restartCount": restarts,
            "state": { "running": { "startedAt": "2026-01-01T00:00:00Z" } },
        })
    };
    let containers = [container("machine-controller-manager", 0), container(provider.container(), restarts)];
    objects::patch_status(client, &pod, &json!({ "containerStatuses": containers })).await?;
    Ok(true)
}

/// The MCM pods of a namespace with the provider of each.
pub(crate) async fn of_mcm(client: &Client, namespace: &str) -> Result<Vec<(String, Provider)>> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let pods = pods.list(&ListParams::default().labels("role=machine-controller-manager")).await?;
    let known = |pod: &Pod| {
        let has = |provider: &Provider| {
            let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
            containers.any(|container| container.name == provider.container())
        };
        let name = pod.metadata.name.clone().unwrap_or_default();
        let provider = [Provider::OpenStack, Provider::Stackit].into_iter().find(has);
        provider.map(|provider| (name.clone(), provider)).with_context(|| format!("{namespace}/{name} has no provider"))
    };
    pods.iter().map(known).collect()
}
