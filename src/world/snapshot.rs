//! What the API server says of one namespace right now, past every cache.

use kube::Client;
use mcm_migration_core::decide::NamespaceFacts;

use super::call::{Which, list};
use super::facts;
use super::reduce::{
    ClusterView, DeploymentView, MachineClassView, MachineDeploymentView, MachineView, MigrationView, NamespaceView,
    PodView, View, WorkerView,
};
use super::{Resource, WorldError};

/// Reads everything of `namespace` that decides but its Secret, which an operator may not be allowed to read: the project stays
/// unknown.
///
/// # Errors
/// The first resource that could not be read.
pub async fn snapshot(client: &Client, namespace: &str) -> Result<NamespaceFacts, WorldError> {
    let mut known = NamespaceFacts::default();
    macro_rules! read {
        ($($view:ty => $which:expr),*) => { $(take_up::<$view>(client, $which, &mut known).await?;)* };
    }
    let (within, named) = (Which::In(namespace), Which::Named(namespace));
    read!(
        NamespaceView => named, ClusterView => named, WorkerView => within, MigrationView => within, MachineClassView => within,
        MachineDeploymentView => within, DeploymentView => within, PodView => within, MachineView => within
    );
    Ok(known)
}

/// The namespaces that have a Worker, in order.
///
/// # Errors
/// When the Workers could not be listed.
pub async fn shoot_namespaces(client: &Client) -> Result<Vec<String>, WorldError> {
    let (workers, _) = list::<WorkerView>(client, Which::All).await.map_err(|failed| failed.error)?;
    let mut namespaces: Vec<String> = workers.into_iter().map(|worker| worker.namespace.into()).collect();
    namespaces.sort();
    namespaces.dedup();
    Ok(namespaces)
}

async fn take_up<V: View>(client: &Client, which: Which<'_>, known: &mut NamespaceFacts) -> Result<(), WorldError> {
    let seen = match list::<V>(client, which).await {
        Ok((seen, _)) => seen,
        // Without its CRD there is none.
        Err(failed) if failed.code == 404 && V::RESOURCE == Resource::MachineMigrations => Vec::new(),
        Err(failed) => return Err(failed.error),
    };
    for observation in seen {
        facts::put(known, observation.name, observation.fact);
    }
    Ok(())
}
