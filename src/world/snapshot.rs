//! What the API server says of one namespace right now, past every cache.

use std::collections::BTreeMap;

use futures::future::{try_join, try_join_all};
use kube::Client;
use mcm_migration_core::decide::{MachineFacts, NamespaceFacts};
use mcm_migration_core::domain::keys;
use mcm_migration_core::plan::ClassDetails;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::call::{self, Which, list, list_as, name_of, unreadable};
use super::fact::Fact;
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

/// As [`snapshot`], with the project of the Secret and, from the same list as their providers, the details of the MachineClasses.
///
/// # Errors
/// The first resource that could not be read.
pub(crate) async fn detailed_snapshot(
    client: &Client,
    namespace: &str,
) -> Result<(NamespaceFacts, BTreeMap<Box<str>, ClassDetails>), WorldError> {
    let others = Resource::ALL.into_iter().filter(|resource| *resource != Resource::MachineClasses);
    let (mut facts, classes) = try_join(read(client, namespace, others), classes(client, namespace)).await?;
    facts.classes = classes.iter().map(|(name, class)| (name.clone(), class.provider)).collect();
    Ok((facts, classes))
}

/// As [`detailed_snapshot`], with the annotation `previous-provider-id` of each Machine that has one, from the same list as the Machines.
///
/// # Errors
/// The first resource that could not be read.
pub(crate) async fn way_back_snapshot(client: &Client, namespace: &str) -> Result<WayBackSnapshot, WorldError> {
    let others = [Resource::MachineClasses, Resource::Machines];
    let others = Resource::ALL.into_iter().filter(move |resource| !others.contains(resource));
    let machines = list_as(client, Resource::Machines, Which::Of(namespace), machine_with_previous);
    let read = async { tokio::try_join!(read(client, namespace, others), classes(client, namespace), machines) };
    let (mut facts, classes, machines) = read.await?;
    facts.classes = classes.iter().map(|(name, class)| (name.clone(), class.provider)).collect();
    let mut previous = BTreeMap::new();
    for machine in machines.objects {
        previous.extend(machine.previous.map(|id| (machine.name.clone(), id)));
        facts.machines.insert(machine.name, machine.facts);
    }
    Ok(WayBackSnapshot { facts, classes, previous })
}

/// What the way back is planned from.
#[derive(Debug, Clone, Default)]
pub(crate) struct WayBackSnapshot {
    /// What decides.
    pub(crate) facts: NamespaceFacts,
    /// The MachineClasses.
    pub(crate) classes: BTreeMap<Box<str>, ClassDetails>,
    /// The annotation `previous-provider-id` of each Machine that has one.
    pub(crate) previous: BTreeMap<Box<str>, Box<str>>,
}

/// What has to hold right before something old is written: whose the shoot is, and which machine-controller-managers there are.
///
/// # Errors
/// The first resource that could not be read.
pub(crate) async fn owner_and_mcm(client: &Client, namespace: &str) -> Result<NamespaceFacts, WorldError> {
    let owner = [Resource::Namespaces, Resource::MachineMigrations, Resource::Workers, Resource::Clusters];
    read(client, namespace, owner.into_iter().chain([Resource::Deployments, Resource::Pods, Resource::Secrets])).await
}

