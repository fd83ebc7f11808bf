//! What the API server says of one namespace right now, past every cache.

use futures::future::try_join_all;
use kube::Client;
use mcm_migration_core::decide::NamespaceFacts;

use super::call::{Which, list};
use super::reduce::Seen;
use super::{Resource, WorldError};

/// Reads everything of `namespace` that decides but its Secret, which an operator may not be allowed to read: the project stays
/// unknown.
///
/// # Errors
/// The first resource that could not be read.
pub async fn snapshot(client: &Client, namespace: &str) -> Result<NamespaceFacts, WorldError> {
    read(client, namespace, Resource::ALL.into_iter().filter(|resource| *resource != Resource::Secrets)).await
}

/// A pod of the machine-controller-manager in `namespace` that has not ended and has a container of the OpenStack provider.
///
/// # Errors
/// When the pods could not be listed.
pub async fn openstack_mcm_pod(client: &Client, namespace: &str) -> Result<Option<String>, WorldError> {
    let facts = read(client, namespace, [Resource::Pods]).await?;
    Ok(facts.openstack_mcm_pod().map(str::to_owned))
}

/// The namespaces that have a Worker, in order.
///
/// # Errors
/// When the Workers could not be listed.
pub async fn shoot_namespaces(client: &Client) -> Result<Vec<String>, WorldError> {
    let workers = list(client, Resource::Workers, Which::All).await?.objects;
    let mut namespaces: Vec<String> = workers.into_iter().map(|worker| worker.namespace.into()).collect();
    namespaces.sort();
    namespaces.dedup();
    Ok(namespaces)
}

/// What the objects of `resources` in `namespace` stand for.
async fn read(
    client: &Client,
    namespace: &str,
    resources: impl IntoIterator<Item = Resource>,
) -> Result<NamespaceFacts, WorldError> {
    let lists = try_join_all(resources.into_iter().map(|resource| objects(client, resource, namespace))).await?;
    let mut facts = NamespaceFacts::default();
    for Seen { name, fact, .. } in lists.into_iter().flatten() {
        if let Some(fact) = fact {
            fact.enter(&mut facts, name);
        }
    }
    Ok(facts)
}

async fn objects(client: &Client, resource: Resource, namespace: &str) -> Result<Vec<Seen>, WorldError> {
    match list(client, resource, Which::Of(namespace)).await {
        Ok(listed) => Ok(listed.objects),
        // Without its CRD there is none.
        Err(error) if error.code() == 404 && resource == Resource::MachineMigrations => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
