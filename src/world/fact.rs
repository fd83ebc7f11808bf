use mcm_migration_core::decide::{
    ClusterFacts, MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts, NamespaceLabels, WorkerFacts,
};
use mcm_migration_core::domain::{McmContainers, ProjectId, Provider};

use super::Resource;

/// What one object says, by its kind.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fact {
    /// A Namespace.
    Namespace(NamespaceLabels),
    /// The MachineMigration `openstack-to-stackit`.
    Migration(MigrationFacts),
    /// A MachineClass: its provider.
    Class(Provider),
    /// A Machine.
    Machine(MachineFacts),
    /// A MachineDeployment: the class that its template names.
    MachineDeployment(Box<str>),
    /// The pod template of the Deployment `machine-controller-manager`.
    McmDeployment(McmContainers),
    /// A pod of the machine-controller-manager.
    McmPod(McmPodFacts),
    /// The Secret `cloudprovider`: its project, when that is a plain UUID.
    Project(Option<ProjectId>),
    /// A Worker.
    Worker(WorkerFacts),
    /// A Cluster.
    Cluster(ClusterFacts),
}

impl Fact {
    /// Enters it into the facts of its namespace, under the name of its object.
    pub(super) fn enter(self, facts: &mut NamespaceFacts, name: Box<str>) {
        match self {
            Self::Namespace(labels) => facts.namespace = Some(labels),
            Self::Migration(migration) => facts.migration = Some(migration),
            Self::Class(provider) => drop(facts.classes.insert(name, provider)),
            Self::Machine(machine) => drop(facts.machines.insert(name, machine)),
            Self::MachineDeployment(class) => drop(facts.machine_deployments.insert(name, class)),
            Self::McmDeployment(containers) => facts.mcm_deployment = Some(containers),
            Self::McmPod(pod) => drop(facts.mcm_pods.insert(name, pod)),
            Self::Project(project) => facts.project = project,
            Self::Worker(worker) => drop(facts.workers.insert(name, worker)),
            Self::Cluster(cluster) => facts.cluster = Some(cluster),
        }
    }
}

/// Takes what the object `name` of `resource` said out of the facts of its namespace.
pub(super) fn forget(facts: &mut NamespaceFacts, resource: Resource, name: &str) {
    match resource {
        Resource::Namespaces => facts.namespace = None,
        Resource::MachineMigrations => facts.migration = None,
        Resource::MachineClasses => drop(facts.classes.remove(name)),
        Resource::Machines => drop(facts.machines.remove(name)),
        Resource::MachineDeployments => drop(facts.machine_deployments.remove(name)),
        Resource::Deployments => facts.mcm_deployment = None,
        Resource::Pods => drop(facts.mcm_pods.remove(name)),
        Resource::Secrets => facts.project = None,
        Resource::Workers => drop(facts.workers.remove(name)),
        Resource::Clusters => facts.cluster = None,
    }
}

/// Exchanges all that the objects of `resource` said between two facts of the same namespace.
pub(super) fn swap(resource: Resource, a: &mut NamespaceFacts, b: &mut NamespaceFacts) {
    use std::mem::swap;
    match resource {
        Resource::Namespaces => swap(&mut a.namespace, &mut b.namespace),
        Resource::MachineMigrations => swap(&mut a.migration, &mut b.migration),
        Resource::MachineClasses => swap(&mut a.classes, &mut b.classes),
        Resource::Machines => swap(&mut a.machines, &mut b.machines),
        Resource::MachineDeployments => swap(&mut a.machine_deployments, &mut b.machine_deployments),
        Resource::Deployments => swap(&mut a.mcm_deployment, &mut b.mcm_deployment),
        Resource::Pods => swap(&mut a.mcm_pods, &mut b.mcm_pods),
        Resource::Secrets => swap(&mut a.project, &mut b.project),
        Resource::Workers => swap(&mut a.workers, &mut b.workers),
        Resource::Clusters => swap(&mut a.cluster, &mut b.cluster),
    }
}
