use std::iter::once_with;

use crate::domain::{GuardLabel, ProjectId, Provider, Reason};

use super::{Because, Known, NamespaceFacts};

/// The gate: whether a legacy Machine of this namespace and class may be rewritten now, and to which project.
///
/// # Errors
/// The first reason that keeps it closed.
pub fn open_for_rewrite(class: &str, known: Known<'_>) -> Result<ProjectId, Because> {
    let facts = match known {
        Known::Fresh(facts) => facts,
        Known::Stale(resource) => return Err(Because::about(Reason::CacheStale, resource)),
    };
    closed_before_the_project(class, facts).next().map_or_else(|| project(facts), Err)
}

/// Every check of the gate that fails, each asked only when the one before it has been taken.
///
/// They stand in the order in which an operator meets them: first whether the shoot is guarded and armed, then whether the
/// OpenStack provider can still act, then where the servers are.
pub(super) fn closed_for_rewrite<'a>(class: &'a str, facts: &'a NamespaceFacts) -> impl Iterator<Item = Because> + 'a {
    closed_before_the_project(class, facts).chain(once_with(move || project(facts).err()).flatten())
}

fn closed_before_the_project<'a>(class: &'a str, facts: &'a NamespaceFacts) -> impl Iterator<Item = Because> + 'a {
    let unguarded = once_with(move || not_guarded(facts));
    let paused = once_with(move || facts.migration.is_some_and(|migration| migration.paused).then_some(Reason::Paused));
    let unarmed =
        once_with(move || (!facts.migration.is_some_and(|migration| migration.armed)).then_some(Reason::NotArmed));
    let of_the_shoot = unguarded.chain(paused).chain(unarmed).flatten().map(Because::of);
    let of_the_class = once_with(move || not_stackit(class, facts)).flatten();
    let of_openstack = once_with(move || facts.openstack_remains()).flatten();
    of_the_shoot.chain(of_the_class).chain(of_openstack)
}

fn not_guarded(facts: &NamespaceFacts) -> Option<Reason> {
    match facts.guard() {
        Some(GuardLabel::Closed) => None,
        Some(GuardLabel::RollingBack) => Some(Reason::RollingBack),
        Some(GuardLabel::Unknown) | None => Some(Reason::NoGuard),
    }
}

fn not_stackit(class: &str, facts: &NamespaceFacts) -> Option<Because> {
    let reason = match facts.classes.get(class) {
        Some(Provider::Stackit) => return None,
        None => Reason::ClassUnknown,
        Some(Provider::OpenStack) => Reason::ClassIsOpenstack,
        Some(Provider::Other) => Reason::ClassIsForeign,
    };
    Some(Because::about(reason, class))
}

fn project(facts: &NamespaceFacts) -> Result<ProjectId, Because> {
    facts.project.ok_or_else(|| Because::of(Reason::ProjectUnknown))
}
