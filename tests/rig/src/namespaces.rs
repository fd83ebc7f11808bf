//! What the namespace controller does in a real cluster: emptying and ending terminating namespaces.

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};

use crate::ApiServer;

/// Deletes what is in each terminating namespace and ends those that are empty; gives the names of the ended ones.
/// Objects with finalizers keep their namespace until somebody takes the finalizers away.
pub async fn end_terminating(server: &ApiServer) -> Result<Vec<String>> {
    let namespaces: Api<Namespace> = Api::all(server.admin_client().await?);
    let mut ended = Vec::new();
    for namespace in namespaces.list(&ListParams::default()).await.context("cannot list namespaces")? {
        let name = namespace.metadata.name.clone().unwrap_or_default();
        if namespace.metadata.deletion_timestamp.is_some() && end(server, &name, namespace).await? {
            ended.push(name);
        }
    }
    Ok(ended)
}

async fn end(server: &ApiServer, name: &str, mut namespace: Namespace) -> Result<bool> {
    let kinds = ["api-resources", "--namespaced", "--verbs=list,delete", "--output=name"];
    let kinds = server.kubectl(&kinds, None).await?.ok()?;
    // Events are many, and nobody waits for them.
    let kinds = kinds.lines().filter(|kind| !kind.starts_with("events")).collect::<Vec<_>>().join(",");
    let flags = ["--namespace", name, "--ignore-not-found"];
    server.kubectl(&[&["delete", &kinds, "--all", "--wait=false"], &flags[..]].concat(), None).await?.ok()?;
    let left = server.kubectl(&[&["get", &kinds, "--output=name"], &flags[..]].concat(), None).await?.ok()?;
    if !left.trim().is_empty() {
        return Ok(false);
    }
    if let Some(spec) = namespace.spec.as_mut() {
        spec.finalizers = None;
    }
    let body = serde_json::to_string(&namespace).context("a namespace that is no JSON")?;
    let path = format!("/api/v1/namespaces/{name}/finalize");
    server.kubectl(&["replace", "--raw", &path, "-f", "-"], Some(&body)).await?.ok()?;
    Ok(true)
}
