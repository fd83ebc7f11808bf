//! Writes: each names the version that it was decided on, and touches only what it is for.

use kube::api::Patch;
use mcm_migration_core::domain::{Reason, keys};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::not_read;
use super::read::{describe, path};
use super::request::{parse, patch};
use super::{ClusterError, MachineNow, Write, Written, status};
use crate::seed::{CallError, Seed};
use crate::world::{Resource, machine_of};

/// The value of [`keys::SETTLED`]: no server of the Machine's name exists.
const NO_SERVER: &str = "no-server";

pub(super) async fn write(seed: &Seed, namespace: &str, write: Write<'_>) -> Result<Written, ClusterError> {
    let shoot = Shoot { seed, namespace };
    match write {
        Write::SettleId { machine, version, provider_id } => {
            let spec = json!({"providerID": provider_id});
            shoot.machine(machine, version, keys::MIGRATED_MACHINE, Some(keys::TRUE), Some(spec)).await
        }
        Write::SettleNoServer { machine, version } => {
            shoot.machine(machine, version, keys::SETTLED, Some(NO_SERVER), None).await
        }
        Write::Touch { machine, version } => {
            shoot.machine(machine, version, keys::MACHINE_SHOULD_BE_MIGRATED, Some(keys::TRUE), None).await
        }
        Write::Clear { machine, version } => {
            shoot.machine(machine, version, keys::MACHINE_SHOULD_BE_MIGRATED, None, None).await
        }
        Write::Except { machine, version, reason } => {
            shoot.machine(machine, version, keys::EXCEPTION, reason.map(Reason::name), None).await
        }
        Write::Retire { class, version, provider_spec } => shoot.retire(class, version, provider_spec).await,
        Write::MakeMigration => {
            seed.make_migration(namespace).await.map_err(explain_missing_kind)?;
            Ok(Written::Took(true))
        }
        Write::CloseGuard { version } => Ok(Written::Took(seed.close_guard(namespace, version).await?)),
        Write::MarkWorker { worker, version, marked } => shoot.mark(worker, version, marked).await,
        Write::Say { version, say } => status::say(seed, namespace, version, say).await,
        Write::Report(report) => status::report(seed, namespace, report).await,
    }
}

/// The API server answers 404 to the making of an object only when it does not know the kind, or the namespace is gone.
fn explain_missing_kind(error: CallError) -> ClusterError {
    match ClusterError::from(error) {
        ClusterError::Gone(text) => {
            ClusterError::Gone(format!("{text} (manifests/guard holds the definition of MachineMigrations)"))
        }
        other => other,
    }
}

/// The objects of one shoot.
struct Shoot<'a> {
    seed: &'a Seed,
    namespace: &'a str,
}

impl Shoot<'_> {
    /// Sets or takes off one annotation of a Machine and, in the same write, members of its spec.
    async fn machine(
        &self,
        name: &str,
        version: &str,
        annotation: &str,
        value: Option<&str>,
        spec: Option<Value>,
    ) -> Result<Written, ClusterError> {
        let mut merge = annotate(version, annotation, value);
        if let Some(spec) = spec {
            merge.insert("spec".to_owned(), spec);
        }
        let text = self.patch(Resource::Machines, name, &Patch::Merge(&merge)).await?;
        let what = format!("the answer to a write of {}", describe(Resource::Machines, self.namespace, name));
        let (facts, version) = machine_of(&text).map_err(|error| not_read(&what, &error))?;
        Ok(Written::Machine(MachineNow { facts, version }))
    }

    async fn mark(&self, name: &str, version: &str, marked: bool) -> Result<Written, ClusterError> {
        #[derive(Deserialize)]
        struct Worker {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            #[serde(default)]
            annotations: Option<Map<String, Value>>,
        }
        let merge = annotate(version, keys::WORKER_MIGRATED, marked.then_some(keys::TRUE));
        let text = self.patch(Resource::Workers, name, &Patch::Merge(&merge)).await?;
        let what = format!("the answer to a write of {}", describe(Resource::Workers, self.namespace, name));
        let worker: Worker = parse(&what, &text)?;
        let found = worker.metadata.annotations.unwrap_or_default().remove(keys::WORKER_MIGRATED);
        Ok(Written::Took(found == marked.then(|| json!(keys::TRUE))))
    }

    async fn retire(&self, name: &str, version: &str, provider_spec: &Value) -> Result<Written, ClusterError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Class {
            #[serde(default)]
            provider: Option<String>,
            #[serde(default)]
            provider_spec: Value,
        }
        // No merge patch: the old providerSpec has to go as a whole. That the version is set, and not tested, makes the API server itself
        // compare it, and answer with a conflict.
        let patch: json_patch::Patch = parse(
            "the patch",
            &json!([
                {"op": "add", "path": "/metadata/resourceVersion", "value": version},
                {"op": "add", "path": "/provider", "value": STACKIT},
                {"op": "add", "path": "/providerSpec", "value": provider_spec},
            ])
            .to_string(),
        )?;
        let text = self.patch(Resource::MachineClasses, name, &Patch::Json::<()>(patch)).await?;
        let what = format!("the answer to a write of {}", describe(Resource::MachineClasses, self.namespace, name));
        let class: Class = parse(&what, &text)?;
        Ok(Written::Took(class.provider.as_deref() == Some(STACKIT) && class.provider_spec == *provider_spec))
    }

    async fn patch<P: serde::Serialize>(
        &self,
        resource: Resource,
        name: &str,
        body: &Patch<P>,
    ) -> Result<String, ClusterError> {
        let doing = format!("cannot write {}", describe(resource, self.namespace, name));
        let (client, path, params) = (self.seed.client(), path(resource, self.namespace), self.seed.patching());
        patch(&client, &doing, path, name, &params, body).await
    }
}

/// The provider of a MachineClass whose servers are STACKIT's.
const STACKIT: &str = "stackit";

/// A merge patch for an object that must still have this version.
fn annotate(version: &str, annotation: &str, value: Option<&str>) -> Map<String, Value> {
    let metadata = json!({"resourceVersion": version, "annotations": {annotation: value}});
    Map::from_iter([("metadata".to_owned(), metadata)])
}
