use std::collections::BTreeMap;

use crate::domain::{Exception, GuardLabel, McmContainers, ProjectId, Provider, ProviderId, Reason};

use super::Because;

/// What is known of one namespace of the seed, reduced to what decides.
///
/// Names are the keys; everything else of the objects is forgotten on arrival. Of the `cloudprovider` Secret only the
/// project is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NamespaceFacts {
    /// The Namespace itself, when it exists.
    pub namespace: Option<NamespaceLabels>,
    /// The `MachineMigration` named `openstack-to-stackit`, when it exists.
    pub migration: Option<MigrationFacts>,
    /// MachineClasses: the provider of each.
    pub classes: BTreeMap<Box<str>, Provider>,
    /// Machines.
    pub machines: BTreeMap<Box<str>, MachineFacts>,
    /// MachineDeployments: the MachineClass that each one's template names.
    pub machine_deployments: BTreeMap<Box<str>, Box<str>>,
    /// The pod template of the Deployment `machine-controller-manager`, when it exists.
    pub mcm_deployment: Option<McmContainers>,
    /// Pods with the label `role: machine-controller-manager`.
    pub mcm_pods: BTreeMap<Box<str>, McmPodFacts>,
    /// The project of the Secret `cloudprovider`; none when the Secret is absent or does not hold a plain UUID.
    pub project: Option<ProjectId>,
    /// Workers; a shoot has one.
    pub workers: BTreeMap<Box<str>, WorkerFacts>,
    /// The Cluster of the namespace's name.
    pub cluster: Option<ClusterFacts>,
}

/// The Namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NamespaceLabels {
    /// The label `mcm-migration.stackit.cloud/guard`.
    pub guard: Option<GuardLabel>,
    /// Whether it is being deleted.
    pub terminating: bool,
}

/// A `MachineMigration`.
#[allow(clippy::struct_excessive_bools, reason = "each is a member or a condition of its own; they combine freely")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MigrationFacts {
    /// `spec.paused`
    pub paused: bool,
    /// `mcm-migration.stackit.cloud/paused-by-rollback` is set: the pause is none of an operator's.
    pub paused_by_rollback: bool,
    /// Condition `Armed` is true.
    pub armed: bool,
    /// Condition `Labelled` is true.
    pub labelled: bool,
}

impl MigrationFacts {
    /// Whether somebody has said that the shoot moves as it is. A rollback pauses only to keep it still, and may have been killed before it lifted
    /// that.
    #[must_use]
    pub fn is_held_by_an_operator(&self) -> bool {
        self.paused && !self.paused_by_rollback
    }
}

/// A Machine.
#[allow(clippy::struct_excessive_bools, reason = "each is one annotation or stamp of its own; they combine freely")]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct MachineFacts {
    /// `metadata.uid`: a Machine that was deleted and made again under its name is another one.
    pub uid: Box<str>,
    /// `spec.providerID`; empty when it has none.
    pub provider_id: Box<str>,
    /// `spec.class.name`; empty when it names none.
    pub class: Box<str>,
    /// The marker `stackit.cloud/machine-should-be-migrated` is set.
    pub marked: bool,
    /// `stackit.cloud/migrated-machine` is set.
    pub migrated: bool,
    /// `mcm-migration.stackit.cloud/settled` is there.
    pub settled: bool,
    /// `mcm-migration.stackit.cloud/exception`, where it is there.
    pub exception: Option<Exception>,
    /// It is being deleted.
    pub terminating: bool,
}

impl MachineFacts {
    /// Whether its provider ID begins with `openstack:`.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        ProviderId::of(&self.provider_id).is_legacy()
    }

    /// Whether it has no provider ID and nobody has said yet that it has no server.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        self.provider_id.is_empty() && !self.settled
    }
}

/// A pod of the machine-controller-manager.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct McmPodFacts {
    /// `metadata.uid`: a pod that was deleted and made again under its name is another one.
    pub uid: Box<str>,
    /// `spec.nodeName`; empty while it has none.
    pub node: Box<str>,
    /// How often the containers of a provider have been restarted, all of them together.
    pub restarts: u32,
    /// Its containers.
    pub containers: McmContainers,
    /// Its phase is Succeeded or Failed: nothing runs in it any more. A terminating pod is not ended.
    pub ended: bool,
}

/// A Worker.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct WorkerFacts {
    /// `spec.type` is `stackit`.
    pub is_stackit: bool,
    /// The annotation `gardener.cloud/operation`; empty when there is none.
    pub operation: Box<str>,
    /// `status.lastOperation`.
    pub last_operation: LastOperationFacts,
    /// `stackit.cloud/machine-controller-manager-migrated` is set.
    pub marked: bool,
    /// It is being deleted.
    pub terminating: bool,
    /// `status.machineDeployments[].name`.
    pub wanted_machine_deployments: Vec<Box<str>>,
}

