use mcm_migration_core::decide::{LastOperationFacts, WorkerFacts};
use mcm_migration_core::domain::keys;

use super::metadata::or_default;
use super::{Fact, Metadata, View};

/// `Worker` of `extensions.gardener.cloud/v1alpha1`.
#[derive(serde::Deserialize)]
pub(super) struct Worker {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    spec: Spec,
    #[serde(default, deserialize_with = "or_default")]
    status: Status,
}

#[derive(Default, serde::Deserialize)]
struct Spec {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    type_: Box<str>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default, deserialize_with = "or_default")]
    last_operation: LastOperation,
    #[serde(default, deserialize_with = "or_default")]
    machine_deployments: Vec<MachineDeployment>,
}

#[derive(serde::Deserialize)]
struct MachineDeployment {
    #[serde(default, deserialize_with = "or_default")]
    name: Box<str>,
}

/// `lastOperation` of a Worker or a Shoot.
#[derive(Default, serde::Deserialize)]
pub(super) struct LastOperation {
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    type_: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    state: Box<str>,
}

impl From<LastOperation> for LastOperationFacts {
    fn from(operation: LastOperation) -> Self {
        Self { type_: operation.type_, state: operation.state }
    }
}

impl View for Worker {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        let annotations = &self.metadata.annotations;
        let facts = WorkerFacts {
            is_stackit: &*self.spec.type_ == "stackit",
            operation: annotations.get(keys::GARDENER_OPERATION).unwrap_or_default().into(),
            last_operation: self.status.last_operation.into(),
            marked: annotations.is_set(keys::WORKER_MIGRATED),
            terminating: self.metadata.terminating(),
            wanted_machine_deployments: self.status.machine_deployments.into_iter().map(|wanted| wanted.name).collect(),
        };
        (self.metadata, Some(Fact::Worker(facts)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use serde_json::json;

    #[test]
    fn type_operations_and_wanted_machine_deployments_are_kept() {
        let object = json!({
            "metadata": {"name": "a", "annotations": {
                "gardener.cloud/operation": "restore", "stackit.cloud/machine-controller-manager-migrated": "True"}},
            "spec": {"type": "stackit", "pools": [{"name": "p"}]},
            "status": {
                "lastOperation": {"type": "Restore", "state": "Processing", "progress": 7},
                "machineDeployments": [{"name": "b", "minimum": 1}, {"name": "a"}],
            },
        });
        let expected = WorkerFacts {
            is_stackit: true,
            operation: "restore".into(),
            last_operation: LastOperationFacts { type_: "Restore".into(), state: "Processing".into() },
            marked: true,
            terminating: false,
            wanted_machine_deployments: vec!["b".into(), "a".into()],
        };
        assert_eq!(fact(Resource::Workers, &object), Some(Fact::Worker(expected)));
    }

    #[test]
    fn any_other_type_is_not_stackit() {
        for type_ in ["STACKIT", "openstack", ""] {
            let object = json!({"metadata": {"name": "a"}, "spec": {"type": type_}});
            assert_eq!(fact(Resource::Workers, &object), Some(Fact::Worker(WorkerFacts::default())), "{type_}");
        }
    }
}
