//! One look: first at the cloud, then at the seed, so that a Machine whose parts were seen is seen as well.

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{Part, PartKind, ProjectId, Region, Server, ServerId};
use mcm_migration_core::plan::{
    Alive, ClassDetails, Leftover, OldLabels, Remains, leftovers, leftovers_of_others, old_labels, stale_markers,
};
use secrecy::ExposeSecret;

use crate::cloud::{Clouds, ProjectClient, ServiceAccountKey};
use crate::sidetask::read_credentials;
use crate::world::{detailed_snapshot, every_machine, shoot_namespaces};

/// Which labels are looked for.
#[derive(Debug, Clone)]
pub(super) struct Domains {
    pub(super) present: String,
    pub(super) old: Vec<String>,
}

/// What was found at one time.
#[derive(Default)]
pub(super) struct Look {
    /// Each shoot, or why it could not be looked at.
    pub(super) shoots: BTreeMap<String, Result<Found, String>>,
    /// Of shoots that are not in the seed, by project.
    pub(super) of_others: BTreeMap<ProjectId, Vec<Leftover>>,
}

/// What was found of one shoot.
pub(super) struct Found {
    pub(super) client: ProjectClient,
    /// By the region in which they are.
    pub(super) leftovers: BTreeMap<Region, Vec<Leftover>>,
    pub(super) old_labels: BTreeMap<Region, Vec<OldLabels>>,
    pub(super) stale_markers: Vec<Box<str>>,
}

/// A region of a project, as it was listed.
struct Listed {
    servers: BTreeMap<ServerId, Server>,
    parts: Vec<Part>,
}

/// The way to a shoot's project.
struct Way {
    client: ProjectClient,
    regions: BTreeSet<Region>,
}

/// Looks at the shoots; `all` says that nobody named them, so that what is of no shoot of the seed is told as well.
pub(super) async fn look(
    client: &Client,
    clouds: &Clouds,
    namespaces: &[String],
    domains: &Domains,
    all: bool,
) -> Result<Look, String> {
    let mut found = Look::default();
    let mut ways = BTreeMap::new();
    let mut lists: BTreeMap<(ProjectId, Region), Result<Listed, String>> = BTreeMap::new();
    for namespace in namespaces {
        match way(client, clouds, namespace, all).await {
            Ok(None) => {}
            Ok(Some(way)) => {
                for region in &way.regions {
                    let key = (way.client.project(), region.clone());
                    // One LIST a project, region and look, whichever shoot's key it is made with.
                    if !matches!(lists.get(&key), Some(Ok(_))) {
                        lists.insert(key, list(&way.client, region).await);
                    }
                }
                ways.insert(namespace.clone(), way);
            }
            Err(why) => drop(found.shoots.insert(namespace.clone(), Err(why))),
        }
    }
    // Now the seed: what the cloud showed had its Machine then, if it has one.
    let machines = every_machine(client).await.map_err(|error| error.to_string())?;
    let alive = Alive::of(machines.iter().map(|machine| (&*machine.name, &machine.facts)));
    if all {
        let here = shoot_namespaces(client).await.map_err(|error| error.to_string())?;
        for ((project, _), listed) in &lists {
            let Ok(listed) = listed else { continue };
            let others = leftovers_of_others(&listed.parts, |shoot| here.iter().any(|namespace| namespace == shoot));
            found.of_others.entry(*project).or_default().extend(others);
        }
    }
    for (namespace, way) in ways {
        let told = tell(client, &namespace, way, &lists, &alive, domains).await;
        found.shoots.insert(namespace, told);
    }
    Ok(found)
}

/// None for a shoot that nobody named and that this program does not move.
async fn way(client: &Client, clouds: &Clouds, namespace: &str, all: bool) -> Result<Option<Way>, String> {
    let (facts, classes) = detailed_snapshot(client, namespace).await.map_err(|error| error.to_string())?;
    let moved = facts.guard().is_some() && facts.workers.values().all(|worker| worker.is_stackit);
    if all && !moved {
        return Ok(None);
    }
    let credentials = read_credentials(client, namespace).await.map_err(|error| error.to_string())?;
    let credentials = credentials.ok_or("it has no Secret cloudprovider")?;
    let project =
        credentials.project.ok_or("the project-id of its Secret cloudprovider is no plain lower-case UUID")?;
    let key = credentials.key.ok_or("its Secret cloudprovider has no serviceaccount.json")?;
    let key = ServiceAccountKey::parse(key.expose_secret().as_bytes()).map_err(|error| error.to_string())?;
    let regions: BTreeSet<Region> = classes.values().filter_map(|class| class.region(&BTreeMap::new())).collect();
    if regions.is_empty() {
        return Err("none of its MachineClasses names a region of the IaaS API".to_owned());
    }
    Ok(Some(Way { client: clouds.project(project, key), regions }))
}

async fn list(client: &ProjectClient, region: &Region) -> Result<Listed, String> {
    let lists = async {
        // The parts first: the server of one that is attached meanwhile is still seen.
        let mut parts = Vec::new();
        for kind in PartKind::ALL {
            parts.extend(client.list_parts(region, kind).await?);
        }
        let servers = client.list_servers(region).await?;
        Ok(Listed { servers: servers.into_iter().map(|server| (server.id, server)).collect(), parts })
    };
    lists.await.map_err(|error: crate::cloud::CloudError| error.to_string())
}

async fn tell(
    client: &Client,
    namespace: &str,
    way: Way,
    lists: &BTreeMap<(ProjectId, Region), Result<Listed, String>>,
    alive: &Alive,
    domains: &Domains,
) -> Result<Found, String> {
    let (facts, classes): (NamespaceFacts, BTreeMap<Box<str>, ClassDetails>) =
        detailed_snapshot(client, namespace).await.map_err(|error| error.to_string())?;
    let project = way.client.project();
    let mut found = Found {
        client: way.client,
        leftovers: BTreeMap::new(),
        old_labels: BTreeMap::new(),
        stale_markers: Vec::new(),
    };
    for region in way.regions {
        let listed = match lists.get(&(project, region.clone())) {
            Some(Ok(listed)) => listed,
            Some(Err(why)) => return Err(why.clone()),
            None => continue,
        };
        let (servers, parts) = (&listed.servers, &listed.parts);
        let remains = Remains { namespace, facts: &facts, project, servers, parts, alive };
        found.stale_markers.extend(stale_markers(&remains, &classes, &domains.present).map(Into::into));
        found.old_labels.insert(region.clone(), old_labels(&remains, &classes, &domains.present, &domains.old));
        found.leftovers.insert(region, leftovers(&remains));
    }
    Ok(found)
}
