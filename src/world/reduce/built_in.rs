//! Kinds of Kubernetes itself.

use mcm_migration_core::decide::{McmPodFacts, NamespaceLabels};
use mcm_migration_core::domain::{GuardLabel, McmContainers, ProjectId, keys};
use serde::Deserialize;

use super::meta::{Meta, nullable};
use super::{Fact, Observation, View};
use crate::world::Resource;

#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct NamespaceView {
    metadata: Meta,
}

impl View for NamespaceView {
    const RESOURCE: Resource = Resource::Namespaces;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        let labels = NamespaceLabels {
            guard: self.metadata.label(keys::GUARD).map(GuardLabel::of),
            terminating: self.metadata.is_terminating(),
        };
        Some(self.metadata.observed_by_name(Fact::Namespace(labels)))
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PodSpecView {
    #[serde(deserialize_with = "nullable")]
    containers: Vec<ContainerView>,
    #[serde(deserialize_with = "nullable")]
    init_containers: Vec<ContainerView>,
    #[serde(deserialize_with = "nullable")]
    ephemeral_containers: Vec<ContainerView>,
}

#[derive(Debug, Clone, Deserialize)]
struct ContainerView {
    #[serde(default)]
    name: Box<str>,
}

impl PodSpecView {
    fn providers(&self) -> McmContainers {
        let all = [&self.containers, &self.init_containers, &self.ephemeral_containers];
        McmContainers::of(all.into_iter().flatten().map(|container| &*container.name))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct DeploymentView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    spec: DeploymentSpecView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct DeploymentSpecView {
    #[serde(default, deserialize_with = "nullable")]
    template: PodTemplateView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct PodTemplateView {
    #[serde(default, deserialize_with = "nullable")]
    spec: PodSpecView,
}

impl View for DeploymentView {
    const RESOURCE: Resource = Resource::Deployments;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        let providers = self.spec.template.spec.providers();
        (&*self.metadata.name == keys::MCM_DEPLOYMENT).then(|| self.metadata.observed(Fact::McmDeployment(providers)))
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(in crate::world) struct PodView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    spec: PodSpecView,
    #[serde(default, deserialize_with = "nullable")]
    status: PodStatusView,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct PodStatusView {
    #[serde(default, deserialize_with = "nullable")]
    phase: Box<str>,
}

impl View for PodView {
    const RESOURCE: Resource = Resource::Pods;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        let (key, value) = keys::MCM_POD_ROLE;
        let facts = McmPodFacts {
            containers: self.spec.providers(),
            ended: matches!(&*self.status.phase, "Succeeded" | "Failed"),
        };
        (self.metadata.label(key) == Some(value)).then(|| self.metadata.observed(Fact::McmPod(facts)))
    }
}

/// Of a Secret nothing but `project-id` is named here, so nothing else is ever read.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::world) struct SecretView {
    metadata: Meta,
    #[serde(default, deserialize_with = "nullable")]
    data: SecretDataView,
    #[serde(default, deserialize_with = "nullable")]
    string_data: SecretDataView,
}

#[derive(Clone, Default, Deserialize)]
struct SecretDataView {
    #[serde(default, rename = "project-id")]
    project_id: Option<Box<str>>,
}

impl View for SecretView {
    const RESOURCE: Resource = Resource::Secrets;

    fn version(&self) -> Option<&str> {
        self.metadata.version()
    }

    fn observe(self) -> Option<Observation> {
        let project = match (self.string_data.project_id, self.data.project_id) {
            // `stringData` stands only in manifests; there it overwrites `data`, as in the API server.
            (Some(text), _) => ProjectId::parse(&text).ok(),
            (None, Some(encoded)) => decode(&encoded).and_then(|text| ProjectId::parse(&text).ok()),
            (None, None) => None,
        };
        (&*self.metadata.name == keys::CLOUDPROVIDER_SECRET).then(|| self.metadata.observed(Fact::Project(project)))
    }
}

fn decode(encoded: &str) -> Option<String> {
    use base64::Engine;
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(encoded).ok()?).ok()
}
