//! Steps as a reader tells them.

use crate::state::{PST, Template, Write};
use crate::step::Step;

fn mcm(kind: u8) -> &'static str {
    if usize::from(kind) == PST { "the STACKIT MCM" } else { "the OpenStack MCM" }
}

fn class(c: u8) -> &'static str {
    if c == 0 { "class-0" } else { "class-1" }
}

fn provider(template: Template) -> &'static str {
    match template {
        Template::None => "nothing",
        Template::OpenStack => "OpenStack",
        Template::Stackit => "stackit",
    }
}

/// A write of the side task.
#[must_use]
pub fn write(write: Write) -> String {
    match write {
        Write::None => "nothing".to_owned(),
        Write::SettleId(m, _) => format!("give m{m} the ID of its server"),
        Write::SettleNoServer(m, _) => format!("say that m{m} has no server"),
        Write::Retire(c) => format!("retire {}", class(c)),
        Write::CloseGuard => "close the guard".to_owned(),
        Write::Arm(_) => "arm".to_owned(),
        Write::Disarm => "disarm".to_owned(),
        Write::Touch(m, _) => format!("touch m{m}"),
        Write::Label(m) => format!("label the server of m{m}"),
        Write::Clear(m, _) => format!("take the marker off m{m}"),
        Write::Mark(true) => "mark the Worker".to_owned(),
        Write::Mark(false) => "take the Worker's mark away".to_owned(),
        Write::BackPause => "pause the shoot".to_owned(),
        Write::BackGuard => "set the guard to rolling-back".to_owned(),
        Write::Unlabel(m) => format!("take our labels off the server of m{m}"),
        Write::WriteBack(m, _) => format!("write the old ID of m{m} back"),
        Write::Clean(m, _) => format!("take what is left over off m{m}"),
        Write::GuardOff => "take the guard off".to_owned(),
        Write::LiftPause => "lift its pause".to_owned(),
        Write::Report(true) => "write `Labelled: True`".to_owned(),
        Write::Report(false) => "write `Labelled: False`".to_owned(),
    }
}

/// One step. With `seeds`, in which seed it happens is said too.
#[must_use]
pub fn step(step: Step, seeds: bool) -> String {
    let (seed, told) = match step {
        Step::SetTemplate(s, to) => (Some(s), format!("Gardener turns the MCM Deployment to {}", provider(to))),
        Step::PodStarts(s, kind) => (Some(s), format!("a pod of {} starts", mcm(kind))),
        Step::Leads(s, kind) => (Some(s), format!("{} takes the Lease", mcm(kind))),
        Step::PodEnds(s, kind) => (Some(s), format!("the terminating pod of {} ends", mcm(kind))),
        Step::PodForced(s, kind) => (Some(s), format!("the terminating pod of {} is deleted by force", mcm(kind))),
        Step::ClassForward(s, c) => (Some(s), format!("Gardener turns {} to stackit", class(c))),
        Step::ClassBack(s, c) => (Some(s), format!("Gardener turns {} to OpenStack", class(c))),
        Step::RollOut(s) => (Some(s), "Gardener makes class-1 beside class-0".to_owned()),
        Step::PoolMoves(s) => (Some(s), "the MachineDeployment names class-1".to_owned()),
        Step::ClassGoes(s, c) => (Some(s), format!("Gardener deletes {}", class(c))),
        Step::MachineMade(s, m) => (Some(s), format!("m{m} is made")),
        Step::MachineDeleted(s, m) => (Some(s), format!("somebody deletes m{m}")),
        Step::PosAsks(s, m) => (Some(s), format!("the OpenStack MCM asks for a server for m{m}")),
        Step::ServerAppears(m) => (None, format!("the server of m{m} is there")),
        Step::PosFinds(s, m) => (Some(s), format!("the OpenStack MCM writes the ID of m{m}'s server")),
        Step::PosDeletes(s, m) => (Some(s), format!("the OpenStack MCM deletes the server of m{m}, and m{m} goes")),
        Step::PosSweeps(s, m) => (Some(s), format!("**the OpenStack MCM takes the server of m{m} for an orphan**")),
        Step::PstCreates(s, m) => (Some(s), format!("the STACKIT MCM makes a server for m{m}")),
        Step::PstDeletes(s, m) => {
            (Some(s), format!("the STACKIT MCM deletes what the ID of m{m} names, and m{m} goes"))
        }
        Step::PstSweeps(s, m) => (Some(s), format!("**the STACKIT MCM takes the server of m{m} for an orphan**")),
        Step::NeighbourSweeps(m) => {
            (None, format!("**the MCM of another landscape takes the server of m{m} for an orphan**"))
        }
        Step::Freezes(s, kind) => (Some(s), format!("the Node of {} freezes", mcm(kind))),
        Step::Wakes(s, kind) => (Some(s), format!("the Node of {} wakes up", mcm(kind))),
        Step::CutOff(s, kind) => (Some(s), format!("{} is cut off from the API server", mcm(kind))),
        Step::Restarts(s, kind) => (Some(s), format!("the container of {} is started again", mcm(kind))),
        Step::MachineWritten(s, m) => (Some(s), format!("somebody writes to m{m}; admission rewrites its ID")),
        Step::WorkerWritten(s) => (Some(s), "Gardener writes to the Worker; admission marks it".to_owned()),
        Step::PoliciesSee(s) => (Some(s), "the policies see the guard's label".to_owned()),
        Step::Send(s, sent) => (Some(s), format!("the side task sends: {}", write(sent))),
        Step::Lands(s) => (Some(s), "what it sent lands".to_owned()),
        Step::LeftLands(s) => (Some(s), "what the former leader sent lands".to_owned()),
        Step::Crashes(s) => (Some(s), "another replica leads the side task".to_owned()),
        Step::OldIdWritten(s, m) => (Some(s), format!("somebody writes the old ID of m{m} back")),
        Step::MarkerTaken(s, m) => (Some(s), format!("somebody takes the marker off m{m}")),
        Step::GuardRemoved(s) => (Some(s), "somebody takes the guard's label away".to_owned()),
        Step::Pauses(s) => (Some(s), "an operator pauses the shoot".to_owned()),
        Step::Resumes(s) => (Some(s), "an operator lifts the pause".to_owned()),
        Step::RollbackStarts(s) => (Some(s), "an operator begins a rollback".to_owned()),
        Step::BackSends(s, sent) => (Some(s), format!("the rollback sends: {}", write(sent))),
        Step::BackLands(s) => (Some(s), "what the rollback sent lands".to_owned()),
        Step::RollbackKilled(s) => (Some(s), "the rollback is killed".to_owned()),
        Step::RollbackEnds(s) => (Some(s), "the rollback is through".to_owned()),
        Step::RecordMoves => {
            (None, "the shoot is given to seed b (and the owner record with it, where there is one)".to_owned())
        }
        Step::Leaves => (None, "the control plane begins to leave seed a".to_owned()),
        Step::Persists => (None, "the Machines of seed a are persisted".to_owned()),
        Step::LeftBehind(m) => (None, format!("m{m} is taken out of seed a")),
        Step::Arrives => (None, "namespace, Worker, Deployment and classes come to seed b".to_owned()),
        Step::Restored(m) => (None, format!("m{m} is made again in seed b")),
        Step::RestoreEnds => (None, "the restore to seed b has succeeded".to_owned()),
        Step::Tick => (None, "*time passes*".to_owned()),
    };
    match seed {
        Some(s) if seeds => format!("{told} (seed {})", if s == 0 { "a" } else { "b" }),
        _ => told,
    }
}
