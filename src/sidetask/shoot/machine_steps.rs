//! The steps that write to Machines, classes and the Worker.

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::Action;
use serde_json::Value;

use super::Shoot;
use super::pass::Pass;
use super::step::Came;
use crate::sidetask::watchdog::Need;
use crate::sidetask::{Clock, Clouds, Cluster, Fence, MachineNow, Owners, VersionOf, Write, Written};

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    pub(super) async fn settle(&mut self, pass: &mut Pass, action: &Action) -> Result<Came, Because> {
        self.may(Need::Act).await?;
        // The version first: whoever gives the Machine an ID after that makes the write fail.
        let Some(machine) = self.machine(action.subject()).await? else { return Ok(Came::Void) };
        if !machine.facts.provider_id.is_empty() || !self.is_still_planned(pass, action).await? {
            return Ok(Came::Void);
        }
        let (machine, version) = (action.subject(), machine.version.as_str());
        let write = match action {
            Action::SettleId { provider_id, .. } => Write::SettleId { machine, version, provider_id },
            _ => Write::SettleNoServer { machine, version },
        };
        self.write_last(write).await
    }

    pub(super) async fn retire(
        &mut self,
        pass: &mut Pass,
        action: &Action,
        class: &str,
        provider_spec: &Value,
    ) -> Result<Came, Because> {
        self.may(Need::Act).await?;
        let Some(version) = self.version(VersionOf::MachineClass(class)).await? else { return Ok(Came::Void) };
        if !self.is_still_planned(pass, action).await? {
            return Ok(Came::Void);
        }
        self.write_last(Write::Retire { class, version: &version, provider_spec }).await
    }

    pub(super) async fn touch(&mut self, name: &str) -> Result<Came, Because> {
        let Some(machine) = self.machine(name).await? else { return Ok(Came::Void) };
        if !machine.facts.is_legacy() {
            return Ok(Came::Void);
        }
        self.may(Need::Act).await?;
        match self.write_or_void(Write::Touch { machine: name, version: &machine.version }).await? {
            Some(Written::Machine(after)) if after.facts.is_legacy() => Err(Because::of(Reason::RewriteMissed)),
            Some(_) => Ok(Came::Done),
            None => Ok(Came::Void),
        }
    }

    pub(super) async fn clear(&mut self, name: &str) -> Result<Came, Because> {
        let Some(machine) = self.machine(name).await? else { return Ok(Came::Void) };
        if machine.facts.is_legacy() || machine.facts.provider_id.is_empty() || !machine.facts.marked {
            return Ok(Came::Void);
        }
        self.may(Need::Own).await?;
        self.write_last(Write::Clear { machine: name, version: &machine.version }).await
    }

    pub(super) async fn mark(
        &mut self,
        pass: &mut Pass,
        action: &Action,
        worker: &str,
        marked: bool,
    ) -> Result<Came, Because> {
        self.may(Need::Own).await?;
        let Some(version) = self.version(VersionOf::Worker(worker)).await? else { return Ok(Came::Void) };
        if !self.is_still_planned(pass, action).await? {
            return Ok(Came::Void);
        }
        self.write_last(Write::MarkWorker { worker, version: &version, marked }).await
    }

    pub(super) async fn machine(&self, name: &str) -> Result<Option<MachineNow>, Because> {
        let machine = self.context.cluster.machine(&self.namespace, name).await;
        machine.map_err(|error| Because::about(Reason::ReadFailed, error.to_string()))
    }
}
