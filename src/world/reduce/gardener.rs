//! Kinds of Gardener.

use mcm_migration_core::decide::{ClusterFacts, LastOperationFacts, WorkerFacts};
use mcm_migration_core::domain::keys;
use serde::Deserialize;

use super::meta::{Meta, nullable};
use super::{Fact, Observation, View};
use crate::world::Resource;

#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct WorkerView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    spec: WorkerSpecView,
    #[serde(default, deserialize_with = "nullable")]
    status: WorkerStatusView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct WorkerSpecView {
    #[serde(default, rename = "type", deserialize_with = "nullable")]
    type_: Box<str>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WorkerStatusView {
    #[serde(deserialize_with = "nullable")]
    last_operation: LastOperationView,
    #[serde(deserialize_with = "nullable")]
    machine_deployments: Vec<NameView>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct NameView {
    #[serde(default, deserialize_with = "nullable")]
    name: Box<str>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct LastOperationView {
    #[serde(default, rename = "type", deserialize_with = "nullable")]
    type_: Box<str>,
    #[serde(default, deserialize_with = "nullable")]
    state: Box<str>,
}

impl From<LastOperationView> for LastOperationFacts {
    fn from(LastOperationView { type_, state }: LastOperationView) -> Self {
        Self { type_, state }
    }
}

impl View for WorkerView {
    const RESOURCE: Resource = Resource::Workers;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        let Self { metadata, spec, status } = self;
        let facts = WorkerFacts {
            is_stackit: &*spec.type_ == "stackit",
            operation: metadata.annotation(keys::GARDENER_OPERATION).into(),
            last_operation: status.last_operation.into(),
            marked: metadata.is_set(keys::WORKER_MIGRATED),
            terminating: metadata.is_terminating(),
            wanted_machine_deployments: status.machine_deployments.into_iter().map(|wanted| wanted.name).collect(),
        };
        Some(metadata.observed(Fact::Worker(facts)))
    }
}

/// A Cluster embeds a whole Seed and a whole Shoot.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct ClusterView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    spec: ClusterSpecView,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ClusterSpecView {
    #[serde(deserialize_with = "nullable")]
    seed: SeedView,
    #[serde(deserialize_with = "nullable")]
    shoot: ShootView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct SeedView {
    #[serde(default, deserialize_with = "nullable")]
    metadata: Meta,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ShootView {
    #[serde(deserialize_with = "nullable")]
    spec: SeedNameView,
    #[serde(deserialize_with = "nullable")]
    status: ShootStatusView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct SeedNameView {
    #[serde(default, rename = "seedName", deserialize_with = "nullable")]
    seed_name: Box<str>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ShootStatusView {
    #[serde(deserialize_with = "nullable")]
    seed_name: Box<str>,
    #[serde(deserialize_with = "nullable")]
    last_operation: LastOperationView,
}

impl View for ClusterView {
    const RESOURCE: Resource = Resource::Clusters;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        let Self { metadata, spec: ClusterSpecView { seed, shoot } } = self;
        let facts = ClusterFacts {
            seed: seed.metadata.name,
            shoot_spec_seed: shoot.spec.seed_name,
            shoot_status_seed: shoot.status.seed_name,
            shoot_last_operation: shoot.status.last_operation.into(),
            terminating: metadata.is_terminating(),
        };
        Some(metadata.observed_by_name(Fact::Cluster(facts)))
    }
}
