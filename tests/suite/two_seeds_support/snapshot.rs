//! What Gardener keeps of a shoot's Machines outside of its seeds, in the `ShootState`.

use rig::Shoot;
use serde_json::{Value, json};

use crate::side_task_support::Seed;

/// The Machines with their IDs, labels and annotations, without status.
#[derive(Clone)]
pub struct Snapshot(pub Vec<Value>);

impl Snapshot {
    /// Takes it on a seed now.
    pub async fn take(seed: &Seed, shoot: &Shoot) -> Self {
        let kept = |machine: Value| {
            let metadata = &machine["metadata"];
            let mut kept = json!({"name": metadata["name"], "namespace": metadata["namespace"]});
            for key in ["labels", "annotations", "finalizers"] {
                kept[key] = metadata[key].clone();
            }
            let (version, spec) = (&machine["apiVersion"], &machine["spec"]);
            json!({"apiVersion": version, "kind": "Machine", "metadata": kept, "spec": spec})
        };
        Self(seed.machines(&shoot.namespace()).await.into_iter().map(kept).collect())
    }

    /// How many of its IDs begin so.
    pub fn count(&self, beginning: &str) -> usize {
        self.0
            .iter()
            .filter(|one| one["spec"]["providerID"].as_str().is_some_and(|id| id.starts_with(beginning)))
            .count()
    }
}
