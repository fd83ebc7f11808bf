//! Reads past every cache.

use kube::Client;
use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::keys;
use mcm_migration_core::plan::LeaseSighting;
use serde::Deserialize;

use super::error::{not_read, unreadable};
use super::request::{get, get_metadata, parse};
use super::{ClusterError, MachineNow, Snapshot, VersionOf};
use crate::world::{self, Resource, detailed_snapshot};

/// The Lease that whichever machine-controller-manager acts renews (gardener/machine-controller-manager
/// `pkg/util/provider/app`, `--leader-elect-resource-name`).
const MCM_LEASE: &str = "machine-controller";

pub(super) async fn snapshot(client: &Client, namespace: &str) -> Result<Snapshot, ClusterError> {
    match detailed_snapshot(client, namespace).await {
        Ok((facts, classes)) => Ok(Snapshot { facts, classes }),
        Err(error) => Err(not_read(&format!("everything of namespace {namespace}"), &error)),
    }
}

pub(super) async fn owner(client: &Client, namespace: &str) -> Result<NamespaceFacts, ClusterError> {
    let owner = world::owner(client, namespace).await;
    owner.map_err(|error| not_read(&format!("whose the shoot of namespace {namespace} is"), &error))
}

pub(super) async fn machine(client: &Client, namespace: &str, name: &str) -> Result<Option<MachineNow>, ClusterError> {
    match world::machine(client, namespace, name).await {
        Ok(machine) => Ok(machine.map(|(facts, version)| MachineNow { facts, version })),
        Err(error) => Err(not_read(&format!("Machine {namespace}/{name}"), &error)),
    }
}

pub(super) async fn version(
    client: &Client,
    namespace: &str,
    of: VersionOf<'_>,
) -> Result<Option<String>, ClusterError> {
    let (resource, name) = match of {
        VersionOf::Namespace => (Resource::Namespaces, namespace),
        VersionOf::Migration => (Resource::MachineMigrations, keys::MACHINE_MIGRATION),
        VersionOf::MachineClass(name) => (Resource::MachineClasses, name),
        VersionOf::Worker(name) => (Resource::Workers, name),
    };
    let Some(identity) = identity(client, resource, namespace, name).await? else { return Ok(None) };
    if identity.version.is_empty() {
        return Err(unreadable(&describe(resource, namespace, name)));
    }
    Ok(Some(identity.version))
}

/// Which object it is, and in which state.
#[derive(Deserialize)]
pub(super) struct Identity {
    #[serde(default)]
    pub(super) uid: String,
    #[serde(default, rename = "resourceVersion")]
    version: String,
}

/// None when the object, or its kind, does not exist.
pub(super) async fn identity(
    client: &Client,
    resource: Resource,
    namespace: &str,
    name: &str,
) -> Result<Option<Identity>, ClusterError> {
    #[derive(Deserialize)]
    struct Object {
        metadata: Identity,
    }
    let what = describe(resource, namespace, name);
    let got: Option<Object> = get_metadata(client, &what, path(resource, namespace), name).await?;
    Ok(got.map(|object| object.metadata))
}

pub(super) fn path(resource: Resource, namespace: &str) -> String {
    resource.url((!resource.is_cluster_scoped()).then_some(namespace))
}

/// `Machine shoot--garden--a/m`, for messages.
pub(super) fn describe(resource: Resource, namespace: &str, name: &str) -> String {
    let kind = resource.kind();
    if resource.is_cluster_scoped() { format!("{kind} {name}") } else { format!("{kind} {namespace}/{name}") }
}

pub(crate) async fn lease(client: &Client, namespace: &str) -> Result<Option<LeaseSighting>, ClusterError> {
    let what = format!("Lease {namespace}/{MCM_LEASE}");
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases");
    let Some(text) = get(client, &what, path, MCM_LEASE).await? else { return Ok(None) };
    let lease: Lease = parse(&what, &text)?;
    let spec = lease.spec.unwrap_or_default();
    Ok(Some(LeaseSighting {
        holder: spec.holder_identity.unwrap_or_default(),
        renewed: spec.renew_time.unwrap_or_default(),
    }))
}

/// A Lease, of which the time stays the text that it is: it is only ever compared with itself.
#[derive(Deserialize)]
struct Lease {
    #[serde(default)]
    spec: Option<LeaseSpec>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LeaseSpec {
    #[serde(default)]
    holder_identity: Option<Box<str>>,
    #[serde(default)]
    renew_time: Option<Box<str>>,
}
