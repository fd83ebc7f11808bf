use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::domain::{Exception, keys};

use super::metadata::or_default;
use super::{Fact, Metadata, View};

/// `Machine` of `machine.sapcloud.io/v1alpha1`.
#[derive(serde::Deserialize)]
pub(super) struct Machine {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    spec: Spec,
}

#[derive(Default, serde::Deserialize)]
struct Spec {
    #[serde(default, rename = "providerID", deserialize_with = "or_default")]
    provider_id: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    class: ClassReference,
}

/// `class` of a Machine's spec, and of a MachineDeployment's template.
#[derive(Default, serde::Deserialize)]
pub(super) struct ClassReference {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) name: Box<str>,
}

impl View for Machine {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        let annotations = &self.metadata.annotations;
        let facts = MachineFacts {
            uid: self.metadata.uid.clone(),
            provider_id: self.spec.provider_id,
            class: self.spec.class.name,
            marked: annotations.is_set(keys::MACHINE_SHOULD_BE_MIGRATED),
            migrated: annotations.is_set(keys::MIGRATED_MACHINE),
            settled: annotations.get(keys::SETTLED).is_some(),
            exception: annotations.get(keys::EXCEPTION).map(Exception::of),
            terminating: self.metadata.terminating(),
        };
        (self.metadata, Some(Fact::Machine(facts)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use serde_json::json;

    #[test]
    fn what_decides_is_kept_and_nothing_of_the_node_template() {
        let object = json!({
            "metadata": {
                "name": "a", "namespace": "n", "uid": "u", "deletionTimestamp": "2024-01-01T00:00:00Z",
                "annotations": {
                    "stackit.cloud/machine-should-be-migrated": "1", "stackit.cloud/migrated-machine": "true",
                    "mcm-migration.stackit.cloud/settled": "no-server", "mcm-migration.stackit.cloud/exception": "", "x": "y",
                },
            },
            "spec": {
                "nodeTemplate": {"spec": {"providerID": "openstack:///other"}},
                "providerID": "openstack:///r/1", "class": {"kind": "MachineClass", "name": "c"},
            },
        });
        let expected = MachineFacts {
            uid: "u".into(),
            provider_id: "openstack:///r/1".into(),
            class: "c".into(),
            marked: true,
            migrated: true,
            settled: true,
            exception: Some(Exception::of("")),
            terminating: true,
        };
        assert_eq!(fact(Resource::Machines, &object), Some(Fact::Machine(expected)));
    }

    #[test]
    fn an_annotation_that_is_not_true_is_not_set() {
        let object = json!({"metadata": {"name": "a", "annotations": {
            "stackit.cloud/machine-should-be-migrated": "false", "stackit.cloud/migrated-machine": "yes"}}});
        assert_eq!(fact(Resource::Machines, &object), Some(Fact::Machine(MachineFacts::default())));
    }
}
