use crate::decide::{Because, NamespaceFacts};
use crate::domain::{GuardLabel, Reason};

use super::{Ownership, ownership};

/// Whether a shoot qualifies for the guard: it is ours, restoring or deleting here; there is something to migrate or to keep;
/// and nothing of the OpenStack provider is left that could act.
///
/// # Errors
/// Every reason why it does not, in the order in which they are worth reading.
pub fn qualifies_for_guard(facts: &NamespaceFacts) -> Result<Ownership, Vec<Because>> {
    let owner = ownership(facts);
    if facts.namespace.is_none() {
        // Nothing else is worth saying about a name that is misspelt.
        return owner.map_err(|because| vec![because]);
    }
    let mut reasons = Vec::new();
    if let Err(because) = &owner {
        reasons.push(because.clone());
    }
    if facts.guard() == Some(GuardLabel::RollingBack) {
        reasons.push(Because::of(Reason::RollingBack));
    }
    if facts.migration.is_some_and(|migration| migration.paused) {
        reasons.push(Because::of(Reason::Paused));
    }
    if let Some((name, _)) = facts.workers.iter().find(|(_, worker)| !worker.is_stackit) {
        reasons.push(Because::about(Reason::WorkerNotStackit, &**name));
    }
    if !facts.machines.values().any(|machine| machine.is_legacy() || machine.marked || machine.migrated) {
        reasons.push(Because::of(Reason::NothingToMigrate));
    }
    if !facts.has_stackit_class() {
        reasons.push(Because::of(Reason::NoClass));
    }
    reasons.extend(facts.openstack_remains());
    match owner {
        Ok(owner) if reasons.is_empty() => Ok(owner),
        _ => Err(reasons),
    }
}
