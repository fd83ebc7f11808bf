//! What is true at the moment of a write, whatever the side task believes.

use std::time::Duration;

use mcm_migration_core::decide::{Because, NamespaceFacts};
use mcm_migration_core::domain::{GuardLabel, Reason};
use mcm_migration_core::plan::{Moment, Ownership, ownership};
use mcm_migration_webhook::sidetask::Clock as _;

use super::World;

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
        if self.chaos > 0.0 { Duration::from_millis(400) * self.slow } else { Duration::from_millis(5) }
    }

    /// A write of this kind reaches an object of the shoot: what it was decided on may be some calls and a second old.
    pub fn judge(&mut self, namespace: &str, what: &str, labels: bool, in_flight: Duration) {
        let now = self.clock.now();
        let Some(forbidden) = self.forbidden.get(namespace) else { return };
        let since = if labels { &forbidden.label } else { &forbidden.act };
        if let Some((since, why)) = since
            && now.saturating_sub(*since) > in_flight
        {
            let ago = now.saturating_sub(*since);
            self.violations.push(format!("{now:?}: {namespace}: {what}, {ago:?} after {why}"));
        }
    }

    /// A write is sent.
    pub fn sent(&mut self, what: &str) {
        if self.leads_since.is_none() {
            let now = self.clock.now();
            self.violations.push(format!("{now:?}: {what} was sent, and nobody leads"));
        }
    }
}
