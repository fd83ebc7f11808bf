//! Everything that stands in the way of one object, for a person who asks. A decision needs only the first.

use crate::domain::Reason;
use crate::review::Object;

use super::gate::closed_for_rewrite;
use super::worker::{left_to_do, no_migration_of_the_control_plane};
use super::{Because, Decision, Known, Outcome};

/// Every reason of the decision on a Machine: its own first, then each other gate that is closed as well, in the order in which
/// they are asked. A Machine that is changed, or that has nothing to migrate, has one.
#[must_use]
pub fn machine_reasons(decision: &Decision, object: &Object<'_>, known: Known<'_>) -> Vec<Because> {
    match (decision.outcome, known) {
        (Outcome::Held, Known::Fresh(facts)) => {
            with_others(decision, closed_for_rewrite(object.spec.class.name.text(), facts))
        }
        _ => vec![decision.because.clone()],
    }
}

/// Every reason of the decision on a Worker: its own first, then what else is left to do. Of Machines with the same reason the first
/// is named. A Worker that is marked, or not asked about, has one.
#[must_use]
pub fn worker_reasons(decision: &Decision, object: &Object<'_>, known: Known<'_>) -> Vec<Because> {
    use Reason::{AlreadyMarked, FinalizersGone, NotOurObject, WorkerMarked};
    match (decision.because.reason, known) {
        (AlreadyMarked | FinalizersGone | NotOurObject | WorkerMarked, _) | (_, Known::Stale(_)) => {
            vec![decision.because.clone()]
        }
        (_, Known::Fresh(facts)) => {
            let moving = no_migration_of_the_control_plane(object).err().map(Because::of);
            with_others(decision, moving.into_iter().chain(left_to_do(facts)))
        }
    }
}

/// Each reason once.
fn with_others(decision: &Decision, others: impl Iterator<Item = Because>) -> Vec<Because> {
    let mut all = vec![decision.because.clone()];
    for other in others {
        if all.iter().all(|because| because.reason != other.reason) {
            all.push(other);
        }
    }
    all
}
