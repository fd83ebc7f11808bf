use crate::domain::{GuardLabel, ProjectId, Provider, Reason};

use super::{Because, Known};

/// The gate: whether a legacy Machine of this namespace and class may be rewritten now, and to which project.
///
/// The checks stand in the order in which an operator meets them: first whether anything is known, then whether the shoot is
/// guarded and armed, then whether the OpenStack provider can still act, then where the servers are.
///
/// # Errors
/// The first reason that keeps it closed.
pub fn open_for_rewrite(class: &str, known: Known<'_>) -> Result<ProjectId, Because> {
    let facts = match known {
        Known::Fresh(facts) => facts,
        Known::Stale(resource) => return Err(Because::about(Reason::CacheStale, resource)),
    };
    match facts.guard() {
        Some(GuardLabel::Closed) => {}
        Some(GuardLabel::RollingBack) => return Err(Because::of(Reason::RollingBack)),
        Some(GuardLabel::Unknown) | None => return Err(Because::of(Reason::NoGuard)),
    }
    let migration = facts.migration.ok_or_else(|| Because::of(Reason::NotArmed))?;
    if migration.paused {
        return Err(Because::of(Reason::Paused));
    }
    if !migration.armed {
        return Err(Because::of(Reason::NotArmed));
    }
    match facts.classes.get(class) {
        None => return Err(Because::about(Reason::ClassUnknown, class)),
        Some(Provider::OpenStack) => return Err(Because::about(Reason::ClassIsOpenstack, class)),
        Some(Provider::Other) => return Err(Because::about(Reason::ClassIsForeign, class)),
        Some(Provider::Stackit) => {}
    }
    if let Some(because) = facts.openstack_remains().next() {
        return Err(because);
    }
    facts.project.ok_or_else(|| Because::of(Reason::ProjectUnknown))
}
