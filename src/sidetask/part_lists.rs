//! What all shoots of one project share of its network interfaces and volumes: the last LISTs, a canary for each kind, and that the API refuses
//! a label of a kind.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{Part, PartId, PartKind, Reason, Region};
use mcm_migration_core::plan::{ListedParts, Moment};

use super::projects::{REFUSED_FOR, verify_labels};
use super::shared_lists::SharedLists;
use super::{Clock, Cloud, because};
use crate::cloud::CloudError;

/// The network interfaces and the volumes of one project.
#[derive(Debug, Default)]
pub(super) struct PartLists {
    nics: OfKind,
    volumes: OfKind,
}

#[derive(Debug, Default)]
struct OfKind {
    lists: SharedLists<ListedParts>,
    canary: tokio::sync::Mutex<bool>,
    refused: Mutex<Option<(Because, Moment)>>,
}

impl PartLists {
    fn of(&self, kind: PartKind) -> &OfKind {
        match kind {
            PartKind::Nic => &self.nics,
            PartKind::Volume => &self.volumes,
        }
    }

    /// The kinds of which nothing may be labelled, and why.
    pub(super) fn refused(&self, now: Moment) -> BTreeMap<PartKind, Because> {
        PartKind::ALL.into_iter().filter_map(|kind| Some((kind, self.of(kind).refused(now)?))).collect()
    }

    /// The parts of a region: a LIST, as [`SharedLists::list`] shares it.
    pub(super) async fn list(
        &self,
        cloud: &impl Cloud,
        region: &Region,
        kind: PartKind,
        known: Option<Moment>,
        clock: &impl Clock,
    ) -> Result<ListedParts, Because> {
        let ask = |check| {
            let cloud = cloud.checked(check);
            async move { cloud.parts(region, kind).await }
        };
        self.of(kind).lists.list(clock, region, known, ask, ListedParts::new).await
    }

    /// Sets labels on a part and checks the answer. The first one of a kind is a canary: no other is set before it was read back.
    pub(super) async fn label(
        &self,
        cloud: &impl Cloud,
        clock: &impl Clock,
        region: &Region,
        id: PartId,
        labels: &BTreeMap<String, String>,
    ) -> Result<Part, Because> {
        let of = self.of(id.kind());
        let canary = Some(of.canary.lock().await).filter(|passed| !**passed);
        if let Some(because) = of.refused(clock.now()) {
            return Err(because);
        }
        let answer = match cloud.label_part(region, id, labels).await {
            Ok(answer) => answer,
            Err(error) => {
                let because = because_of(id, &error);
                if because.reason == Reason::PartLabelRefused {
                    let mut refused = of.refused.lock().unwrap_or_else(PoisonError::into_inner);
                    *refused = Some((because.clone(), clock.now()));
                }
                return Err(because);
            }
        };
        verify_labels(id, &answer.labels, labels)?;
        if let Some(mut passed) = canary {
            let read = cloud.part(region, id).await.map_err(|error| because_of(id, &error))?;
            verify_labels(id, &read.labels, labels)?;
            *passed = true;
        }
        of.lists.take_up(region, |listed| listed.take_up(answer.clone())).await;
        Ok(answer)
    }
}

impl OfKind {
    fn refused(&self, now: Moment) -> Option<Because> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.as_ref().filter(|(_, at)| now.saturating_sub(*at) < REFUSED_FOR).map(|(because, _)| because.clone())
    }
}

/// What a failed call means for the part that it was for. A label that is refused here says nothing of those of servers.
fn because_of(id: PartId, error: &CloudError) -> Because {
    let because = because(error);
    let reason = match because.reason {
        Reason::LabelRefused => Reason::PartLabelRefused,
        other => other,
    };
    Because::about(reason, format!("{id}: {error}"))
}
