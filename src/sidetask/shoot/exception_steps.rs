//! The steps that except a Machine, so that it no longer holds up its shoot, and take that back.

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{Exception, Reason, Region, ServerId};
use mcm_migration_core::plan::Action;

use super::Shoot;
use super::pass::Pass;
use super::step::Came;
use crate::cloud::CloudError;
use crate::sidetask::watchdog::Need;
use crate::sidetask::{Clock, Cloud, Clouds, Cluster, Fence, Owners, Write, because};

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    pub(super) async fn except(
        &mut self,
        pass: &mut Pass,
        action: &Action,
        name: &str,
        region: &Region,
        server: ServerId,
        reason: Reason,
    ) -> Result<Came, Because> {
        if reason != Reason::NameTooLong && !self.is_still_in_trouble(name, region, server, reason).await? {
            return Ok(Came::Learnt);
        }
        self.may(Need::Label).await?;
        // The version first: whoever changes the Machine after that makes the write fail.
        let Some(machine) = self.machine(name).await? else { return Ok(Came::Void) };
        if machine.facts.exception.is_some() || !self.is_still_planned(pass, action).await? {
            return Ok(Came::Void);
        }
        self.write_last(Write::Except { machine: name, version: &machine.version, reason: Some(reason) }).await
    }

    pub(super) async fn readmit(&mut self, pass: &mut Pass, action: &Action, name: &str) -> Result<Came, Because> {
        self.may(Need::Own).await?;
        let Some(machine) = self.machine(name).await? else { return Ok(Came::Void) };
        let forced = machine.facts.exception.as_ref().and_then(Exception::forced);
        if forced.is_none() || !self.is_still_planned(pass, action).await? {
            return Ok(Came::Void);
        }
        self.write_last(Write::Except { machine: name, version: &machine.version, reason: None }).await
    }

    /// Asks for this one server: a list that lacks it, or shows it as it was a minute ago, excuses nothing. What is seen otherwise is taken up.
    async fn is_still_in_trouble(
        &mut self,
        name: &str,
        region: &Region,
        server: ServerId,
        reason: Reason,
    ) -> Result<bool, Because> {
        let found = self.open_session().await?.client.server(region, server).await;
        match (found, reason) {
            (Err(CloudError::Gone(_)), Reason::ServerGone) => Ok(true),
            (Err(CloudError::Gone(_)), _) => {
                self.cloud.lists.remove(region);
                Ok(false)
            }
            (Err(error), _) => Err(because(&error)),
            (Ok(found), _) => {
                let label = Action::label_of(name, region, server);
                let held = self.backoff.held(&label, self.context.clock.now());
                let refused = held.is_some_and(|(because, _)| because.reason == Reason::ServerDeferred);
                let deferred = refused || found.status.forbids_changes();
                self.cloud.take_up(region, found);
                Ok(reason == Reason::ServerDeferred && deferred)
            }
        }
    }
}