/// A `lastOperation` of a Worker or a Shoot; empty strings where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LastOperationFacts {
    /// `type`: `Create`, `Reconcile`, `Delete`, `Migrate`, `Restore`.
    pub type_: Box<str>,
    /// `state`: `Processing`, `Succeeded`, `Error`, `Failed`, `Pending`, `Aborted`.
    pub state: Box<str>,
}

/// A Cluster: whose the shoot is. Empty strings where a member is absent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClusterFacts {
    /// `spec.seed.metadata.name`
    pub seed: Box<str>,
    /// `spec.shoot.spec.seedName`
    pub shoot_spec_seed: Box<str>,
    /// `spec.shoot.status.seedName`
    pub shoot_status_seed: Box<str>,
    /// `spec.shoot.status.lastOperation`
    pub shoot_last_operation: LastOperationFacts,
    /// It is being deleted.
    pub terminating: bool,
}

impl NamespaceFacts {
    /// The guard's label, when the Namespace exists and carries it.
    #[must_use]
    pub fn guard(&self) -> Option<GuardLabel> {
        self.namespace.as_ref().and_then(|namespace| namespace.guard)
    }

    /// A MachineClass with the provider `OpenStack`, referred to or not.
    #[must_use]
    pub fn openstack_class(&self) -> Option<&str> {
        self.classes.iter().find(|(_, provider)| **provider == Provider::OpenStack).map(|(name, _)| &**name)
    }

    /// A MachineClass whose provider is neither `OpenStack` nor `stackit`.
    #[must_use]
    pub fn foreign_class(&self) -> Option<&str> {
        self.classes.iter().find(|(_, provider)| **provider == Provider::Other).map(|(name, _)| &**name)
    }

    /// Whether at least one MachineClass has the provider `stackit`.
    #[must_use]
    pub fn has_stackit_class(&self) -> bool {
        self.classes.values().any(|provider| *provider == Provider::Stackit)
    }

    /// A pod that has not ended and has a container of the OpenStack provider.
    #[must_use]
    pub fn openstack_mcm_pod(&self) -> Option<&str> {
        self.mcm_pods.iter().find(|(_, pod)| pod.containers.openstack && !pod.ended).map(|(name, _)| &**name)
    }

    /// Whether the Deployment's pod template has a container of the OpenStack provider.
    #[must_use]
    pub fn openstack_mcm_deployed(&self) -> bool {
        self.mcm_deployment.is_some_and(|template| template.openstack)
    }

    /// Whether Gardener has begun to switch the shoot: the Deployment's pod template has the STACKIT provider alone.
    #[must_use]
    pub fn switch_has_begun(&self) -> bool {
        self.mcm_deployment.is_some_and(|template| template.stackit && !template.openstack)
    }

    /// Everything through which the OpenStack provider could still act on the shoot's servers: a class, the Deployment, a pod.
    pub fn openstack_remains(&self) -> impl Iterator<Item = Because> {
        let class = self.openstack_class().map(|class| Because::about(Reason::OpenstackClassInNamespace, class));
        let deployed = self.openstack_mcm_deployed().then(|| Because::of(Reason::OpenstackMcmDeployed));
        let alive = self.openstack_mcm_pod().map(|pod| Because::about(Reason::OpenstackMcmAlive, pod));
        class.into_iter().chain(deployed).chain(alive)
    }

    /// A pod that has not ended and is not of the OpenStack provider alone: whatever else runs in it counts as STACKIT's.
    #[must_use]
    pub fn stackit_mcm_pod(&self) -> Option<&str> {
        self.mcm_pods
            .iter()
            .find(|(_, pod)| !pod.ended && !pod.containers.is_openstack_alone())
            .map(|(name, _)| &**name)
    }

    /// Whether the Deployment's pod template has a container of the STACKIT provider.
    #[must_use]
    pub fn stackit_mcm_deployed(&self) -> bool {
        self.mcm_deployment.is_some_and(|template| template.stackit)
    }

    /// Everything through which the STACKIT provider could still act on the shoot's servers: the Deployment, a pod. Its classes are none of it:
    /// they stay `stackit` until the guard lets them turn.
    pub fn stackit_remains(&self) -> impl Iterator<Item = Because> {
        let deployed = self.stackit_mcm_deployed().then(|| Because::of(Reason::StackitMcmDeployed));
        let alive = self.stackit_mcm_pod().map(|pod| Because::about(Reason::StackitMcmAlive, pod));
        deployed.into_iter().chain(alive)
    }

    /// Whether nothing is known of the namespace any more, so that it may be forgotten.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
