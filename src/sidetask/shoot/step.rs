//! Carries one action out, and says what came of it.

use std::sync::Arc;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{Action, Proof};

use super::Shoot;
use super::pass::Pass;
use crate::sidetask::watchdog::Need;
use crate::sidetask::{Clock, Clouds, Cluster, ClusterError, Fence, Owners, Write, Written};

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Came {
    /// It was carried out. What the API server shows is another now.
    Done,
    /// It was carried out, and nothing that was read before changed by it.
    Learnt,
    /// It is not needed, or not possible any more: what it relied on changed.
    Void,
    /// It failed, and is tried again after a pause.
    Failed(Because),
}

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    pub(super) async fn carry_out(&mut self, pass: &mut Pass, action: &Action) -> Came {
        if self.context.config.dry_run
            && !matches!(action, Action::List { .. } | Action::ListParts { .. } | Action::Probe)
        {
            self.say(action, "dry-run", None);
            return Came::Void;
        }
        let context = Arc::clone(&self.context);
        // Taken before anything is asked that the step relies on. Steps in the cloud have queues of their own.
        let _place = if speaks_to_the_cloud(action) { None } else { context.steps.acquire().await.ok() };
        let came = match action {
            Action::List { region } => self.list(region).await,
            Action::ListParts { region, kind } => self.list_parts(region, *kind).await,
            Action::Address { machine, region, server, network, addresses } => {
                self.address(machine, region, *server, *network, addresses).await
            }
            Action::SettleId { .. } | Action::SettleNoServer { .. } => self.settle(pass, action).await,
            Action::Retire { class, provider_spec, .. } => self.retire(pass, action, class, provider_spec).await,
            Action::CloseGuard => self.close_guard(pass).await,
            Action::Probe => self.probe(pass).await,
            Action::Arm => self.arm(pass, action).await,
            Action::Disarm { because } => self.disarm(because).await,
            Action::Touch { machine } => self.touch(machine).await,
            Action::Label { machine, region, server, labels } => {
                self.label(pass, machine, region, *server, labels).await
            }
            Action::LabelPart { machine, region, server, part, labels } => {
                self.label_part(pass, machine, region, (*server, *part), labels).await
            }
            Action::CareForBootVolume { machine, region, server } => {
                self.care_for_boot_volume(machine, region, *server).await
            }
            Action::Clear { machine } => self.clear(machine).await,
            Action::Except { machine, region, server, reason } => {
                self.except(pass, action, machine, region, *server, *reason).await
            }
            Action::Readmit { machine } => self.readmit(pass, action, machine).await,
            Action::MarkWorker { worker } => self.mark(pass, action, worker, true).await,
            Action::UnmarkWorker { worker } => self.mark(pass, action, worker, false).await,
        };
        let came = came.unwrap_or_else(Came::Failed);
        match &came {
            Came::Done | Came::Learnt => {
                self.backoff.done(action);
                self.say(action, "done", None);
            }
            Came::Void => self.say(action, "void", None),
            Came::Failed(because) => {
                let (now, jitter) = (self.context.clock.now(), self.context.clock.jitter());
                self.backoff.failed(action, because.clone(), now, jitter);
                self.say(action, "failed", Some(because));
            }
        }
        came
    }

    /// The side task's own audit: each step, what it was for, and what came of it.
    fn say(&self, action: &Action, outcome: &'static str, because: Option<&Because>) {
        let (step, subject, namespace) = (action.step(), action.subject(), &*self.namespace);
        self.context.metrics.step(step, outcome);
        match because {
            Some(because) => {
                let reason = because.reason.name();
                tracing::warn!(namespace, step, subject, outcome, reason, why = because.subject, "side task");
            }
            None if matches!(action, Action::List { .. } | Action::ListParts { .. } | Action::Probe) => {
                tracing::debug!(namespace, step, subject, outcome, "side task");
            }
            None => tracing::info!(namespace, step, subject, outcome, "side task"),
        }
    }

    /// Asks, right before a write, whether it may be made.
    pub(super) async fn may(&self, need: Need) -> Result<(), Because> {
        self.watchdog.check(&*self.context.cluster, &self.context.clock, need).await
    }

    /// Writes, if this replica still leads.
    pub(super) async fn write(&self, write: Write<'_>) -> Result<Written, Because> {
        self.tried(write).await?.map_err(write_failed)
    }

    /// As [`Self::write`]; an object that changed in between, or is gone, makes the step void.
    pub(super) async fn write_or_void(&self, write: Write<'_>) -> Result<Option<Written>, Because> {
        match self.tried(write).await? {
            Ok(written) => Ok(Some(written)),
            Err(ClusterError::Conflict(_) | ClusterError::Gone(_)) => Ok(None),
            Err(error) => Err(write_failed(error)),
        }
    }

    /// The same, for a step that ends with the write.
    pub(super) async fn write_last(&self, write: Write<'_>) -> Result<Came, Because> {
        Ok(if self.write_or_void(write).await?.is_some() { Came::Done } else { Came::Void })
    }

    /// Makes the MachineMigration; none when somebody made it in between.
    pub(super) async fn make_migration(&self) -> Result<Option<Written>, Because> {
        match self.tried(Write::MakeMigration).await? {
            Ok(written) => Ok(Some(written)),
            Err(ClusterError::Conflict(_)) => Ok(None),
            Err(error) => Err(write_failed(error)),
        }
    }

    /// The API server's own word on a write, which is made only if this replica still leads.
    async fn tried(&self, write: Write<'_>) -> Result<Result<Written, ClusterError>, Because> {
        if !self.context.fence.holds() {
            return Err(lost_leadership());
        }
        Ok(self.context.cluster.write(&self.namespace, write).await)
    }

    /// Reads everything again and sees whether the same action would be planned: for steps that rely on more than one object.
    pub(super) async fn is_still_planned(&mut self, pass: &mut Pass, action: &Action) -> Result<bool, Because> {
        pass.snapshot = self.read_snapshot().await?;
        let plan = self.plan(pass)?;
        Ok(plan.actions.contains(action))
    }

    pub(super) async fn read_snapshot(&self) -> Result<crate::sidetask::Snapshot, Because> {
        let snapshot = self.context.cluster.snapshot(&self.namespace).await;
        snapshot.map_err(|error| Because::about(Reason::ReadFailed, error.to_string()))
    }

    async fn probe(&mut self, pass: &mut Pass) -> Result<Came, Because> {
        // Once over several connections, which may meet several API servers; after that one at each pass.
        let rounds = if self.proved { 1 } else { 3 };
        let (cluster, facts) = (&self.context.cluster, &pass.snapshot.facts);
        pass.proof = match cluster.prove(&self.namespace, facts, rounds, pass.just_closed).await {
            Ok(()) => {
                self.proved = true;
                Proof::Holds
            }
            Err((reason, why)) => Proof::Fails(Because::about(reason, why)),
        };
        Ok(Came::Learnt)
    }
}

fn speaks_to_the_cloud(action: &Action) -> bool {
    matches!(
        action,
        Action::List { .. }
            | Action::ListParts { .. }
            | Action::Address { .. }
            | Action::Label { .. }
            | Action::LabelPart { .. }
            | Action::CareForBootVolume { .. }
            | Action::Except { .. }
    )
}

#[allow(clippy::needless_pass_by_value, reason = "it is what `map_err` hands over")]
fn write_failed(error: ClusterError) -> Because {
    Because::about(Reason::WriteFailed, error.to_string())
}

pub(super) fn lost_leadership() -> Because {
    Because::about(Reason::WriteFailed, "this replica no longer leads")
}
