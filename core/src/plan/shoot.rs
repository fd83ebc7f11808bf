use std::collections::BTreeMap;
use std::time::Duration;

use crate::decide::{Because, MachineFacts, NamespaceFacts};
use crate::domain::{GuardLabel, Reason};

use super::{
    Action, Backoff, ClassDetails, CloudView, Finding, Moment, NodeSeen, Ownership, Seen, Settings, exception, label,
    ownership, rewrite, settle, worker,
};

/// Everything about one shoot that a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct Shoot<'a> {
    /// Its namespace in the seed, which is its technical ID.
    pub namespace: &'a str,
    /// What the API server says, read past every cache.
    pub facts: &'a NamespaceFacts,
    /// The MachineClasses, read together with the facts.
    pub classes: &'a BTreeMap<Box<str>, ClassDetails>,
    /// What this leader has seen.
    pub seen: &'a Seen,
    /// The Nodes of the seed; none while they are not known.
    pub nodes: Option<&'a [NodeSeen]>,
    /// What is known of the project in the cloud.
    pub cloud: &'a CloudView,
    /// What the last probe of the guard proved, in this pass.
    pub proof: &'a Proof,
    /// Steps that failed and are not tried again yet.
    pub backoff: &'a Backoff,
}

/// What the probe of the guard proved in this pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Proof {
    /// It was not probed.
    #[default]
    Unasked,
    /// Every attempt was refused by the guard's policies.
    Holds,
    /// It does not hold, or nothing proves that it does.
    Fails(Because),
}

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The shoot as a whole: its MachineMigration, its Worker.
    Shoot,
    /// A Machine.
    Machine,
    /// A MachineClass.
    MachineClass,
}

/// Why something is not done yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What it is about.
    pub kind: Kind,
    /// Its name; empty for the shoot.
    pub name: Box<str>,
    /// Why.
    pub because: Because,
}

/// What is to be done for a shoot now, what waits and why, and when to look again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// In the order in which they are carried out.
    pub actions: Vec<Action>,
    /// In the order of the steps.
    pub waits: Vec<Wait>,
    /// The shortest wait that time alone ends.
    pub next: Option<Duration>,
    /// Machines whose server carries every label, by the last LIST.
    pub labelled: usize,
    /// What was found of the servers of Machines that came from OpenStack; without those that something else stood in the way of.
    pub findings: BTreeMap<Box<str>, Finding>,
    /// Machines of which that is not known yet, because no LIST was looked at.
    pub unknown: usize,
}

impl Plan {
    pub(super) fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Asks for a LIST, once.
    pub(super) fn list(&mut self, region: &super::Region) {
        self.act_once(Action::List { region: region.clone() });
    }

    pub(super) fn act_once(&mut self, action: Action) {
        if !self.actions.contains(&action) {
            self.actions.push(action);
        }
    }

    pub(super) fn wait(&mut self, kind: Kind, name: &str, because: Because) {
        self.waits.push(Wait { kind, name: name.into(), because });
    }

    /// The same, where several Machines say it.
    pub(super) fn wait_once(&mut self, kind: Kind, name: &str, because: Because) {
        let said = |wait: &Wait| wait.kind == kind && *wait.name == *name && wait.because == because;
        if !self.waits.iter().any(said) {
            self.wait(kind, name, because);
        }
    }

    pub(super) fn again_in(&mut self, left: Duration) {
        self.next = Some(self.next.map_or(left, |next| next.min(left)));
    }
}

/// Plans one shoot. Nothing is to be done where it is not ours, paused or on its way back.
///
/// # Errors
/// Why nothing may be done, nor be written into the status, of a shoot that is not ours.
pub fn plan(shoot: &Shoot<'_>, now: Moment, settings: &Settings) -> Result<Plan, Because> {
    let owner = ownership(shoot.facts)?;
    if let Some((name, _)) = shoot.facts.workers.iter().find(|(_, worker)| !worker.is_stackit) {
        return Err(Because::about(Reason::WorkerNotStackit, &**name));
    }
    let mut plan = Plan::default();
    if shoot.facts.migration.is_some_and(|migration| migration.paused) {
        plan.wait(Kind::Shoot, "", Because::of(Reason::Paused));
        return Ok(plan);
    }
    if shoot.facts.guard() == Some(GuardLabel::RollingBack) {
        plan.wait(Kind::Shoot, "", Because::of(Reason::RollingBack));
        return Ok(plan);
    }
    restoring(shoot, owner, now, &mut plan);
    settle::plan(shoot, owner, now, settings, &mut plan);
    super::retire::plan(shoot, settings, &mut plan);
    rewrite::plan(shoot, now, settings, &mut plan);
    if owner == Ownership::Ours {
        label::plan(shoot, now, settings, &mut plan);
        worker::plan(shoot, &mut plan);
    }
    hold_back(shoot, now, &mut plan);
    Ok(plan)
}

fn restoring(shoot: &Shoot<'_>, owner: Ownership, now: Moment, plan: &mut Plan) {
    let legacy = shoot.facts.machines.values().any(MachineFacts::is_legacy);
    let slow = shoot.seen.restoring_since().is_some_and(|since| now.saturating_sub(since) >= Settings::RESTORE_ALARM);
    if owner == Ownership::RestoringHere && legacy && slow {
        plan.wait(Kind::Shoot, "", Because::of(Reason::RestoreSlow));
    }
}

/// Leaves out the steps that failed a moment ago, and says why they failed.
fn hold_back(shoot: &Shoot<'_>, now: Moment, plan: &mut Plan) {
    let mut waits = Vec::new();
    let mut next = None::<Duration>;
    let mut of_excepted = Vec::new();
    let excepted = |action: &Action| {
        let machine = shoot.facts.machines.get(action.subject()).filter(|_| matches!(action, Action::Label { .. }));
        machine.filter(|machine| machine.exception.is_some())
    };
    plan.actions.retain(|action| match shoot.backoff.held(action, now) {
        None => true,
        Some((because, left)) => {
            let kind = match action {
                Action::Retire { .. } => Kind::MachineClass,
                _ if action.subject().is_empty()
                    || matches!(action, Action::List { .. } | Action::ListParts { .. }) =>
                {
                    Kind::Shoot
                }
                Action::MarkWorker { .. } | Action::UnmarkWorker { .. } => Kind::Shoot,
                _ => Kind::Machine,
            };
            let name = if kind == Kind::Shoot { "" } else { action.subject() };
            match excepted(action) {
                Some(machine) => of_excepted.push((Box::from(name), machine, because)),
                None => waits.push(Wait { kind, name: name.into(), because: because.clone() }),
            }
            next = Some(next.map_or(left, |next| next.min(left)));
            false
        }
    });
    plan.waits.extend(waits);
    for (name, machine, because) in of_excepted {
        exception::tell_of_another(&name, machine, because, false, plan);
    }
    for left in next.into_iter().chain(shoot.cloud.listed_again_in(shoot.backoff, now)) {
        plan.again_in(left);
    }
}
