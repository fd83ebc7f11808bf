use crate::decide::NamespaceFacts;
use crate::domain::GuardLabel;

/// A write of the step *guard*.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GuardStep {
    /// Make the `MachineMigration`.
    MakeMigration,
    /// Set its condition `Armed` to false, so that nothing is rewritten before the guard has been proved.
    Disarm,
    /// Set the namespace's label to `closed`.
    CloseGuard,
}

/// The writes that close the guard of a shoot that qualifies for it, in their order. What is there already is left out.
///
/// A condition `Armed` that is true while the guard is open is a leftover, and is taken back first.
#[must_use]
pub fn guard_steps(facts: &NamespaceFacts) -> Vec<GuardStep> {
    let mut steps = Vec::new();
    if facts.migration.is_none() {
        steps.push(GuardStep::MakeMigration);
    }
    let closed = facts.guard() == Some(GuardLabel::Closed);
    if facts.migration.is_none() || !closed {
        steps.push(GuardStep::Disarm);
    }
    if !closed {
        steps.push(GuardStep::CloseGuard);
    }
    steps
}

/// Whether the guard is closed and the condition `Armed` true, so that admission rewrites now.
#[must_use]
pub fn is_armed(facts: &NamespaceFacts) -> bool {
    facts.guard() == Some(GuardLabel::Closed) && facts.migration.is_some_and(|migration| migration.armed)
}
