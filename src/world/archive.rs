//! The objects of one shoot, as an export has them, past every cache.

use std::collections::BTreeMap;

use kube::Client;
use mcm_migration_core::archive::{
    ClassRecord, MachineRecord, MigrationRecord, NamespaceRecord, Record, WorkerRecord, kept_annotations,
};
use mcm_migration_core::domain::keys;
use mcm_migration_core::plan::ClassDetails;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::call::{Which, list_as, name_of, unreadable};
use super::{Resource, WorldError};

/// What an export has of one shoot, and what its servers are found by.
#[derive(Debug, Default)]
pub(crate) struct Archived {
    /// The records, the Namespace's first.
    pub(crate) records: Vec<Record>,
    /// The MachineClasses.
    pub(crate) classes: BTreeMap<Box<str>, ClassDetails>,
}

type Texts = BTreeMap<Box<str>, Option<Box<str>>>;

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    spec: Option<Spec>,
    #[serde(default)]
    provider: Option<Box<str>>,
    #[serde(default, rename = "providerSpec")]
    provider_spec: Value,
}

#[derive(Deserialize)]
struct Metadata {
    name: Box<str>,
    #[serde(default)]
    uid: Option<Box<str>>,
    #[serde(default)]
    labels: Option<Texts>,
    #[serde(default)]
    annotations: Option<Texts>,
}

/// The members of the `spec` of a Machine and of a MachineMigration.
#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default, rename = "providerID")]
    provider_id: Option<Box<str>>,
    #[serde(default)]
    class: Option<Class>,
    #[serde(default)]
    paused: Option<bool>,
}

#[derive(Default, Deserialize)]
struct Class {
    #[serde(default)]
    name: Option<Box<str>>,
}

impl Metadata {
    fn uid(&self) -> Box<str> {
        self.uid.clone().unwrap_or_default()
    }

    fn annotations(&mut self) -> BTreeMap<Box<str>, Box<str>> {
        let all = self.annotations.take().unwrap_or_default().into_iter();
        all.filter(|(key, _)| kept_annotations(key)).map(|(key, value)| (key, value.unwrap_or_default())).collect()
    }
}

/// Reads one shoot; without records when its Namespace does not exist.
///
/// # Errors
/// The first resource that could not be read.
pub(crate) async fn archived(client: &Client, namespace: &str) -> Result<Archived, WorldError> {
    let mut archived = Archived::default();
    for resource in [
        Resource::Namespaces,
        Resource::MachineMigrations,
        Resource::Workers,
        Resource::MachineClasses,
        Resource::Machines,
    ] {
        for object in objects(client, resource, namespace).await? {
            if resource == Resource::MachineMigrations && *object.metadata.name != *keys::MACHINE_MIGRATION {
                continue;
            }
            if resource == Resource::MachineClasses {
                let provider = object.provider.clone().unwrap_or_default();
                let details = ClassDetails::of(&provider, object.provider_spec.clone());
                archived.classes.insert(object.metadata.name.clone(), details);
            }
            archived.records.push(record(resource, namespace.into(), object));
        }
        if archived.records.is_empty() {
            break;
        }
    }
    Ok(archived)
}

async fn objects(client: &Client, resource: Resource, namespace: &str) -> Result<Vec<Object>, WorldError> {
    let view = |object: &RawValue| {
        serde_json::from_str::<Object>(object.get()).map_err(|error| unreadable(resource, name_of(object), &error))
    };
    match list_as(client, resource, Which::Of(namespace), view).await {
        Ok(listed) => Ok(listed.objects),
        // Without its CRD there is none.
        Err(error) if error.code() == 404 && resource == Resource::MachineMigrations => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn record(resource: Resource, namespace: Box<str>, mut object: Object) -> Record {
    let (uid, annotations) = (object.metadata.uid(), object.metadata.annotations());
    let Metadata { name, labels, .. } = object.metadata;
    let spec = object.spec.unwrap_or_default();
    match resource {
        Resource::Namespaces => {
            let guard = labels.unwrap_or_default().remove(keys::GUARD).map(Option::unwrap_or_default);
            Record::Namespace(NamespaceRecord { namespace, uid, guard })
        }
        Resource::MachineMigrations => {
            let paused = spec.paused.unwrap_or_default();
            Record::MachineMigration(MigrationRecord { namespace, uid, paused, annotations })
        }
        Resource::Workers => Record::Worker(WorkerRecord { namespace, name, uid, annotations }),
        Resource::MachineClasses => {
            let provider = object.provider.unwrap_or_default();
            Record::MachineClass(ClassRecord { namespace, name, uid, provider })
        }
        _ => {
            let provider_id = spec.provider_id.unwrap_or_default();
            let class = spec.class.and_then(|class| class.name).unwrap_or_default();
            Record::Machine(MachineRecord { namespace, name, uid, provider_id, class, annotations })
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(resource: Resource, object: &Value) -> Record {
        record(resource, "n".into(), serde_json::from_str(&object.to_string()).unwrap())
    }

    #[test]
    fn only_what_the_migration_touches_is_kept() {
        let machine = of(
            Resource::Machines,
            &json!({
                "metadata": {"name": "m", "uid": "u", "annotations": {
                    "stackit.cloud/migrated-machine": "true", "mcm-migration.stackit.cloud/settled": null, "token": "hush",
                }},
                "spec": {"providerID": "openstack:///r/1", "class": {"name": "c"}, "userData": "hush"},
            }),
        );
        let annotations = [("mcm-migration.stackit.cloud/settled", ""), ("stackit.cloud/migrated-machine", "true")];
        let annotations = annotations.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let expected = MachineRecord {
            namespace: "n".into(),
            name: "m".into(),
            uid: "u".into(),
            provider_id: "openstack:///r/1".into(),
            class: "c".into(),
            annotations,
        };
        assert_eq!(machine, Record::Machine(expected));
        let class = of(
            Resource::MachineClasses,
            &json!({"metadata": {"name": "c"}, "provider": "stackit", "providerSpec": {"key": "hush"}}),
        );
        assert!(!serde_json::to_string(&class).unwrap().contains("hush"));
    }
}
