use mcm_migration_core::decide::{Because, Ruling, Verdict, decide_machine_class};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::review::Request;

use super::evaluate::{is_about, namespace_of};
use crate::world::World;

/// The route of the gate forward.
pub const GATE_FORWARD: &str = "/validate/machineclass";

/// The group and the plural of the resource that it answers for.
pub(super) const MACHINE_CLASSES: (&str, &str) = ("machine.sapcloud.io", "machineclasses");

/// Decides on one write of a MachineClass by what is known now. With `dry_run` nothing is refused.
#[must_use]
pub fn judge(request: &Request<'_>, world: &World, dry_run: bool) -> Verdict {
    if !is_about(request, MACHINE_CLASSES) {
        return Verdict::passed(Because::about(Reason::NotOurObject, &*request.resource.resource));
    }
    let verdict = world.consult(namespace_of(request), |known| {
        decide_machine_class(request.operation, &request.object, &request.old_object, known)
    });
    if dry_run { verdict.waived_by(Reason::DryRunMode) } else { verdict }
}

/// What the one who wrote reads: which class, why not yet, and what happens next. None where the write is let in.
pub(super) fn refusal(request: &Request<'_>, verdict: &Verdict, side_task: bool) -> Option<String> {
    if verdict.ruling != Ruling::Refused {
        return None;
    }
    let Because { reason, subject } = &verdict.because;
    let (namespace, name) = (namespace_of(request), request.object.metadata.name.text());
    // `escape_debug` keeps a value from an object from breaking the line.
    let subject = subject.escape_debug();
    let why = match reason {
        Reason::MachinesUnsettled => {
            let settles = if side_task {
                "the side task writes the ID of each one's server, or finds that there is none"
            } else {
                "the side task of another replica has to settle them, because this one runs with --side-task=false"
            };
            format!(
                "these Machines of it have no provider ID and would get a second server: {subject}. \
                 Next: {settles}; then the class may turn"
            )
        }
        Reason::OpenstackMcmAlive => format!(
            "the pod {subject} still has the container of the OpenStack provider, which may be making servers. \
             Next: when the pod is gone, Machines without a provider ID are settled, and the class may turn"
        ),
        Reason::CacheStale => format!(
            "what the webhook knows of the {subject} is incomplete or too old, so it cannot say whether a server would be \
             lost. Next: it catches up by itself; its /readyz says what is missing"
        ),
        Reason::PausedByRollback => format!(
            "a `rollback` paused the shoot and has not lifted that, so nothing settles what is in the way: {subject}. \
             Next: run `mcm-migration-webhook rollback --namespace {namespace}` again, which goes on or lifts the pause"
        ),
        other => format!("{} ({subject})", other.meaning()),
    };
    let end = if *reason == Reason::PausedByRollback { "" } else { " Trying again is enough." };
    Some(format!(
        "mcm-migration gate: MachineClass {namespace}/{name} cannot turn to stackit yet ({reason}): {why}.{end}"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use mcm_migration_core::review;

    fn message(because: Because, side_task: bool) -> String {
        let body = br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",
            "namespace":"shoot--p--s","object":{"metadata":{"name":"pool"}}}}"#;
        refusal(&review::parse(body).unwrap(), &Verdict::refused(because), side_task).unwrap()
    }

    #[test]
    fn a_refusal_says_which_class_why_and_what_comes_next() {
        for reason in [
            Reason::MachinesUnsettled,
            Reason::OpenstackMcmAlive,
            Reason::CacheStale,
            Reason::PausedByRollback,
            Reason::ObjectUnreadable,
        ] {
            let message = message(Because::about(reason, "the-subject"), true);
            let begin =
                format!("mcm-migration gate: MachineClass shoot--p--s/pool cannot turn to stackit yet ({reason}): ");
            assert!(message.starts_with(&begin) && message.contains("the-subject"), "{message}");
        }
    }

    #[test]
    fn a_replica_without_the_side_task_points_at_another_one() {
        let because = || Because::about(Reason::MachinesUnsettled, "a, b and 2 more");
        assert!(message(because(), false).contains("the side task of another replica"));
        assert!(!message(because(), true).contains("another replica"));
    }

    #[test]
    fn what_is_let_in_has_no_refusal() {
        let body = br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u"}}"#;
        let request = review::parse(body).unwrap();
        let refused = Verdict::refused(Because::of(Reason::MachinesUnsettled));
        for verdict in [Verdict::passed(Because::of(Reason::MayFlip)), refused.waived_by(Reason::Paused)] {
            assert_eq!(refusal(&request, &verdict, true), None);
        }
    }
}
