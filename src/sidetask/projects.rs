//! What all shoots of one project in the cloud share: the last LIST of each region, the canary, and that the API refuses a label.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{PartKind, ProjectId, Reason, Region, Server, ServerId};
use mcm_migration_core::plan::{Listed, Moment};

use super::part_lists::PartLists;
use super::shared_lists::SharedLists;
use super::{Clock, Cloud, because};

/// How long a project rests after the API refused a label by its pattern.
pub(super) const REFUSED_FOR: Duration = Duration::from_secs(3600);
/// How often the canary is looked up by its label, and the first pause between.
const LOOKS: u32 = 5;
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// The projects that shoots have work in. A project that no shoot holds any more is forgotten.
#[derive(Debug, Default)]
pub(super) struct Projects(Mutex<HashMap<ProjectId, Weak<Project>>>);

/// One project.
#[derive(Debug, Default)]
pub(super) struct Project {
    lists: SharedLists<Listed>,
    canary: tokio::sync::Mutex<bool>,
    refused: Mutex<Option<(Because, Moment)>>,
    /// What is known of its network interfaces and volumes.
    pub(super) parts: PartLists,
}

impl Projects {
    pub(super) fn of(&self, id: ProjectId) -> Arc<Project> {
        let mut projects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        projects.retain(|_, project| project.strong_count() > 0);
        if let Some(project) = projects.get(&id).and_then(Weak::upgrade) {
            return project;
        }
        let project = Arc::new(Project::default());
        projects.insert(id, Arc::downgrade(&project));
        project
    }
}

impl Project {
    /// Why no server of the project may be labelled.
    pub(super) fn refused(&self, now: Moment) -> Option<Because> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.as_ref().filter(|(_, at)| now.saturating_sub(*at) < REFUSED_FOR).map(|(because, _)| because.clone())
    }

    /// The kinds of which no network interface or volume of the project may be labelled, and why.
    pub(super) fn refused_parts(&self, now: Moment) -> BTreeMap<PartKind, Because> {
        self.parts.refused(now)
    }

    /// The servers of a region: a LIST, as [`SharedLists::list`] shares it.
    pub(super) async fn list(
        &self,
        cloud: &impl Cloud,
        region: &Region,
        known: Option<Moment>,
        clock: &impl Clock,
    ) -> Result<Listed, Because> {
        let ask = |check| {
            let cloud = cloud.checked(check);
            async move { cloud.servers(region).await }
        };
        self.lists.list(clock, region, known, ask, Listed::new).await
    }

    /// Sets labels on a server and checks the answer. The first one of a project is a canary: no other is set before it was read back by GET
    /// and by selector.
    pub(super) async fn label(
        &self,
        cloud: &impl Cloud,
        clock: &impl Clock,
        region: &Region,
        server: ServerId,
        labels: &BTreeMap<String, String>,
    ) -> Result<Server, Because> {
        let mut canary = Some(self.canary.lock().await);
        if canary.as_ref().is_some_and(|passed| **passed) {
            // Only the canary holds the others up.
            canary = None;
        }
        if let Some(because) = self.refused(clock.now()) {
            return Err(because);
        }
        let answer = match cloud.label(region, server, labels).await {
            Ok(answer) => answer,
            Err(error) => {
                let because = because(&error);
                if because.reason == Reason::LabelRefused {
                    let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
                    *refused = Some((because.clone(), clock.now()));
                }
                return Err(because);
            }
        };
        verify(&answer, labels)?;
        if let Some(mut passed) = canary {
            let read = cloud.server(region, server).await.map_err(|error| because(&error))?;
            verify(&read, labels)?;
            visible(cloud, clock, region, server, labels).await?;
            *passed = true;
        }
        self.lists.take_up(region, |listed| listed.take_up(answer.clone())).await;
        Ok(answer)
    }
}

fn verify(server: &Server, labels: &BTreeMap<String, String>) -> Result<(), Because> {
    verify_labels(format_args!("server {}", server.id), &server.labels, labels)
}

/// Whether the labels that were sent are there now.
pub(super) fn verify_labels(
    of: impl fmt::Display,
    there: &BTreeMap<Box<str>, Box<str>>,
    sent: &BTreeMap<String, String>,
) -> Result<(), Because> {
    match sent.iter().find(|(key, value)| there.get(key.as_str()).map(|label| &**label) != Some(value.as_str())) {
        None => Ok(()),
        Some((key, _)) => Err(Because::about(Reason::LabelUnverified, format!("{key} on {of}"))),
    }
}

/// Waits until the server is found by its label, as the machine-controller-manager will look for it.
async fn visible(
    cloud: &impl Cloud,
    clock: &impl Clock,
    region: &Region,
    server: ServerId,
    labels: &BTreeMap<String, String>,
) -> Result<(), Because> {
    let Some((key, value)) = labels.iter().find(|(key, _)| key.ends_with("/machine")).or_else(|| labels.iter().next())
    else {
        return Ok(());
    };
    for look in 0..LOOKS {
        let found = cloud.servers_with_label(region, key, value).await.map_err(|error| because(&error))?;
        if found.iter().any(|found| found.id == server) {
            return Ok(());
        }
        clock.sleep(LOOK_AGAIN * 2_u32.pow(look)).await;
    }
    Err(Because::about(Reason::LabelUnverified, format!("server {server} is not found by its label {key}")))
}
