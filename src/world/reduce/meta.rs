use std::collections::BTreeMap;

use mcm_migration_core::domain::is_true;
use serde::{Deserialize, Deserializer};

use super::{Fact, Observation};

/// The metadata that decides.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Meta {
    #[serde(deserialize_with = "nullable")]
    pub(super) name: Box<str>,
    #[serde(deserialize_with = "nullable")]
    pub(super) namespace: Box<str>,
    #[serde(deserialize_with = "nullable")]
    pub(super) labels: BTreeMap<Box<str>, Option<Box<str>>>,
    #[serde(deserialize_with = "nullable")]
    pub(super) annotations: BTreeMap<Box<str>, Option<Box<str>>>,
    pub(super) deletion_timestamp: Option<Box<str>>,
    resource_version: Option<Box<str>>,
}

impl Meta {
    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key)?.as_deref()
    }

    pub(super) fn annotation(&self, key: &str) -> &str {
        self.annotations.get(key).and_then(Option::as_deref).unwrap_or_default()
    }

    pub(super) fn is_set(&self, key: &str) -> bool {
        is_true(self.annotation(key))
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.resource_version.as_deref()
    }

    pub(super) fn is_terminating(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// A fact of the namespace that the object is in.
    pub(super) fn observed(self, fact: Fact) -> Observation {
        // As kubectl does with a manifest that names none.
        let namespace = if self.namespace.is_empty() { "default".into() } else { self.namespace };
        Observation { namespace, name: self.name, fact }
    }

    /// A fact of the namespace that has the object's name.
    pub(super) fn observed_by_name(self, fact: Fact) -> Observation {
        Observation { namespace: self.name.clone(), name: self.name, fact }
    }
}

/// Takes null for absent.
pub(super) fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(d: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or_default())
}
