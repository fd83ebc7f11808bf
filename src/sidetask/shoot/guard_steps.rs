//! The steps *guard*, *arm* and *disarm*.

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{Action, GuardStep, Proof, Say, guard_steps, qualifies_for_guard};

use super::Shoot;
use super::pass::Pass;
use super::step::Came;
use crate::sidetask::watchdog::Need;
use crate::sidetask::{Clock, Clouds, Cluster, Fence, Owners, VersionOf, Write, Written};

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    pub(super) async fn close_guard(&mut self, pass: &mut Pass) -> Result<Came, Because> {
        self.may(Need::Act).await?;
        // Read before the facts: whoever changes the Namespace after that makes the write of the label fail.
        let Some(version) = self.version(VersionOf::Namespace).await? else { return Ok(Came::Void) };
        pass.snapshot = self.read_snapshot().await?;
        if qualifies_for_guard(&pass.snapshot.facts).is_err() {
            return Ok(Came::Void);
        }
        for step in guard_steps(&pass.snapshot.facts) {
            self.may(Need::Act).await?;
            let message = "The guard has to be closed and proved before anything is rewritten.";
            let disarmed = [Say::armed(false, Reason::NotArmed, message)];
            let write = match step {
                GuardStep::MakeMigration => Write::MakeMigration,
                GuardStep::Disarm => Write::Say { version: None, say: &disarmed },
                GuardStep::CloseGuard => Write::CloseGuard { version: &version },
            };
            // What cannot be made for want of its kind stays so: that has to be said, not tried over and over.
            let written = match write {
                Write::MakeMigration => self.make_migration().await?,
                write => self.write_or_void(write).await?,
            };
            match written {
                None => return Ok(Came::Void),
                Some(Written::Took(false)) => {
                    let why = "the API server took the write and left the label out; somebody's webhook removes it";
                    return Err(Because::about(Reason::WriteFailed, why));
                }
                Some(_) => {}
            }
            pass.just_closed |= step == GuardStep::CloseGuard;
        }
        Ok(Came::Done)
    }

    pub(super) async fn arm(&mut self, pass: &mut Pass, action: &Action) -> Result<Came, Because> {
        self.may(Need::Act).await?;
        // Read before the facts: whoever pauses after that makes the write fail.
        let Some(version) = self.version(VersionOf::Migration).await? else { return Ok(Came::Void) };
        if pass.proof != Proof::Holds || !self.is_still_planned(pass, action).await? {
            return Ok(Came::Void);
        }
        let message = "The guard is closed and proved; legacy Machines are rewritten.";
        let armed = [Say::armed(true, Reason::Armed, message)];
        self.write_last(Write::Say { version: Some(&version), say: &armed }).await
    }

    pub(super) async fn disarm(&mut self, because: &Because) -> Result<Came, Because> {
        self.may(Need::Act).await?;
        let message = format!("{}: {}.", because.reason.meaning().trim_end_matches('.'), because.subject);
        let open = [Say::guarded(false, because.reason, message.clone()), Say::armed(false, because.reason, message)];
        self.write_last(Write::Say { version: None, say: &open }).await
    }

    pub(super) async fn version(&self, of: VersionOf<'_>) -> Result<Option<String>, Because> {
        let version = self.context.cluster.version(&self.namespace, of).await;
        version.map_err(|error| Because::about(Reason::ReadFailed, error.to_string()))
    }
}
