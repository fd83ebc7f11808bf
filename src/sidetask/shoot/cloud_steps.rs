//! The steps that speak to the cloud.

use std::collections::BTreeMap;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{NetworkId, ProjectId, Reason, Region, ServerId, StackitProviderId};
use mcm_migration_core::plan::{CloudView, Settings};

use super::Shoot;
use super::cloud_check::Reliance;
use super::pass::Pass;
use super::step::Came;
use crate::sidetask::watchdog::Need;
use crate::sidetask::{Clock, Cloud, Clouds, Cluster, Fence, Owners, because};

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    pub(super) async fn list(&mut self, region: &Region) -> Result<Came, Because> {
        let known = self.cloud.lists.get(region).map(|listed| listed.at);
        let listed = match self.open_session().await {
            Ok(session) => session.project.list(&*session.client, region, known, &self.context.clock).await,
            Err(because) => Err(because),
        };
        match listed {
            Ok(listed) => {
                self.cloud.lists.insert(region.clone(), listed);
                self.cloud.troubles.remove(region);
                Ok(Came::Learnt)
            }
            Err(because) => {
                self.cloud.troubles.insert(region.clone(), because.clone());
                Err(because)
            }
        }
    }

    pub(super) async fn label(
        &mut self,
        pass: &Pass,
        name: &str,
        region: &Region,
        server: ServerId,
        labels: &BTreeMap<Box<str>, Box<str>>,
    ) -> Result<Came, Because> {
        // The batch may have taken its time since the plan was made.
        let Some(listed) = self.cloud.fresh(region, self.context.clock.now()) else { return Ok(Came::Void) };
        let until = listed.at.saturating_add(Settings::LIST_MAX_AGE);
        let session = self.open_session().await?;
        let check = self.labelling_check(pass, name, (session.id, server), until);
        let Some((check, off)) = check else { return Ok(Came::Void) };
        let labels = labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        let (client, clock) = (session.client.checked(check), &self.context.clock);
        match session.project.label(&client, clock, region, server, &labels).await {
            Ok(server) => {
                self.cloud.take_up(region, server);
                Ok(Came::Learnt)
            }
            Err(because) => {
                match because.reason {
                    Reason::LabelRefused | Reason::CredentialsInvalid => self.cloud.stopped = Some(because.clone()),
                    // It may be gone, or changed: the next pass lists again.
                    Reason::ServerGone => drop(self.cloud.lists.remove(region)),
                    _ => {}
                }
                off.came(because)
            }
        }
    }

    pub(super) async fn care_for_boot_volume(
        &mut self,
        name: &str,
        region: &Region,
        server: ServerId,
    ) -> Result<Came, Because> {
        let session = self.open_session().await?;
        let id = StackitProviderId { project: session.id, server }.to_string();
        let (check, off) = self.check(Reliance {
            machine: name.into(),
            need: Need::Label,
            holds: Box::new(move |machine| *machine.provider_id == *id),
            without_openstack: true,
            project: session.id,
            until: None,
        });
        let client = session.client.checked(check);
        let uncared = |why: String| Because::about(Reason::BootVolumeUncared, why);
        if let Some(volume) = client.boot_volume(region, server).await.map_err(|error| because(&error))? {
            let attached = client.attachments(region, server).await.map_err(|error| because(&error))?;
            let attached = attached.into_iter().find(|attachment| attachment.volume == volume);
            let attached = attached.ok_or_else(|| uncared(format!("volume {volume} is not attached")))?;
            if !attached.delete_on_termination {
                match client.delete_with_server(region, server, volume).await {
                    Err(error) => return off.came(because(&error)),
                    Ok(changed) if !changed.delete_on_termination => {
                        return Err(uncared(format!("the answer for volume {volume} does not show it")));
                    }
                    Ok(_) => {}
                }
            }
        }
        self.cloud.cared.insert(server);
        Ok(Came::Learnt)
    }

    /// Adds the missing allowed addresses to the server's interfaces in a network, and reads them back.
    pub(super) async fn address(
        &mut self,
        name: &str,
        region: &Region,
        server: ServerId,
        network: NetworkId,
        addresses: &[String],
    ) -> Result<Came, Because> {
        let session = self.open_session().await?;
        let (check, off) = self.check(Reliance {
            machine: name.into(),
            need: Need::Act,
            holds: Box::new(|machine| machine.provider_id.is_empty()),
            // Its class is still OpenStack's.
            without_openstack: false,
            project: session.id,
            until: None,
        });
        let client = session.client.checked(check);
        let unresolved = |why: &str| Because::about(Reason::InFlightUnresolved, why);
        let read = match client.nics(region, server).await.map_err(|error| because(&error)) {
            // What the last LIST shows is no longer so: the next plan needs another.
            Err(because) if because.reason == Reason::ServerGone => {
                self.cloud.lists.remove(region);
                return Err(because);
            }
            read => read?,
        };
        let ours: Vec<_> = read.into_iter().filter(|nic| nic.network == network).collect();
        if ours.is_empty() {
            return Err(unresolved("its server has no network interface in the network of its class"));
        }
        for nic in &ours {
            let mut wanted = nic.allowed_addresses.clone();
            wanted.extend(addresses.iter().filter(|address| !nic.allowed_addresses.contains(*address)).cloned());
            if wanted.len() == nic.allowed_addresses.len() {
                continue;
            }
            if let Err(error) = client.allow(region, network, nic.id, &wanted).await {
                return off.came(because(&error));
            }
        }
        let read = client.nics(region, server).await.map_err(|error| because(&error))?;
        let mut ours = read.iter().filter(|nic| nic.network == network);
        if ours.any(|nic| addresses.iter().any(|address| !nic.allowed_addresses.contains(address))) {
            return Err(unresolved("the allowed addresses of its network interface do not show"));
        }
        self.cloud.addressed.insert(server);
        Ok(Came::Learnt)
    }

    /// What an earlier pass could not reach is asked for again after a pause, and a project whose labels are refused rests.
    /// Nothing that was learnt of another project counts for the one that the Secret names now.
    pub(super) fn forget_troubles(&mut self, project: Option<ProjectId>) {
        if self.session.as_ref().is_some_and(|session| Some(session.id) != project) {
            (self.session, self.cloud) = (None, CloudView::default());
        }
        let now = self.context.clock.now();
        self.cloud.forget_troubles(&self.backoff, now);
        let project = self.session.as_ref().map(|session| &session.project);
        self.cloud.stopped = project.and_then(|project| project.refused(now));
        self.cloud.parts_stopped = project.map(|project| project.refused_parts(now)).unwrap_or_default();
        // Long lists of large projects are not kept for longer than they are of use.
        let keep = self.context.config.settings.drift_every.max(Settings::LIST_MAX_AGE);
        self.cloud.lists.retain(|_, listed| listed.age(now) <= keep);
        self.cloud.parts.retain(|_, listed| listed.age(now) <= keep);
    }
}
