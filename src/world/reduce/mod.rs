//! From an object as the API server or a file has it to the few facts that decide.
//!
//! Each kind has a narrow view that names the members it keeps; everything else is skipped while it is read, so no tree of
//! the object is ever built. A member that is absent or null never fails; one of an unexpected type does, because then nobody
//! can say what the object means.

mod cluster;
mod machine;
mod machine_class;
mod machine_deployment;
mod machine_migration;
mod mcm_deployment;
mod mcm_pod;
mod metadata;
mod namespace;
mod pod_spec;
mod secret;
mod worker;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};

use super::{Fact, Resource};
use metadata::Metadata;

/// The narrow view of a kind.
trait View: for<'de> Deserialize<'de> {
    /// Takes the metadata out, and what decides. None for an object that does not decide, whatever it holds.
    fn reduce(self) -> (Metadata, Option<Fact>);
}

/// An object, reduced.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// The namespace whose facts it belongs to: for a Namespace and a Cluster the one of its own name. Empty when it names none.
    pub(super) namespace: Box<str>,
    /// Its name.
    pub(super) name: Box<str>,
    /// `metadata.resourceVersion`; empty in a file.
    pub(super) version: Box<str>,
    /// None when the object does not decide.
    pub(super) fact: Option<Fact>,
}

/// Reads one object of a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectOf(pub(super) Resource);

impl<'de> DeserializeSeed<'de> for ObjectOf {
    type Value = Seen;

    fn deserialize<D: Deserializer<'de>>(self, object: D) -> Result<Seen, D::Error> {
        let Self(resource) = self;
        let (metadata, fact) = match resource {
            Resource::Namespaces => namespace::Namespace::deserialize(object)?.reduce(),
            Resource::MachineMigrations => machine_migration::MachineMigration::deserialize(object)?.reduce(),
            Resource::MachineClasses => machine_class::MachineClass::deserialize(object)?.reduce(),
            Resource::Machines => machine::Machine::deserialize(object)?.reduce(),
            Resource::MachineDeployments => machine_deployment::MachineDeployment::deserialize(object)?.reduce(),
            Resource::Deployments => mcm_deployment::Deployment::deserialize(object)?.reduce(),
            Resource::Pods => mcm_pod::Pod::deserialize(object)?.reduce(),
            Resource::Secrets => secret::Secret::deserialize(object)?.reduce(),
            Resource::Workers => worker::Worker::deserialize(object)?.reduce(),
            Resource::Clusters => cluster::Cluster::deserialize(object)?.reduce(),
        };
        let Metadata { name, namespace, resource_version: version, .. } = metadata;
        let namespace = if resource.is_cluster_scoped() { name.clone() } else { namespace };
        Ok(Seen { namespace, name, version, fact })
    }
}

#[cfg(test)]
mod reduced {
    use super::{Fact, ObjectOf, Resource, Seen};
    use serde::de::DeserializeSeed;
    use serde_json::Value;

    /// Reads an object, once from its text and once from a tree: both must come to the same.
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    pub(super) fn seen(resource: Resource, object: &Value) -> Seen {
        let text = object.to_string();
        let seen = ObjectOf(resource).deserialize(&mut serde_json::Deserializer::from_str(&text)).unwrap();
        let yaml = serde_yaml_ng::to_string(object).unwrap();
        assert_eq!(ObjectOf(resource).deserialize(serde_yaml_ng::Deserializer::from_str(&yaml)).unwrap(), seen);
        seen
    }

    pub(super) fn fact(resource: Resource, object: &Value) -> Option<Fact> {
        seen(resource, object).fact
    }
}

#[cfg(test)]
mod tests {
    use super::reduced::seen;
    use super::*;
    use serde_json::json;

    #[test]
    fn the_least_an_object_can_hold_is_enough_for_every_kind() {
        for resource in Resource::ALL {
            for object in [
                json!({"metadata": {"name": "a"}}),
                json!({"metadata": {"name": "a", "namespace": null, "labels": null, "annotations": null, "resourceVersion": null,
                    "deletionTimestamp": null},
                    "spec": null, "status": null, "provider": null, "data": null, "stringData": null}),
                json!({"metadata": {"name": "a"}, "spec": {}, "status": {}, "data": {}, "stringData": {}}),
            ] {
                assert_eq!(&*seen(resource, &object).name, "a", "{resource}");
            }
        }
    }

    #[test]
    fn an_object_without_metadata_or_name_is_unreadable() {
        for resource in Resource::ALL {
            for text in
                ["{}", r#"{"metadata": null}"#, r#"{"metadata": {}}"#, r#"{"metadata": {"name": ""}}"#, "[]", "7"]
            {
                let read = ObjectOf(resource).deserialize(&mut serde_json::Deserializer::from_str(text));
                assert!(read.is_err(), "{resource}: {text}");
            }
        }
    }

    #[test]
    fn cluster_scoped_objects_belong_to_the_namespace_of_their_name() {
        for (resource, namespace) in
            [(Resource::Namespaces, "a"), (Resource::Clusters, "a"), (Resource::Machines, "n"), (Resource::Pods, "n")]
        {
            let seen = seen(resource, &json!({"metadata": {"name": "a", "namespace": "n", "resourceVersion": "7"}}));
            assert_eq!((&*seen.namespace, &*seen.version), (namespace, "7"), "{resource}");
        }
    }
}
