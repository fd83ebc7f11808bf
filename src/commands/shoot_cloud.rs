//! The servers of a shoot's project, read with the key of its own Secret.

use std::collections::BTreeMap;

use kube::Client;
use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{ProjectId, Reason, Region, Server};
use secrecy::ExposeSecret;

use crate::cloud::{Clouds, ProjectClient, ServiceAccountKey};
use crate::sidetask::{because, read_credentials};

/// A client for the project that a shoot's Secret names.
///
/// # Errors
/// Why the key cannot be used. Nothing of the Secret is quoted.
pub(super) async fn project(client: &Client, namespace: &str, clouds: &Clouds) -> Result<ProjectClient, Because> {
    let invalid = |why: String| Because::about(Reason::CredentialsInvalid, why);
    let read = read_credentials(client, namespace).await;
    let read = read.map_err(|error| Because::about(Reason::ReadFailed, error.to_string()))?;
    let credentials = read.ok_or_else(|| invalid("the Secret is absent".to_owned()))?;
    let project: ProjectId = credentials.project.ok_or_else(|| Because::of(Reason::ProjectUnknown))?;
    let key = credentials.key.ok_or_else(|| invalid("it has no serviceaccount.json".to_owned()))?;
    let key = ServiceAccountKey::parse(key.expose_secret().as_bytes()).map_err(|error| invalid(error.to_string()))?;
    Ok(clouds.project(project, key))
}

/// The servers of some regions.
///
/// # Errors
/// The first region that could not be listed.
pub(super) async fn servers(
    project: &ProjectClient,
    regions: impl IntoIterator<Item = Region>,
) -> Result<BTreeMap<Region, Vec<Server>>, Because> {
    let mut found = BTreeMap::new();
    for region in regions {
        let servers = project.list_servers(&region).await.map_err(|error| because(&error))?;
        found.insert(region, servers);
    }
    Ok(found)
}
