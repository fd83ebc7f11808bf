//! The kinds of Gardener and the machine-controller-manager, as far as the product reads them.

use anyhow::Result;

use crate::{ApiServer, install};

/// The CRDs: `machines`, `machinesets`, `machinedeployments` and `machineclasses` of `machine.sapcloud.io/v1alpha1`,
/// `workers` and `clusters` of `extensions.gardener.cloud/v1alpha1`.
pub const MANIFESTS: [&str; 6] = [
    include_str!("../crds/machines.yaml"),
    include_str!("../crds/machinesets.yaml"),
    include_str!("../crds/machinedeployments.yaml"),
    include_str!("../crds/machineclasses.yaml"),
    include_str!("../crds/workers.yaml"),
    include_str!("../crds/clusters.yaml"),
];

/// Installs them and waits until they are served.
pub async fn apply(server: &ApiServer) -> Result<()> {
    install::apply_manifests(server, &MANIFESTS.join("\n---\n")).await
}

/// Installs the kinds of cert-manager that the overlay for it uses; nobody acts on them.
pub async fn apply_cert_manager(server: &ApiServer) -> Result<()> {
    install::apply_manifests(server, include_str!("../crds/cert-manager.yaml")).await
}
