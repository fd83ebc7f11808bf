//! Writing Kubernetes objects of any kind from JSON values.

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use serde_json::Value;

/// Whom the fields of fixtures belong to.
pub const FIELD_MANAGER: &str = "rig";

/// The API for the kind, and namespace if there is one, of `object`.
pub fn api_for(client: Client, object: &Value) -> Result<Api<DynamicObject>> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let version = text("/apiVersion").context("an object without apiVersion")?;
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = text("/kind").context("an object without kind")?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    Ok(match text("/metadata/namespace") {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    })
}

/// Creates `object`, with its status if it has one and the kind has that subresource.
pub async fn create(client: &Client, object: &Value) -> Result<DynamicObject> {
    let api = api_for(client.clone(), object)?;
    let typed: DynamicObject = serde_json::from_value(object.clone()).context("no Kubernetes object")?;
    let created = api
        .create(&PostParams::default(), &typed)
        .await
        .with_context(|| format!("cannot create {}", describe(object)))?;
    match object.get("status") {
        Some(status) => patch_status(client, object, status).await,
        None => Ok(created),
    }
}

/// Writes `status` by the status subresource (as kubelets and controllers do), as a merge patch.
pub async fn patch_status(client: &Client, object: &Value, status: &Value) -> Result<DynamicObject> {
    let api = api_for(client.clone(), object)?;
    let name = name_of(object)?;
    let patch = serde_json::json!({ "status": status });
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .with_context(|| format!("cannot write the status of {}", describe(object)))
}

/// Applies `object` server-side, taking over fields of others.
pub async fn apply(client: &Client, object: &Value) -> Result<DynamicObject> {
    let api = api_for(client.clone(), object)?;
    api.patch(name_of(object)?, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(object))
        .await
        .with_context(|| format!("cannot apply {}", describe(object)))
}

/// Merges `patch` into the object that has the kind, namespace and name of `object`.
pub async fn merge(client: &Client, object: &Value, patch: &Value) -> Result<DynamicObject> {
    let api = api_for(client.clone(), object)?;
    api.patch(name_of(object)?, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .with_context(|| format!("cannot patch {}", describe(object)))
}

/// Reads the object that has the kind, namespace and name of `object`; `None` if there is none.
pub async fn get(client: &Client, object: &Value) -> Result<Option<DynamicObject>> {
    let api = api_for(client.clone(), object)?;
    api.get_opt(name_of(object)?).await.with_context(|| format!("cannot read {}", describe(object)))
}

/// Deletes the object that has the kind, namespace and name of `object`; one that is gone already is fine.
pub async fn delete(client: &Client, object: &Value) -> Result<()> {
    delete_with(client, object, &DeleteParams::default()).await
}

/// Removes a pod for good, as the kubelet does once its containers have ended.
pub async fn end_pod(client: &Client, namespace: &str, name: &str) -> Result<()> {
    let pod =
        serde_json::json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "namespace": namespace, "name": name } });
    delete_with(client, &pod, &DeleteParams::default().grace_period(0)).await
}

async fn delete_with(client: &Client, object: &Value, params: &DeleteParams) -> Result<()> {
    let api = api_for(client.clone(), object)?;
    match api.delete(name_of(object)?, params).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot delete {}", describe(object))),
    }
}

fn name_of(object: &Value) -> Result<&str> {
    object.pointer("/metadata/name").and_then(Value::as_str).context("an object without a name")
}

/// `Kind namespace/name`, for messages.
fn describe(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}
