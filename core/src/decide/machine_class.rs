use crate::domain::{Provider, Reason};
use crate::review::{Object, OldObject, Operation, Shape, Text};

use super::{Because, Known, NamespaceFacts, Verdict};

/// How many Machines a refusal names.
const NAMED: usize = 10;

/// The gate forward: whether a MachineClass may turn from `OpenStack` to `stackit` now.
///
/// A Machine without a provider ID may stand for a server that the OpenStack provider is just making. Once its class is `stackit`,
/// the STACKIT provider makes a second one and the first leaks; a terminating Machine leaks its server too. So the class waits
/// until no OpenStack provider is left that could make servers, and each Machine of the class has an ID or is known to need none.
///
/// Other than for Machines and Workers, what is not known means *refused*. Every other write is let in.
#[must_use]
pub fn decide_machine_class(
    operation: Operation,
    object: &Object<'_>,
    old_object: &OldObject<'_>,
    known: Known<'_>,
) -> Verdict {
    if !turns_to_stackit(operation, object, old_object) {
        return Verdict::passed(Because::of(Reason::NoFlip));
    }
    let class = object.metadata.name.text();
    if class.is_empty() {
        return Verdict::refused(Because::about(Reason::ObjectUnreadable, "metadata.name"));
    }
    let facts = match known {
        Known::Fresh(facts) => facts,
        // Whether the shoot is paused is not known either.
        Known::Stale(resource) => return Verdict::refused(Because::about(Reason::CacheStale, resource)),
    };
    let verdict = match open_for_flip(class, facts) {
        Err(because) => Verdict::refused(because),
        Ok(()) => Verdict::passed(Because::of(Reason::MayFlip)),
    };
    match facts.migration {
        Some(migration) if migration.is_held_by_an_operator() => verdict.waived_by(Reason::Paused),
        // Nobody settles anything until that pause is lifted.
        Some(migration) if migration.paused => verdict.refused_while(Reason::PausedByRollback),
        _ => verdict,
    }
}

/// A provider before the write that cannot be read counts as `OpenStack`.
fn turns_to_stackit(operation: Operation, object: &Object<'_>, old_object: &OldObject<'_>) -> bool {
    let before_is_unknown = old_object.shape != Shape::Right || old_object.provider == Text::Other;
    operation == Operation::Update
        && Provider::of(object.provider.text()) == Provider::Stackit
        && (before_is_unknown || Provider::of(old_object.provider.text()) == Provider::OpenStack)
}

/// The gate itself: whether the class may turn, by what is known. The pod first: as long as there is one, no Machine can be settled.
///
/// # Errors
/// What is in the way.
pub fn open_for_flip(class: &str, facts: &NamespaceFacts) -> Result<(), Because> {
    if let Some(pod) = facts.openstack_mcm_pod() {
        return Err(Because::about(Reason::OpenstackMcmAlive, pod));
    }
    let unsettled: Vec<&str> = facts
        .machines
        .iter()
        .filter(|(_, machine)| *machine.class == *class && machine.is_unsettled())
        .map(|(name, _)| &**name)
        .collect();
    if unsettled.is_empty() { Ok(()) } else { Err(Because::about(Reason::MachinesUnsettled, list(&unsettled))) }
}

fn list(names: &[&str]) -> String {
    match names.split_at_checked(NAMED) {
        Some((first, rest @ [_, ..])) => format!("{} and {} more", first.join(", "), rest.len()),
        _ => names.join(", "),
    }
}
