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

    /// The kind, as in an object's `kind`.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Namespaces => "Namespace",
            Self::MachineMigrations => "MachineMigration",
            Self::MachineClasses => "MachineClass",
            Self::Machines => "Machine",
            Self::MachineDeployments => "MachineDeployment",
            Self::Deployments => "Deployment",
            Self::Pods => "Pod",
            Self::Secrets => "Secret",
            Self::Workers => "Worker",
            Self::Clusters => "Cluster",
        }
    }

    /// Group and version, as in an object's `apiVersion`.
    #[must_use]
    pub fn api_version(self) -> &'static str {
        match self {
            Self::Namespaces | Self::Pods | Self::Secrets => "v1",
            Self::Deployments => "apps/v1",
            Self::MachineMigrations => "mcm-migration.stackit.cloud/v1alpha1",
            Self::MachineClasses | Self::Machines | Self::MachineDeployments => "machine.sapcloud.io/v1alpha1",
            Self::Workers | Self::Clusters => "extensions.gardener.cloud/v1alpha1",
        }
    }

    /// The resource of an object with this `apiVersion` and `kind`, when it is one that is watched.
    pub(super) fn of(api_version: &str, kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|resource| resource.kind() == kind && resource.api_version() == api_version)
    }

    /// Whether its objects are in no namespace. They belong to the facts of the namespace of their own name.
    pub(crate) fn is_cluster_scoped(self) -> bool {
        matches!(self, Self::Namespaces | Self::Clusters)
    }

    /// Its place in [`Self::ALL`].
    pub(super) fn index(self) -> usize {
        // The enum is declared in the order of `ALL`; a test holds the two together.
        self as usize
    }

    /// The path of all its objects, or of those in one namespace.
    pub(crate) fn url(self, namespace: Option<&str>) -> String {
        let version = self.api_version();
        let root = if version.contains('/') { "apis" } else { "api" };
        match namespace {
            Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{}", self.plural()),
            None => format!("/{root}/{version}/{}", self.plural()),
        }
    }

    /// How many of its objects one page of a list holds: a Cluster embeds a whole Shoot and a whole Seed.
    pub(super) fn page(self) -> u32 {
        if self == Self::Clusters { 50 } else { 500 }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_place_in_all() {
        for (index, resource) in Resource::ALL.into_iter().enumerate() {
            assert_eq!(resource.index(), index);
            assert_eq!(Resource::of(resource.api_version(), resource.kind()), Some(resource));
        }
    }

    #[test]
    fn a_kind_of_another_group_is_not_ours() {
        assert_eq!(Resource::of("cluster.x-k8s.io/v1beta1", "Cluster"), None);
        assert_eq!(Resource::of("apps/v1", "Pod"), None);
    }

    #[test]
    fn paths_are_those_of_the_api_server() {
        assert_eq!(Resource::Pods.url(None), "/api/v1/pods");
        assert_eq!(Resource::Machines.url(Some("a")), "/apis/machine.sapcloud.io/v1alpha1/namespaces/a/machines");
    }
}
