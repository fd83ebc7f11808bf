use mcm_migration_core::decide::McmPodFacts;
use mcm_migration_core::domain::keys;

use super::metadata::or_default;
use super::pod_spec::PodSpec;
use super::{Fact, Metadata, View};

/// `Pod` of `v1`.
#[derive(serde::Deserialize)]
pub(super) struct Pod {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    spec: PodSpec,
    #[serde(default, deserialize_with = "or_default")]
    status: Status,
}

#[derive(Default, serde::Deserialize)]
struct Status {
    #[serde(default, deserialize_with = "or_default")]
    phase: Box<str>,
}

impl View for Pod {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        let (label, role) = keys::MCM_POD_ROLE;
        let ours = self.metadata.labels.get(label) == Some(role);
        let facts = McmPodFacts {
            containers: self.spec.mcm_containers(),
            ended: matches!(&*self.status.phase, "Succeeded" | "Failed"),
        };
        (self.metadata, ours.then_some(Fact::McmPod(facts)))
    }
}

#[cfg(test)]
#[allow(clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use mcm_migration_core::domain::McmContainers;
    use serde_json::{Value, json};

    fn pod(containers: &str, phase: &str) -> Value {
        json!({
            "metadata": {"name": "a", "labels": {"role": "machine-controller-manager"}, "deletionTimestamp": "2024-01-01T00:00:00Z"},
            "spec": {containers: [{"name": "machine-controller-manager-provider-openstack"}]},
            "status": {"phase": phase},
        })
    }

    #[test]
    fn every_sort_of_container_counts() {
        for containers in ["containers", "initContainers", "ephemeralContainers"] {
            let expected = McmPodFacts { containers: McmContainers { openstack: true, stackit: false }, ended: false };
            let seen = fact(Resource::Pods, &pod(containers, "Running"));
            assert_eq!(seen, Some(Fact::McmPod(expected)), "{containers}");
        }
    }

    #[test]
    fn only_succeeded_and_failed_pods_have_ended() {
        for (phase, ended) in [
            ("Pending", false),
            ("Running", false),
            ("Unknown", false),
            ("", false),
            ("Succeeded", true),
            ("Failed", true),
        ] {
            let Some(Fact::McmPod(facts)) = fact(Resource::Pods, &pod("containers", phase)) else { panic!("{phase}") };
            assert_eq!(facts.ended, ended, "{phase}");
        }
    }

    #[test]
    fn a_pod_of_another_role_does_not_decide() {
        for labels in [json!({}), json!({"role": "other"}), json!({"app": "machine-controller-manager"})] {
            let object = json!({"metadata": {"name": "a", "labels": labels}});
            assert_eq!(fact(Resource::Pods, &object), None, "{object}");
        }
    }
}
