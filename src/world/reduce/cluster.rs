use mcm_migration_core::decide::ClusterFacts;

use super::metadata::or_default;
use super::worker::LastOperation;
use super::{Fact, Metadata, View};

/// `Cluster` of `extensions.gardener.cloud/v1alpha1`. A whole Shoot and a whole Seed are embedded in it.
#[derive(serde::Deserialize)]
pub(super) struct Cluster {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    spec: Spec,
}

#[derive(Default, serde::Deserialize)]
struct Spec {
    #[serde(default, deserialize_with = "or_default")]
    seed: Seed,
    #[serde(default, deserialize_with = "or_default")]
    shoot: Shoot,
}

#[derive(Default, serde::Deserialize)]
struct Seed {
    #[serde(default, deserialize_with = "or_default")]
    metadata: SeedMetadata,
}

#[derive(Default, serde::Deserialize)]
struct SeedMetadata {
    #[serde(default, deserialize_with = "or_default")]
    name: Box<str>,
}

#[derive(Default, serde::Deserialize)]
struct Shoot {
    #[serde(default, deserialize_with = "or_default")]
    spec: ShootSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: ShootStatus,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShootSpec {
    #[serde(default, deserialize_with = "or_default")]
    seed_name: Box<str>,
}

#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShootStatus {
    #[serde(default, deserialize_with = "or_default")]
    seed_name: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    last_operation: LastOperation,
}

impl View for Cluster {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        let shoot = self.spec.shoot;
        let facts = ClusterFacts {
            seed: self.spec.seed.metadata.name,
            shoot_spec_seed: shoot.spec.seed_name,
            shoot_status_seed: shoot.status.seed_name,
            shoot_last_operation: shoot.status.last_operation.into(),
            terminating: self.metadata.terminating(),
        };
        (self.metadata, Some(Fact::Cluster(facts)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use mcm_migration_core::decide::LastOperationFacts;
    use serde_json::json;

    #[test]
    fn the_three_seeds_and_the_last_operation_are_kept() {
        let object = json!({
            "metadata": {"name": "shoot--p--s"},
            "spec": {
                "cloudProfile": {"metadata": {"name": "x"}},
                "seed": {"apiVersion": "core.gardener.cloud/v1beta1", "metadata": {"name": "here"}},
                "shoot": {
                    "metadata": {"name": "s"},
                    "spec": {"seedName": "there"},
                    "status": {"seedName": "before", "lastOperation": {"type": "Migrate", "state": "Succeeded"}},
                },
            },
        });
        let expected = ClusterFacts {
            seed: "here".into(),
            shoot_spec_seed: "there".into(),
            shoot_status_seed: "before".into(),
            shoot_last_operation: LastOperationFacts { type_: "Migrate".into(), state: "Succeeded".into() },
            terminating: false,
        };
        assert_eq!(fact(Resource::Clusters, &object), Some(Fact::Cluster(expected)));
    }
}
