//! The step *complete*.

use crate::decide::{MachineFacts, every_machine_is_done};
use crate::domain::GuardLabel;

use super::{Action, Plan, Shoot};

pub(super) fn plan(shoot: &Shoot<'_>, plan: &mut Plan) {
    let facts = shoot.facts;
    // Admission marks by its caches, which may not have shown a Machine yet; by the time of the next pass that one may be rewritten already.
    let open = |machine: &MachineFacts| machine.is_legacy() || (machine.marked && machine.exception.is_none());
    let open = facts.machines.values().any(open);
    // A shoot without a guard is none that this program moves; admission marks its Worker.
    let moved = facts.guard() == Some(GuardLabel::Closed) && facts.migration.is_some();
    let done = moved && every_machine_is_done(facts).is_ok() && labels_in_place(plan) == Some(true);
    for (name, worker) in &facts.workers {
        if worker.marked && open {
            plan.act(Action::UnmarkWorker { worker: name.clone() });
        } else if !worker.marked && done {
            plan.act(Action::MarkWorker { worker: name.clone() });
        }
    }
}

/// Whether the last LISTs show every label in place; none while that is not known.
pub(super) fn labels_in_place(plan: &Plan) -> Option<bool> {
    let waits = plan.waits.iter().any(|wait| wait.kind == super::Kind::Machine);
    match (waits, plan.unknown) {
        (true, _) => Some(false),
        (false, 0) => Some(true),
        (false, _) => None,
    }
}
