//! The steps that speak to the cloud about network interfaces and volumes.

use std::collections::BTreeMap;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{PartId, PartKind, Reason, Region, ServerId};
use mcm_migration_core::plan::Settings;

use super::Shoot;
use super::pass::Pass;
use super::step::Came;
use crate::sidetask::{Clock, Cloud, Clouds, Cluster, Fence, Owners};

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    pub(super) async fn list_parts(&mut self, region: &Region, kind: PartKind) -> Result<Came, Because> {
        let key = (region.clone(), kind);
        let known = self.cloud.parts.get(&key).map(|listed| listed.at);
        let listed = match self.open_session().await {
            Ok(session) => {
                let parts = &session.project.parts;
                parts.list(&*session.client, region, kind, known, &self.context.clock).await
            }
            Err(because) => Err(because),
        };
        match listed {
            Ok(listed) => {
                self.cloud.part_troubles.remove(&key);
                self.cloud.parts.insert(key, listed);
                Ok(Came::Learnt)
            }
            Err(because) => {
                self.cloud.part_troubles.insert(key, because.clone());
                Err(because)
            }
        }
    }

    pub(super) async fn label_part(
        &mut self,
        pass: &Pass,
        name: &str,
        region: &Region,
        (server, part): (ServerId, PartId),
        labels: &BTreeMap<Box<str>, Box<str>>,
    ) -> Result<Came, Because> {
        // The batch may have taken its time since the plan was made.
        let (key, now) = ((region.clone(), part.kind()), self.context.clock.now());
        let Some(listed) = self.cloud.parts.get(&key).filter(|listed| listed.age(now) <= Settings::LIST_MAX_AGE) else {
            return Ok(Came::Void);
        };
        let until = listed.at.saturating_add(Settings::LIST_MAX_AGE);
        let session = self.open_session().await?;
        let check = self.labelling_check(pass, name, (session.id, server), until);
        let Some((check, off)) = check else { return Ok(Came::Void) };
        let labels = labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let (client, clock) = (session.client.checked(check), &self.context.clock);
        match session.project.parts.label(&client, clock, region, part, &labels).await {
            Ok(part) => {
                self.cloud.take_up_part(region, part);
                Ok(Came::Learnt)
            }
            Err(because) => {
                match because.reason {
                    Reason::PartLabelRefused => {
                        self.cloud.parts_stopped.insert(part.kind(), because.clone());
                    }
                    // It may be gone, detached or changed: the next plan needs another LIST.
                    Reason::CloudRefused | Reason::ServerDeferred => drop(self.cloud.parts.remove(&key)),
                    _ => {}
                }
                off.came(because)
            }
        }
    }
}
