//! What is to be seen: objects of the API server, audit lines of the replicas.

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use rig::product::field;
use serde_json::Value;

use crate::row::Row;
use crate::setup::Sandbox;

const MARKED: &str = "stackit.cloud/machine-controller-manager-migrated";

/// One row for each shoot, as things are now.
pub(crate) async fn rows(sandbox: &Sandbox) -> Result<Vec<Row>> {
    let client = &sandbox.client;
    let machines = list(client, "machine.sapcloud.io", "Machine").await?;
    let workers = list(client, "extensions.gardener.cloud", "Worker").await?;
    let migrations = list(client, "mcm-migration.stackit.cloud", "MachineMigration").await?;
    let held = held(sandbox);
    let rows = sandbox.scenes.iter().map(|scene| {
        let namespace = scene.shoot.namespace();
        let machines: Vec<_> = of(&machines, &namespace).collect();
        let with_id = |scheme: &str| machines.iter().filter(|machine| provider_id(machine).starts_with(scheme)).count();
        let worker_marked = of(&workers, &namespace).any(|worker| annotation(worker, MARKED) == Some("true"));
        let (legacy, rewritten) = (with_id("openstack:"), with_id("stackit:"));
        // What still waits: Machines first, then the Worker.
        let resource = (legacy > 0).then_some("machines").or((!worker_marked).then_some("workers"));
        let mut lines = held.iter().rev().filter(|line| line.namespace == namespace);
        Row {
            shoot: scene.name().to_owned(),
            total: machines.len(),
            legacy,
            rewritten,
            worker_marked,
            phase: of(&migrations, &namespace).next().map_or_else(|| "–".to_owned(), phase),
            why_not: lines.find(|line| Some(&*line.resource) == resource).map_or_else(String::new, Held::why),
        }
    });
    Ok(rows.collect())
}

/// An audit line that says that a write was let in as it was.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) namespace: String,
    /// `machines` or `workers`.
    pub(crate) resource: String,
    /// One of docs/reasons.md.
    pub(crate) reason: String,
}

impl Held {
    fn why(&self) -> String {
        let what = if self.resource == "workers" { "Worker: " } else { "" };
        format!("{what}{}", self.reason)
    }
}

/// The held writes of all replicas, dry runs left out. One a minute for each namespace and reason is logged.
pub(crate) fn held(sandbox: &Sandbox) -> Vec<Held> {
    let lines = sandbox.replicas.iter().flat_map(rig::Product::logs);
    let held = lines.filter(|line| audited(line, "held")).map(|line| {
        let text = |name| field(&line, name).unwrap_or_default().to_owned();
        Held { namespace: text("namespace"), resource: text("resource"), reason: text("reason") }
    });
    held.collect()
}

/// Whether a log line is the audit of a real write with this decision.
pub(crate) fn audited(line: &Value, decision: &str) -> bool {
    let dry_run = line.get("dry_run").or_else(|| line.get("fields")?.get("dry_run"));
    field(line, "target") == Some("audit")
        && field(line, "decision") == Some(decision)
        && dry_run.is_some_and(|dry_run| dry_run == false)
}

/// A Machine's `spec.providerID`.
pub(crate) fn provider_id(machine: &DynamicObject) -> &str {
    machine.data["spec"]["providerID"].as_str().unwrap_or_default()
}

fn annotation<'a>(object: &'a DynamicObject, key: &str) -> Option<&'a str> {
    object.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn of<'a>(objects: &'a [DynamicObject], namespace: &'a str) -> impl Iterator<Item = &'a DynamicObject> {
    objects.iter().filter(move |object| object.metadata.namespace.as_deref() == Some(namespace))
}

fn phase(migration: &DynamicObject) -> String {
    let phase = migration.data["status"]["phase"].as_str().unwrap_or("–");
    let paused = migration.data["spec"]["paused"] == true;
    format!("{phase}{}", if paused { ", paused" } else { "" })
}

async fn list(client: &Client, group: &str, kind: &str) -> Result<Vec<DynamicObject>> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1alpha1", kind));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    Ok(api.list(&ListParams::default()).await.with_context(|| format!("cannot list {kind}s"))?.items)
}
