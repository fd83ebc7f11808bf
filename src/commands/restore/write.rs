//! The writes, each after what it relies on was read again.

use kube::api::{Api, ApiResource, DynamicObject, Patch};
use mcm_migration_core::archive::{Change, Record, Verdict};
use mcm_migration_core::domain::keys;
use serde_json::{Map, Value, json};

use super::print;
use super::shoot::Shoot;
use crate::seed::{CallError, call};
use crate::world::{Resource, WorldError, machine_to_write_back, owner_and_mcm};

/// Why an object was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// What the restore was decided on is no longer so.
    #[error("it changed meanwhile{0}; run the restore again")]
    Changed(String),
    /// It could not be read again.
    #[error(transparent)]
    Read(#[from] WorldError),
    /// The API server refused, or did not answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The API server took the write, and what it answers is not what was written.
    #[error("the API server took the write and left {0} out: see which webhook does that")]
    NotTaken(&'static str),
}

/// Writes one change, if the record still comes to it.
pub(super) async fn write(shoot: &Shoot<'_>, record: &Record, change: &Change) -> Result<(), WriteError> {
    match change {
        Change::ProviderId { machine, provider_id, set } => {
            let mut annotations = annotations(set);
            for left_over in
                [keys::MACHINE_SHOULD_BE_MIGRATED, keys::PREVIOUS_PROVIDER_ID, keys::SETTLED, keys::EXCEPTION]
            {
                annotations.insert(left_over.to_owned(), Value::Null);
            }
            let version = still(shoot, record, change, machine).await?;
            let patch = json!({
                "metadata": {"resourceVersion": version, "annotations": annotations}, "spec": {"providerID": provider_id},
            });
            let after = patched(shoot, Resource::Machines, machine, &patch).await?;
            took(after["spec"]["providerID"] == **provider_id, "the provider ID")
        }
        Change::Annotations { machine, set } => {
            let version = still(shoot, record, change, machine).await?;
            let patch = json!({"metadata": {"resourceVersion": version, "annotations": annotations(set)}});
            let after = patched(shoot, Resource::Machines, machine, &patch).await?;
            let shown = &after["metadata"]["annotations"];
            took(set.iter().all(|(key, value)| shown[*key] == **value), "an annotation")
        }
        Change::UnmarkWorker { worker } => {
            let client = shoot.seed.client();
            let doing = format!("cannot read Worker {}/{worker}", shoot.namespace);
            let read = call(doing, api(shoot, Resource::Workers).get_metadata(worker)).await?;
            let mut now = shoot.snapshot.clone();
            now.facts = owner_and_mcm(&client, shoot.namespace).await?;
            comes_to(shoot, record, change, &now)?;
            let annotations = json!({keys::WORKER_MIGRATED: Value::Null});
            let patch =
                json!({"metadata": {"resourceVersion": read.metadata.resource_version, "annotations": annotations}});
            let after = patched(shoot, Resource::Workers, worker, &patch).await?;
            took(after["metadata"]["annotations"][keys::WORKER_MIGRATED].is_null(), "the mark")
        }
    }
}

/// The Machine's version, if the record comes to the same change by what is read right now.
async fn still(shoot: &Shoot<'_>, record: &Record, change: &Change, name: &str) -> Result<String, WriteError> {
    let client = shoot.seed.client();
    // The Machine first: whoever changes it after that makes the write fail.
    let read = machine_to_write_back(&client, shoot.namespace, name).await?;
    let Some((machine, version, previous)) = read else { return Err(WriteError::Changed(": it is gone".to_owned())) };
    let facts = owner_and_mcm(&client, shoot.namespace).await?;
    comes_to(shoot, record, change, &shoot.with(facts, name, machine, previous))?;
    Ok(version)
}

fn comes_to(
    shoot: &Shoot<'_>,
    record: &Record,
    change: &Change,
    now: &crate::world::WayBackSnapshot,
) -> Result<(), WriteError> {
    match shoot.finding(record, now).map(|found| found.verdict) {
        Some(Verdict::Write(again)) if again == *change => Ok(()),
        Some(verdict @ Verdict::Refused(_)) => Err(WriteError::Changed(format!(": {}", print::reasons(&verdict)))),
        _ => Err(WriteError::Changed(String::new())),
    }
}

fn annotations(set: &std::collections::BTreeMap<&'static str, Box<str>>) -> Map<String, Value> {
    set.iter().map(|(key, value)| ((*key).to_owned(), Value::from(&**value))).collect()
}

fn api(shoot: &Shoot<'_>, resource: Resource) -> Api<DynamicObject> {
    let api_version = resource.api_version();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: resource.kind().to_owned(),
        plural: resource.plural().to_owned(),
    };
    Api::namespaced_with(shoot.seed.client(), shoot.namespace, &resource)
}

async fn patched(shoot: &Shoot<'_>, resource: Resource, name: &str, patch: &Value) -> Result<Value, WriteError> {
    let doing = format!("cannot write {} {}/{name}", resource.kind(), shoot.namespace);
    let after = call(doing, api(shoot, resource).patch(name, &shoot.seed.patching(), &Patch::Merge(patch))).await?;
    Ok(json!({"metadata": {"annotations": after.metadata.annotations}, "spec": after.data["spec"]}))
}

fn took(took: bool, what: &'static str) -> Result<(), WriteError> {
    if took { Ok(()) } else { Err(WriteError::NotTaken(what)) }
}
