//! What a write to the cloud relies on, asked again right before it is sent.

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use mcm_migration_core::decide::{Because, Known, MachineFacts};
use mcm_migration_core::domain::{ProjectId, Reason, ServerId, StackitProviderId};
use mcm_migration_core::plan::Moment;

use super::Shoot;
use super::pass::Pass;
use super::step::{Came, lost_leadership};
use crate::cloud::Check;
use crate::sidetask::watchdog::Need;
use crate::sidetask::{Clock, Clouds, Cluster, Fence, Owners};

/// What a write relies on.
pub(super) struct Reliance {
    /// The Machine whose server is written to.
    pub(super) machine: Box<str>,
    /// Whose the shoot must be.
    pub(super) need: Need,
    /// What the persisted Machine must be.
    pub(super) holds: Box<dyn Fn(&MachineFacts) -> bool + Send + Sync>,
    /// Whether something of OpenStack that has come back forbids it.
    pub(super) without_openstack: bool,
    /// The project that the Secret names.
    pub(super) project: ProjectId,
    /// How long what the plan was made from may be acted on.
    pub(super) until: Option<Moment>,
}

/// Whether a write was called off, and why; without a reason where it is just not needed any more.
#[derive(Clone, Default)]
pub(super) struct CalledOff(Arc<Mutex<Option<Off>>>);

enum Off {
    NotNeeded,
    For(Because),
}

impl CalledOff {
    /// What came of a step that failed with `because`: that, unless it was called off.
    pub(super) fn came(&self, because: Because) -> Result<Came, Because> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => Err(because),
            Some(Off::NotNeeded) => Ok(Came::Void),
            Some(Off::For(why)) => Err(why),
        }
    }

    fn note(&self, why: Option<Because>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.map_or(Off::NotNeeded, Off::For));
    }
}

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    /// The check of a label on the server of a Machine, or on what was made apart for it, planned from LISTs that may be acted on until `until`; none
    /// for a Machine that is not there.
    pub(super) fn labelling_check(
        &self,
        pass: &Pass,
        name: &str,
        (project, server): (ProjectId, ServerId),
        until: Moment,
    ) -> Option<(Check, CalledOff)> {
        let MachineFacts { uid, class, .. } = pass.snapshot.facts.machines.get(name)?.clone();
        let id = StackitProviderId { project, server }.to_string();
        Some(self.check(Reliance {
            machine: name.into(),
            need: Need::Label,
            holds: Box::new(move |machine| *machine.provider_id == *id && machine.class == class && machine.uid == uid),
            without_openstack: true,
            project,
            until: Some(until),
        }))
    }

    /// A check that asks all of it, past every cache: whose the shoot is, what the Machine is, and last whether this replica leads.
    pub(super) fn check(&self, reliance: Reliance) -> (Check, CalledOff) {
        let (context, watchdog, namespace) =
            (Arc::clone(&self.context), Arc::clone(&self.watchdog), self.namespace.clone());
        let (reliance, off) = (Arc::new(reliance), CalledOff::default());
        let slot = off.clone();
        let check = Check::new(move || {
            let (context, watchdog, namespace) = (Arc::clone(&context), Arc::clone(&watchdog), namespace.clone());
            let (reliance, slot) = (Arc::clone(&reliance), slot.clone());
            async move {
                let asked = async {
                    let _place = context.steps.acquire().await;
                    watchdog.check(&*context.cluster, &context.clock, reliance.need).await?;
                    let read = context.cluster.machine(&namespace, &reliance.machine).await;
                    let machine = read.map_err(|error| Because::about(Reason::ReadFailed, error.to_string()))?;
                    let in_time = reliance.until.is_none_or(|until| context.clock.now() <= until);
                    if !in_time || !machine.is_some_and(|machine| (reliance.holds)(&machine.facts)) {
                        return Ok(false);
                    }
                    context.cluster.look(&namespace, |known| match known {
                        Known::Stale(resource) => Err(Because::about(Reason::CacheStale, resource)),
                        Known::Fresh(facts) if facts.project != Some(reliance.project) => {
                            Err(Because::of(Reason::ProjectMismatch))
                        }
                        Known::Fresh(facts) if reliance.without_openstack => {
                            facts.openstack_remains().next().map_or(Ok(()), Err)
                        }
                        Known::Fresh(_) => Ok(()),
                    })?;
                    Ok(true)
                };
                let asked: Result<bool, Because> = asked.await;
                match asked {
                    Ok(true) if context.fence.holds() => Ok(()),
                    Ok(true) => Err(Some(lost_leadership())),
                    Ok(false) => Err(None),
                    Err(because) => Err(Some(because)),
                }
                .map_err(|why| {
                    let said = why.as_ref().map_or_else(|| "the Machine is another now".to_owned(), Because::to_string);
                    slot.note(why);
                    said
                })
            }
            .boxed()
        });
        (check, off)
    }
}