/// A Machine, its `resourceVersion` and its annotation `previous-provider-id`; none when it does not exist.
///
/// # Errors
/// When it could not be read.
pub(crate) async fn machine_to_write_back(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<(MachineFacts, String, Option<Box<str>>)>, WorldError> {
    let Some(text) = call::get(client, Resource::Machines, namespace, name).await? else { return Ok(None) };
    let object: &RawValue =
        serde_json::from_str(&text).map_err(|error| unreadable(Resource::Machines, "an answer".to_owned(), &error))?;
    let previous = machine_with_previous(object)?.previous;
    let (facts, version) = machine_of(&text)?;
    Ok(Some((facts, version, previous)))
}

/// A Machine, and its annotation `previous-provider-id`.
struct WithPrevious {
    name: Box<str>,
    facts: MachineFacts,
    previous: Option<Box<str>>,
}

fn machine_with_previous(object: &RawValue) -> Result<WithPrevious, WorldError> {
    #[derive(Deserialize)]
    struct View {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        #[serde(default)]
        annotations: Option<BTreeMap<Box<str>, Value>>,
    }
    let resource = Resource::Machines;
    let seen = call::read(resource, object)?;
    let view: View =
        serde_json::from_str(object.get()).map_err(|error| unreadable(resource, name_of(object), &error))?;
    let previous = view.metadata.annotations.unwrap_or_default().remove(keys::PREVIOUS_PROVIDER_ID);
    let previous = previous.map(|value| value.as_str().unwrap_or_default().into());
    if let Some(Fact::Machine(facts)) = seen.fact {
        return Ok(WithPrevious { name: seen.name, facts, previous });
    }
    let message = "it is no Machine".to_owned();
    Err(WorldError::Unreadable { resource, what: seen.name.into(), message })
}

/// What ownership is decided by: Namespace, MachineMigration, Workers, Cluster.
///
/// # Errors
/// The first resource that could not be read.
pub(crate) async fn owner(client: &Client, namespace: &str) -> Result<NamespaceFacts, WorldError> {
    let resources = [Resource::Namespaces, Resource::MachineMigrations, Resource::Workers, Resource::Clusters];
    read(client, namespace, resources).await
}

/// A Machine and its `resourceVersion`; none when it does not exist.
///
/// # Errors
/// When it could not be read.
pub(crate) async fn machine(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<(MachineFacts, String)>, WorldError> {
    let text = call::get(client, Resource::Machines, namespace, name).await?;
    text.map(|text| machine_of(&text)).transpose()
}

/// A Machine and its `resourceVersion`, from its text.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn machine_of(text: &str) -> Result<(MachineFacts, String), WorldError> {
    let resource = Resource::Machines;
    let object: &RawValue =
        serde_json::from_str(text).map_err(|error| unreadable(resource, "an answer".to_owned(), &error))?;
    let seen = call::read(resource, object)?;
    if let Some(Fact::Machine(facts)) = seen.fact {
        return Ok((facts, seen.version.into()));
    }
    let message = "it is no Machine".to_owned();
    Err(WorldError::Unreadable { resource, what: seen.name.into(), message })
}

/// A Machine of the seed.
pub(crate) struct MachineOfSeed {
    pub(crate) name: Box<str>,
    pub(crate) facts: MachineFacts,
}

/// Every Machine of the seed, in whatever namespace, terminating ones included.
///
/// # Errors
/// When they could not be listed.
pub(crate) async fn every_machine(client: &Client) -> Result<Vec<MachineOfSeed>, WorldError> {
    let listed = list(client, Resource::Machines, Which::All).await?;
    let machine = |seen: Seen| match seen.fact {
        Some(Fact::Machine(facts)) => Some(MachineOfSeed { name: seen.name, facts }),
        _ => None,
    };
    Ok(listed.objects.into_iter().filter_map(machine).collect())
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

async fn classes(client: &Client, namespace: &str) -> Result<BTreeMap<Box<str>, ClassDetails>, WorldError> {
    let listed = list_as(client, Resource::MachineClasses, Which::Of(namespace), class).await?;
    Ok(listed.objects.into_iter().collect())
}

/// Name and details of a MachineClass.
fn class(object: &RawValue) -> Result<(Box<str>, ClassDetails), WorldError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct View {
        #[serde(default)]
        provider: Option<String>,
        #[serde(default)]
        provider_spec: Value,
    }
    let seen = call::read(Resource::MachineClasses, object)?;
    let view: View = serde_json::from_str(object.get())
        .map_err(|error| unreadable(Resource::MachineClasses, name_of(object), &error))?;
    Ok((seen.name, ClassDetails::of(&view.provider.unwrap_or_default(), view.provider_spec)))
}
