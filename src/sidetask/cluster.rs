use std::collections::BTreeMap;
use std::future::Future;

use mcm_migration_core::decide::{Known, MachineFacts, NamespaceFacts};
use mcm_migration_core::domain::{ProjectId, Reason};
use mcm_migration_core::plan::{ClassDetails, Kind, LeaseSighting, NodeSighting, Report, Say};
use secrecy::SecretString;
use serde_json::Value;

/// Why a call to the API server came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The object changed in between, or is there already: what was read before no longer counts.
    #[error("{0}")]
    Conflict(String),
    /// The object is not there.
    #[error("{0}")]
    Gone(String),
    /// The API server answered with another error.
    #[error("{0}")]
    Refused(String),
    /// There was no answer.
    #[error("{0}")]
    NoAnswer(String),
}

/// Everything of one shoot that a plan needs, read past every cache.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// What decides.
    pub facts: NamespaceFacts,
    /// The MachineClasses.
    pub classes: BTreeMap<Box<str>, ClassDetails>,
}

/// A Machine, read past every cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineNow {
    /// What decides.
    pub facts: MachineFacts,
    /// `metadata.resourceVersion`
    pub version: String,
}

/// The Secret `cloudprovider`, as far as it is needed.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// `project-id`; none when it is no plain UUID.
    pub project: Option<ProjectId>,
    /// `serviceaccount.json`; none when it is not there.
    pub key: Option<SecretString>,
}

/// One write to one object. Each but [`Self::MakeMigration`] carries the `resourceVersion` of the object that was read, so that it fails when
/// somebody changed that in between.
#[derive(Debug, Clone, PartialEq)]
pub enum Write<'a> {
    /// Sets `spec.providerID` and `stackit.cloud/migrated-machine` of a Machine without an ID.
    SettleId {
        /// The Machine.
        machine: &'a str,
        /// Its version.
        version: &'a str,
        /// The legacy ID.
        provider_id: &'a str,
    },
    /// Sets `mcm-migration.stackit.cloud/settled: no-server`.
    SettleNoServer {
        /// The Machine.
        machine: &'a str,
        /// Its version.
        version: &'a str,
    },
    /// Sets the marker; admission rewrites in that very write.
    Touch {
        /// The Machine.
        machine: &'a str,
        /// Its version.
        version: &'a str,
    },
    /// Takes the marker off.
    Clear {
        /// The Machine.
        machine: &'a str,
        /// Its version.
        version: &'a str,
    },
    /// Sets `mcm-migration.stackit.cloud/exception` to a reason, or takes it off.
    Except {
        /// The Machine.
        machine: &'a str,
        /// Its version.
        version: &'a str,
        /// What it is excepted for; none when it is no longer.
        reason: Option<Reason>,
    },
    /// Gives a class provider `stackit` and a providerSpec.
    Retire {
        /// The MachineClass.
        class: &'a str,
        /// Its version.
        version: &'a str,
        /// What replaces its providerSpec.
        provider_spec: &'a Value,
    },
    /// Makes the MachineMigration.
    MakeMigration,
    /// Sets the guard's label to `closed`.
    CloseGuard {
        /// The Namespace's version.
        version: &'a str,
    },
    /// Sets or takes off `stackit.cloud/machine-controller-manager-migrated`.
    MarkWorker {
        /// The Worker.
        worker: &'a str,
        /// Its version.
        version: &'a str,
        /// Set, or taken off.
        marked: bool,
    },
    /// Sets conditions of the MachineMigration, if it is still of that version.
    Say {
        /// Its version; none writes onto whatever is there.
        version: Option<&'a str>,
        /// The conditions.
        say: &'a [Say],
    },
    /// Writes the whole status of the MachineMigration, where it differs.
    Report(&'a Report),
}

/// What a write came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// The Machine as the API server has it now.
    Machine(MachineNow),
    /// Whether the object shows what was written: somebody's webhook may have taken it out.
    Took(bool),
}

/// An Event about something that needs a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What it is about; the shoot's Events are about its MachineMigration or, before there is one, its Worker.
    pub kind: Kind,
    /// The object's name; empty for the shoot.
    pub name: Box<str>,
    /// Whether somebody has to act.
    pub warning: bool,
    /// Why.
    pub reason: Reason,
    /// One sentence.
    pub message: String,
}

/// The API server, as the side task uses it. What is *read* goes past every cache; *look* shows the watch caches.
pub trait Cluster: Send + Sync + 'static {
    /// The namespaces that have a Worker, by the caches.
    fn shoots(&self) -> Vec<Box<str>>;

    /// Shows what the caches know of a namespace.
    fn look<R>(&self, namespace: &str, look: impl FnOnce(Known<'_>) -> R) -> R;

    /// Reads everything that a plan needs.
    fn snapshot(&self, namespace: &str) -> impl Future<Output = Result<Snapshot, ClusterError>> + Send;

    /// Reads what ownership is decided by: Namespace, MachineMigration, Workers, Cluster.
    fn owner(&self, namespace: &str) -> impl Future<Output = Result<NamespaceFacts, ClusterError>> + Send;

    /// Reads a Machine; none when it does not exist.
    fn machine(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<MachineNow>, ClusterError>> + Send;

    /// Reads the `resourceVersion` of the Namespace, the MachineMigration, a MachineClass or a Worker; none when it does not exist.
    fn version(
        &self,
        namespace: &str,
        of: VersionOf<'_>,
    ) -> impl Future<Output = Result<Option<String>, ClusterError>> + Send;

    /// Reads the Lease `machine-controller`.
    fn lease(&self, namespace: &str) -> impl Future<Output = Result<Option<LeaseSighting>, ClusterError>> + Send;

    /// Reads the Secret `cloudprovider`; none when it does not exist.
    fn credentials(&self, namespace: &str) -> impl Future<Output = Result<Option<Credentials>, ClusterError>> + Send;

    /// Lists the Nodes of the seed.
    fn nodes(&self) -> impl Future<Output = Result<Vec<NodeSighting>, ClusterError>> + Send;

    /// Tries everything that the guard must refuse, so often over fresh connections. `just_closed` says that its policies may not know the label
    /// yet.
    fn prove(
        &self,
        namespace: &str,
        facts: &NamespaceFacts,
        rounds: usize,
        just_closed: bool,
    ) -> impl Future<Output = Result<(), (Reason, String)>> + Send;

    /// Writes.
    fn write(&self, namespace: &str, write: Write<'_>) -> impl Future<Output = Result<Written, ClusterError>> + Send;

    /// Makes an Event. Nobody waits for it and nothing depends on it.
    fn notify(&self, namespace: &str, notice: Notice) -> impl Future<Output = ()> + Send;
}

/// An object whose version is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionOf<'a> {
    /// The Namespace.
    Namespace,
    /// The MachineMigration.
    Migration,
    /// A MachineClass.
    MachineClass(&'a str),
    /// A Worker.
    Worker(&'a str),
}
