//! What is true at the moment of a write, whatever the side task believes.

use std::time::Duration;

use mcm_migration_core::decide::{Because, NamespaceFacts};
use mcm_migration_core::domain::{GuardLabel, Reason};
use mcm_migration_core::plan::{Moment, Ownership, ownership};

use crate::world::World;

/// Since when something may not be done, and why.
#[derive(Default, Clone, Debug)]
pub struct Forbidden {
    act: Option<(Moment, Because)>,
    label: Option<(Moment, Because)>,
}

impl Forbidden {
    pub fn observe(&mut self, facts: &NamespaceFacts, now: Moment) {
        let held = || {
            if facts.migration.is_some_and(|migration| migration.paused) {
                return Some(Because::of(Reason::Paused));
            }
            (facts.guard() == Some(GuardLabel::RollingBack)).then(|| Because::of(Reason::RollingBack))
        };
        let owner = ownership(facts);
        let act = owner.clone().err().or_else(held);
        let label = act.clone().or_else(|| match owner {
            Ok(Ownership::RestoringHere) => Some(Because::of(Reason::WorkerRestoring)),
            Ok(Ownership::DeletingHere) => Some(Because::of(Reason::WorkerTerminating)),
            _ if facts.guard() != Some(GuardLabel::Closed) => Some(Because::of(Reason::NoGuard)),
            _ => None,
        });
        keep(&mut self.act, act, now);
        keep(&mut self.label, label, now);
    }
}

fn keep(since: &mut Option<(Moment, Because)>, why: Option<Because>, now: Moment) {
    *since = why.map(|why| (since.as_ref().map_or(now, |(since, _)| *since), why));
}

impl World {
    /// How long one call to the API server may take.
    pub fn longest_call(&self) -> Duration {
        if self.weather.lost > 0.0 { Duration::from_millis(400) * self.slow } else { Duration::from_millis(5) }
    }

    /// A write of this kind reaches an object of the shoot: what it was decided on may be some calls and a second older than `decided`, the
    /// moment at which it was sent.
    pub fn judge(&mut self, namespace: &str, what: &str, labels: bool, decided: Moment, margin: Duration) {
        let Some(forbidden) = self.forbidden.get(namespace) else { return };
        let since = if labels { &forbidden.label } else { &forbidden.act };
        if let Some((since, why)) = since
            && decided.saturating_sub(*since) > margin
        {
            let ago = decided.saturating_sub(*since);
            let said = format!("{namespace}: {what}, sent {ago:?} after {why}");
            self.violate(said);
        }
    }
}
