use std::fmt;

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
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.plural())
    }
}
