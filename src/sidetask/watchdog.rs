//! Whose the shoot is, asked before each write.

use std::time::Duration;

use mcm_migration_core::decide::{Because, Known, NamespaceFacts};
use mcm_migration_core::domain::{GuardLabel, Reason};
use mcm_migration_core::plan::{Moment, Ownership, ownership};

use super::{Clock, Cluster, Owners};

/// For how long one answer counts, so that a batch of writes does not ask for each.
const COUNTS_FOR: Duration = Duration::from_secs(1);
/// How often the caches are asked while a pass is under way.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a write needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// To be ours, restoring here or deleting here.
    Act,
    /// To be ours and nothing else.
    Own,
    /// The same, and the guard closed.
    Label,
}

/// Whose the shoot is, and how its guard stands.
type Standing = (Ownership, Option<GuardLabel>);

/// One a shoot, shared by all its writes.
pub(super) struct Watchdog<C, O> {
    namespace: Box<str>,
    owners: O,
    last: tokio::sync::Mutex<Option<(Moment, Result<Standing, Because>)>>,
    cluster: std::marker::PhantomData<fn() -> C>,
}

impl<C: Cluster, O: Owners> Watchdog<C, O> {
    pub(super) fn new(namespace: &str, owners: O) -> Self {
        Self {
            namespace: namespace.into(),
            owners,
            last: tokio::sync::Mutex::default(),
            cluster: std::marker::PhantomData,
        }
    }

    /// Whether a write may be made now. What cannot be read is nobody's.
    pub(super) async fn check(&self, cluster: &C, clock: &impl Clock, need: Need) -> Result<(), Because> {
        let mut last = self.last.lock().await;
        let now = clock.now();
        let owner = match &*last {
            Some((at, owner)) if now.saturating_sub(*at) < COUNTS_FOR => owner.clone(),
            _ => {
                let owner = self.ask(cluster).await;
                *last = Some((now, owner.clone()));
                owner
            }
        };
        let (owner, guard) = owner?;
        if need == Need::Label && guard != Some(GuardLabel::Closed) {
            return Err(Because::of(Reason::NoGuard));
        }
        match (owner, need) {
            (Ownership::Ours, _) | (_, Need::Act) => Ok(()),
            (Ownership::RestoringHere, _) => Err(Because::of(Reason::WorkerRestoring)),
            (Ownership::DeletingHere, _) => Err(Because::of(Reason::WorkerTerminating)),
        }
    }

    async fn ask(&self, cluster: &C) -> Result<Standing, Because> {
        let facts = cluster.owner(&self.namespace).await;
        let facts = facts.map_err(|error| Because::about(Reason::ReadFailed, error.to_string()))?;
        let owner = may_act(&facts)?;
        self.owners.owns(&self.namespace).await?;
        Ok((owner, facts.guard()))
    }

    /// Waits until the caches show that the shoot is not ours to act on any more, whatever is under way. A hold that they show from the beginning
    /// ends nothing: the pass that is under way is the one that says so in the status.
    pub(super) async fn lost(&self, cluster: &C, clock: &impl Clock) -> Because {
        let look = || {
            cluster.look(&self.namespace, |known| match known {
                // What is stale proves nothing; each write asks for itself.
                Known::Stale(_) => None,
                Known::Fresh(facts) => Some(may_act(facts)),
            })
        };
        let is_hold = |because: &Because| matches!(because.reason, Reason::Paused | Reason::RollingBack);
        let mut held = look().and_then(Result::err).is_some_and(|because| is_hold(&because));
        loop {
            clock.sleep(LOOK_EVERY).await;
            match look() {
                Some(Err(because)) if !(held && is_hold(&because)) => return because,
                Some(Ok(_)) => held = false,
                Some(Err(_)) | None => {}
            }
        }
    }
}

/// Whose the shoot is, unless an operator holds it.
fn may_act(facts: &NamespaceFacts) -> Result<Ownership, Because> {
    let owner = ownership(facts)?;
    if facts.migration.is_some_and(|migration| migration.paused) {
        return Err(Because::of(Reason::Paused));
    }
    if facts.guard() == Some(GuardLabel::RollingBack) {
        return Err(Because::of(Reason::RollingBack));
    }
    Ok(owner)
}
