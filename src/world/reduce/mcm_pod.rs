use mcm_migration_core::decide::McmPodFacts;
use mcm_migration_core::domain::{McmContainers, keys};

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
#[serde(rename_all = "camelCase")]
struct Status {
    #[serde(default, deserialize_with = "or_default")]
    phase: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    container_statuses: Vec<ContainerStatus>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContainerStatus {
    #[serde(default, deserialize_with = "or_default")]
    name: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    restart_count: u32,
}

impl Status {
    /// A pod's other container, the machine-controller-manager itself, holds no servers and does not count.
    fn restarts(&self) -> u32 {
        let of_provider = |status: &&ContainerStatus| McmContainers::of([&*status.name]) != McmContainers::default();
        self.container_statuses
            .iter()
            .filter(of_provider)
            .fold(0, |sum, status| sum.saturating_add(status.restart_count))
    }
}

impl View for Pod {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        let (label, role) = keys::MCM_POD_ROLE;
        let ours = self.metadata.labels.get(label) == Some(role);
        let facts = McmPodFacts {
            containers: self.spec.mcm_containers(),
            uid: self.metadata.uid.clone(),
            node: self.spec.node_name.clone(),
            restarts: self.status.restarts(),
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
            let expected =
                McmPodFacts { containers: McmContainers { openstack: true, stackit: false }, ..McmPodFacts::default() };
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

    #[test]
    fn identity_node_and_the_restarts_of_the_provider_are_kept() {
        let mut pod = pod("containers", "Running");
        pod["metadata"]["uid"] = json!("u-1");
        pod["spec"]["nodeName"] = json!("node-a");
        pod["status"]["containerStatuses"] = json!([
            {"name": "machine-controller-manager", "restartCount": 7},
            {"name": "machine-controller-manager-provider-stackit", "restartCount": 2},
            {"name": "machine-controller-manager-provider-openstack", "restartCount": null},
        ]);
        let Some(Fact::McmPod(facts)) = fact(Resource::Pods, &pod) else { panic!("{pod}") };
        assert_eq!((&*facts.uid, &*facts.node, facts.restarts), ("u-1", "node-a", 2));
    }
}
