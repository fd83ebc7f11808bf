//! Facts put into and taken out of what is known of a namespace.

use mcm_migration_core::decide::NamespaceFacts;

use super::Resource;
use super::reduce::Fact;

/// Puts the fact that the object `name` stands for.
pub(super) fn put(facts: &mut NamespaceFacts, name: Box<str>, fact: Fact) {
    match fact {
        Fact::Namespace(namespace) => facts.namespace = Some(namespace),
        Fact::Migration(migration) => facts.migration = Some(migration),
        Fact::Class(provider) => drop_old(facts.classes.insert(name, provider)),
        Fact::Machine(machine) => drop_old(facts.machines.insert(name, machine)),
        Fact::MachineDeployment(class) => drop_old(facts.machine_deployments.insert(name, class)),
        Fact::McmDeployment(template) => facts.mcm_deployment = Some(template),
        Fact::McmPod(pod) => drop_old(facts.mcm_pods.insert(name, pod)),
        Fact::Project(project) => facts.project = project,
        Fact::Worker(worker) => drop_old(facts.workers.insert(name, worker)),
        Fact::Cluster(cluster) => facts.cluster = Some(cluster),
    }
}

/// What stood there before is of no use any more.
fn drop_old<T>(_: Option<T>) {}

/// Takes away what the object `name` stood for.
pub(super) fn remove(facts: &mut NamespaceFacts, resource: Resource, name: &str) {
    match resource {
        Resource::MachineClasses => drop_old(facts.classes.remove(name)),
        Resource::Machines => drop_old(facts.machines.remove(name)),
        Resource::MachineDeployments => drop_old(facts.machine_deployments.remove(name)),
        Resource::Pods => drop_old(facts.mcm_pods.remove(name)),
        Resource::Workers => drop_old(facts.workers.remove(name)),
        // Of these a namespace has one that counts.
        Resource::Namespaces
        | Resource::MachineMigrations
        | Resource::Deployments
        | Resource::Secrets
        | Resource::Clusters => clear(facts, resource),
    }
}

/// Takes away whatever objects of `resource` stood for.
pub(super) fn clear(facts: &mut NamespaceFacts, resource: Resource) {
    match resource {
        Resource::Namespaces => facts.namespace = None,
        Resource::MachineMigrations => facts.migration = None,
        Resource::MachineClasses => facts.classes.clear(),
        Resource::Machines => facts.machines.clear(),
        Resource::MachineDeployments => facts.machine_deployments.clear(),
        Resource::Deployments => facts.mcm_deployment = None,
        Resource::Pods => facts.mcm_pods.clear(),
        Resource::Secrets => facts.project = None,
        Resource::Workers => facts.workers.clear(),
        Resource::Clusters => facts.cluster = None,
    }
}
