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
    /// Since when nothing has stood in the way of a rewrite; none while something does.
    free: Option<Moment>,
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
        let free = act.is_none() && facts.openstack_remains().next().is_none();
        self.free = free.then(|| self.free.unwrap_or(now));
        keep(&mut self.act, act, now);
        keep(&mut self.label, label, now);
    }
}

fn keep(since: &mut Option<(Moment, Because)>, why: Option<Because>, now: Moment) {
    *since = why.map(|why| (since.as_ref().map_or(now, |(since, _)| *since), why));
}

/// How long a rewrite may take when nothing but lost calls stands in its way: closing the guard takes some ten calls, of which each fails now and then,
/// and the pause after each failure grows to five minutes.
const AT_MOST: Duration = Duration::from_secs(40 * 60);

impl World {
    /// When a leader is left in peace with a shoot, no Machine of it keeps its old ID for long. So a restored one, whose creation times out after
    /// 45 minutes, is rewritten in time.
    pub fn expect_rewrites(&mut self, namespace: &str) {
        let now = self.now();
        let free = self.forbidden.get(namespace).and_then(|forbidden| forbidden.free);
        let (Some(free), Some(leads)) = (free, self.leads_since) else { return };
        let stale = self.stale_until.get(namespace).copied().unwrap_or_default();
        let since = free.max(leads).max(stale).max(self.calm_since).max(self.kind_missing.0);
        let facts = &self.shoots[namespace].facts;
        let is_late =
            |name: &str| now.saturating_sub(self.born.get(name).copied().unwrap_or_default().max(since)) > AT_MOST;
        let late = facts.machines.iter().find(|(name, machine)| machine.is_legacy() && is_late(name));
        let late = late.filter(|(_, machine)| facts.classes.contains_key(&machine.class));
        if let Some((name, _)) = late {
            let said = format!("{name} still has its old ID, and nothing has stood in the way since {since:?}");
            self.violate(&said);
        }
    }

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
            self.violate(&said);
        }
    }
}
