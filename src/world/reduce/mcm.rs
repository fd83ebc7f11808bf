//! Kinds of the machine-controller-manager, and our own.

use mcm_migration_core::decide::{MachineFacts, MigrationFacts};
use mcm_migration_core::domain::{Provider, keys};
use serde::Deserialize;

use super::meta::{Meta, nullable};
use super::{Fact, Observation, View};
use crate::world::Resource;

#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct MachineView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    spec: MachineSpecView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct MachineSpecView {
    #[serde(default, rename = "providerID", deserialize_with = "nullable")]
    provider_id: Box<str>,
    #[serde(default, deserialize_with = "nullable")]
    class: NameView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct NameView {
    #[serde(default, deserialize_with = "nullable")]
    name: Box<str>,
}

impl View for MachineView {
    const RESOURCE: Resource = Resource::Machines;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        let Self { metadata, spec } = self;
        let facts = MachineFacts {
            provider_id: spec.provider_id,
            class: spec.class.name,
            marked: metadata.is_set(keys::MACHINE_SHOULD_BE_MIGRATED),
            migrated: metadata.is_set(keys::MIGRATED_MACHINE),
            settled: !metadata.annotation(keys::SETTLED).is_empty(),
            exception: !metadata.annotation(keys::EXCEPTION).is_empty(),
            terminating: metadata.is_terminating(),
        };
        Some(metadata.observed(Fact::Machine(facts)))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct MachineClassView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    provider: Box<str>,
}

impl View for MachineClassView {
    const RESOURCE: Resource = Resource::MachineClasses;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        Some(self.metadata.observed(Fact::Class(Provider::of(&self.provider))))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct MachineDeploymentView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    spec: MachineDeploymentSpecView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct MachineDeploymentSpecView {
    #[serde(default, deserialize_with = "nullable")]
    template: MachineTemplateView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct MachineTemplateView {
    #[serde(default, deserialize_with = "nullable")]
    spec: MachineSpecView,
}

impl View for MachineDeploymentView {
    const RESOURCE: Resource = Resource::MachineDeployments;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        Some(self.metadata.observed(Fact::MachineDeployment(self.spec.template.spec.class.name)))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct MigrationView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    spec: MigrationSpecView,
    #[serde(default, deserialize_with = "nullable")]
    status: MigrationStatusView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct MigrationSpecView {
    #[serde(default, deserialize_with = "nullable")]
    paused: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct MigrationStatusView {
    #[serde(default, deserialize_with = "nullable")]
    conditions: Vec<ConditionView>,
}

#[derive(Debug, Clone, Deserialize)]
struct ConditionView {
    #[serde(default, rename = "type")]
    type_: Box<str>,
    #[serde(default)]
    status: Box<str>,
}

impl View for MigrationView {
    const RESOURCE: Resource = Resource::MachineMigrations;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        let holds = |type_: &str| {
            self.status.conditions.iter().any(|condition| &*condition.type_ == type_ && &*condition.status == "True")
        };
        let facts = MigrationFacts { paused: self.spec.paused, armed: holds("Armed"), labelled: holds("Labelled") };
        (&*self.metadata.name == keys::MACHINE_MIGRATION).then(|| self.metadata.observed(Fact::Migration(facts)))
    }
}
