use std::fmt;

use mcm_migration_core::domain::keys;

/// A resource that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Resource {
    /// Namespaces: the guard's label.
    Namespaces,
    /// MachineMigrations of `mcm-migration.stackit.cloud`.
    MachineMigrations,
    /// MachineClasses of `machine.sapcloud.io`.
    MachineClasses,
    /// Machines of `machine.sapcloud.io`.
    Machines,
    /// MachineDeployments of `machine.sapcloud.io`.
    MachineDeployments,
    /// Deployments of `apps`: only those named `machine-controller-manager`.
    Deployments,
    /// Pods with the label `role: machine-controller-manager`.
    Pods,
    /// Secrets named `cloudprovider`.
    Secrets,
    /// Workers of `extensions.gardener.cloud`.
    Workers,
    /// Clusters of `extensions.gardener.cloud`.
    Clusters,
}

impl Resource {
    /// All of them, in the order in which they are worth reading.
    pub const ALL: [Self; 10] = [
        Self::Namespaces,
        Self::MachineMigrations,
        Self::MachineClasses,
        Self::Machines,
        Self::MachineDeployments,
        Self::Deployments,
        Self::Pods,
        Self::Secrets,
        Self::Workers,
        Self::Clusters,
    ];

    /// The plural, as in URLs and RBAC.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::MachineMigrations => "machinemigrations",
            Self::MachineClasses => "machineclasses",
            Self::Machines => "machines",
            Self::MachineDeployments => "machinedeployments",
            Self::Deployments => "deployments",
            Self::Pods => "pods",
            Self::Secrets => "secrets",
            Self::Workers => "workers",
            Self::Clusters => "clusters",
        }
    }

    /// The path of all its objects, or of those in one namespace.
    pub(super) fn url(self, namespace: Option<&str>) -> String {
        let group = match self {
            Self::Namespaces | Self::Pods | Self::Secrets => "/api/v1",
            Self::Deployments => "/apis/apps/v1",
            Self::MachineMigrations => "/apis/mcm-migration.stackit.cloud/v1alpha1",
            Self::MachineClasses | Self::Machines | Self::MachineDeployments => "/apis/machine.sapcloud.io/v1alpha1",
            Self::Workers | Self::Clusters => "/apis/extensions.gardener.cloud/v1alpha1",
        };
        match namespace {
            Some(namespace) => format!("{group}/namespaces/{namespace}/{}", self.plural()),
            None => format!("{group}/{}", self.plural()),
        }
    }

    /// Which objects of the resource count at all, by field. For Secrets it is what RBAC asks for as well: with `resourceNames`
    /// a list over all namespaces is let in only with this selector.
    pub(super) fn field_selector(self) -> Option<&'static str> {
        match self {
            Self::Secrets => Some("metadata.name=cloudprovider"),
            Self::Deployments => Some("metadata.name=machine-controller-manager"),
            _ => None,
        }
    }

    /// Which objects of the resource count at all, by label.
    pub(super) fn label_selector(self) -> Option<String> {
        let (key, value) = keys::MCM_POD_ROLE;
        (self == Self::Pods).then(|| format!("{key}={value}"))
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural())
    }
}
