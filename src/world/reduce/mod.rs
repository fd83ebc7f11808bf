//! Objects, reduced on arrival to the few facts that decide.
//!
//! Each kind has a narrow view: serde skips every member that it does not name, so no tree of an object is built and of a Secret
//! only `project-id` is ever read.

mod built_in;
mod gardener;
mod mcm;
mod meta;

use mcm_migration_core::decide::{
    ClusterFacts, MachineFacts, McmPodFacts, MigrationFacts, NamespaceLabels, WorkerFacts,
};
use mcm_migration_core::domain::{McmContainers, ProjectId, Provider};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Resource;

pub(super) use built_in::{DeploymentView, NamespaceView, PodView, SecretView};
pub(super) use gardener::{ClusterView, WorkerView};
pub(super) use mcm::{MachineClassView, MachineDeploymentView, MachineView, MigrationView};

/// The one fact that an object stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fact {
    Namespace(NamespaceLabels),
    Migration(MigrationFacts),
    Class(Provider),
    Machine(MachineFacts),
    /// The MachineClass that the template names.
    MachineDeployment(Box<str>),
    McmDeployment(McmContainers),
    McmPod(McmPodFacts),
    Project(Option<ProjectId>),
    Worker(WorkerFacts),
    Cluster(ClusterFacts),
}

/// An object, reduced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observation {
    /// The shoot's namespace; of a Namespace and a Cluster their own name.
    pub(super) namespace: Box<str>,
    pub(super) name: Box<str>,
    pub(super) fact: Fact,
}

/// The narrow view of one kind.
pub(super) trait View: DeserializeOwned + Clone + Send + 'static {
    /// The resource that it views.
    const RESOURCE: Resource;

    /// Its `resourceVersion`.
    fn version(&self) -> Option<&str>;

    /// The fact; none when it is an object of the kind that decides nothing (another Deployment, another Secret).
    fn observe(self) -> Option<Observation>;
}

/// Reduces one object of which only the kind is known; none when the kind decides nothing.
///
/// # Errors
/// What cannot be read in it.
pub(super) fn reduce(object: Value) -> Result<Option<(Resource, Observation)>, serde_json::Error> {
    fn through<V: View>(object: Value) -> Result<Option<(Resource, Observation)>, serde_json::Error> {
        let view: V = serde_json::from_value(object)?;
        Ok(view.observe().map(|observation| (V::RESOURCE, observation)))
    }
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    match (text("apiVersion"), text("kind")) {
        ("v1", "Namespace") => through::<NamespaceView>(object),
        ("v1", "Pod") => through::<PodView>(object),
        ("v1", "Secret") => through::<SecretView>(object),
        ("apps/v1", "Deployment") => through::<DeploymentView>(object),
        ("machine.sapcloud.io/v1alpha1", "Machine") => through::<MachineView>(object),
        ("machine.sapcloud.io/v1alpha1", "MachineClass") => through::<MachineClassView>(object),
        ("machine.sapcloud.io/v1alpha1", "MachineDeployment") => through::<MachineDeploymentView>(object),
        ("mcm-migration.stackit.cloud/v1alpha1", "MachineMigration") => through::<MigrationView>(object),
        ("extensions.gardener.cloud/v1alpha1", "Worker") => through::<WorkerView>(object),
        ("extensions.gardener.cloud/v1alpha1", "Cluster") => through::<ClusterView>(object),
        _ => Ok(None),
    }
}
