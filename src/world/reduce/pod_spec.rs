use mcm_migration_core::domain::McmContainers;

use super::metadata::or_default;

/// The spec of a pod or of a pod template.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpec {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) node_name: Box<str>,
    #[serde(default, deserialize_with = "or_default")]
    containers: Vec<Container>,
    #[serde(default, deserialize_with = "or_default")]
    init_containers: Vec<Container>,
    #[serde(default, deserialize_with = "or_default")]
    ephemeral_containers: Vec<Container>,
}

#[derive(serde::Deserialize)]
struct Container {
    #[serde(default, deserialize_with = "or_default")]
    name: Box<str>,
}

impl PodSpec {
    pub(super) fn mcm_containers(&self) -> McmContainers {
        let all = self.containers.iter().chain(&self.init_containers).chain(&self.ephemeral_containers);
        McmContainers::of(all.map(|container| &*container.name))
    }
}
