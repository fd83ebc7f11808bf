use mcm_migration_core::domain::keys;

use super::metadata::or_default;
use super::pod_spec::PodSpec;
use super::{Fact, Metadata, View};

/// `Deployment` of `apps/v1`.
#[derive(serde::Deserialize)]
pub(super) struct Deployment {
    metadata: Metadata,
    #[serde(default, deserialize_with = "or_default")]
    spec: Spec,
}

#[derive(Default, serde::Deserialize)]
struct Spec {
    #[serde(default, deserialize_with = "or_default")]
    template: Template,
}

#[derive(Default, serde::Deserialize)]
struct Template {
    #[serde(default, deserialize_with = "or_default")]
    spec: PodSpec,
}

impl View for Deployment {
    fn reduce(self) -> (Metadata, Option<Fact>) {
        let ours = &*self.metadata.name == keys::MCM_DEPLOYMENT;
        let fact = ours.then(|| Fact::McmDeployment(self.spec.template.spec.mcm_containers()));
        (self.metadata, fact)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reduced::fact;
    use super::*;
    use crate::world::Resource;
    use mcm_migration_core::domain::McmContainers;
    use serde_json::json;

    #[test]
    fn containers_and_init_containers_of_the_template_count() {
        for (member, name, openstack, stackit) in [
            ("containers", "machine-controller-manager-provider-openstack", true, false),
            ("containers", "machine-controller-manager-provider-stackit", false, true),
            ("initContainers", "machine-controller-manager-provider-openstack", true, false),
            ("containers", "machine-controller-manager", false, false),
        ] {
            let object = json!({
                "metadata": {"name": "machine-controller-manager"},
                "spec": {"template": {"spec": {member: [{"name": "other", "image": "i"}, {"name": name}]}}},
            });
            let expected = Fact::McmDeployment(McmContainers { openstack, stackit });
            assert_eq!(fact(Resource::Deployments, &object), Some(expected), "{object}");
        }
    }

    #[test]
    fn another_deployment_does_not_decide() {
        let object = json!({"metadata": {"name": "x"}, "spec": {"template": {"spec": {"containers": [
            {"name": "machine-controller-manager-provider-openstack"}]}}}});
        assert_eq!(fact(Resource::Deployments, &object), None);
    }
}
