use std::collections::BTreeMap;

use crate::decide::{Because, NamespaceFacts, every_machine_is_done};
use crate::domain::{Exception, GuardLabel, Reason};

use super::label::is_asked;
use super::worker::labels_in_place;
use super::{Kind, Ownership, Plan, Proof, Shoot, needs_arming, ownership};

/// What the status of a MachineMigration shall say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The conditions that are known to hold or not; one that is not known stays as it is.
    pub conditions: Vec<Say>,
    /// The furthest step that holds, for display.
    pub phase: Phase,
    /// What the migration waits for, for display; none when it is complete.
    pub reason: Option<Reason>,
    /// How many Machines are where.
    pub counts: Counts,
    /// The first Machines with the annotation `exception` by name, at most [`Self::EXCEPTIONS`], and what it says.
    pub exceptions: Vec<(Box<str>, Exception)>,
}

impl Report {
    /// How many exceptions are named; all are counted.
    pub const EXCEPTIONS: usize = 20;
}

/// What one condition shall say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Say {
    /// `Guarded`, `Armed`, `Rewritten`, `Labelled`, `Complete` or `Paused`.
    pub type_: &'static str,
    /// Whether it holds.
    pub holds: bool,
    /// Why.
    pub reason: Reason,
    /// One sentence.
    pub message: String,
}

impl Say {
    /// Whether the guard is closed and proved.
    pub fn guarded(holds: bool, reason: Reason, message: impl Into<String>) -> Self {
        Self { type_: "Guarded", holds, reason, message: message.into() }
    }

    /// Whether admission rewrites.
    pub fn armed(holds: bool, reason: Reason, message: impl Into<String>) -> Self {
        Self { type_: "Armed", holds, reason, message: message.into() }
    }
}

/// How far a shoot is, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Not guarded.
    Pending,
    /// The guard is closed.
    Guarded,
    /// Admission rewrites.
    Armed,
    /// No Machine has a legacy ID.
    Rewritten,
    /// Every server has its labels.
    Labelled,
    /// The Worker is marked.
    Complete,
    /// On the way back.
    RollingBack,
}

/// How many Machines of a shoot are where.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// All Machines, terminating ones included.
    pub total: usize,
    /// Machines with a legacy ID.
    pub legacy: usize,
    /// Terminating Machines with a legacy ID.
    pub terminating_legacy: usize,
    /// Machines that wait, by reason.
    pub waiting: BTreeMap<Reason, usize>,
    /// Machines in quarantine.
    pub quarantined: usize,
    /// Machines whose server carries every label.
    pub labelled: usize,
    /// Machines with the annotation `exception`.
    pub exceptions: usize,
}

/// What the status shall say, of a shoot with a MachineMigration, from the plan that was made last.
#[must_use]
pub fn report(shoot: &Shoot<'_>, plan: &Plan) -> Report {
    let facts = shoot.facts;
    let mut conditions = Vec::new();
    let mut say = |type_, holds, reason, message: String| conditions.push(Say { type_, holds, reason, message });
    let migration = facts.migration.unwrap_or_default();
    let closed = facts.guard() == Some(GuardLabel::Closed);
    let rolling_back = facts.guard() == Some(GuardLabel::RollingBack);
    let first = plan.waits.iter().find(|wait| wait.kind == Kind::Shoot).map(|wait| wait.because.clone());

    match shoot.proof {
        _ if rolling_back => {}
        Proof::Holds if closed => {
            say("Guarded", true, Reason::Guarded, "Every attempt on the guard was refused by its policies.".to_owned());
        }
        Proof::Fails(because) => say("Guarded", false, because.reason, sentence(because)),
        Proof::Unasked | Proof::Holds if !closed => {
            let because = first.clone().unwrap_or_else(|| Because::of(Reason::NoGuard));
            say("Guarded", false, because.reason, sentence(&because));
        }
        Proof::Unasked | Proof::Holds => {}
    }
    if !migration.paused && !rolling_back && !migration.armed {
        let because = match (&first, needs_arming(facts)) {
            (Some(because), _) => because.clone(),
            (None, true) => Because::of(Reason::NotArmed),
            (None, false) => Because::of(Reason::Guarded),
        };
        let message = match because.reason {
            Reason::Guarded => "No Machine has a legacy ID or the marker: nothing to arm for.".to_owned(),
            _ => sentence(&because),
        };
        say("Armed", false, because.reason, message);
    }

    let counts = counts(facts, plan);
    let rewritten = counts.legacy == 0;
    let (reason, message) = if rewritten {
        (Reason::Rewritten, "No Machine has a legacy ID.".to_owned())
    } else {
        (Reason::MachinesLegacy, format!("{} of {} Machines have a legacy ID.", counts.legacy, counts.total))
    };
    say("Rewritten", rewritten, reason, message);
    let labelled = labelled(facts, plan, rewritten);
    if let Some(holds) = labelled {
        let because = machine_wait(plan)
            .unwrap_or_else(|| Because::of(if holds { Reason::Labelled } else { Reason::LabelsUnconfirmed }));
        let message = if holds {
            "The last look at the project's servers found every label in place.".to_owned()
        } else {
            format!(
                "{} of {} Machines' servers carry every label; {}",
                counts.labelled,
                counts.total,
                sentence(&because)
            )
        };
        say("Labelled", holds, if holds { Reason::Labelled } else { because.reason }, message);
    }
    let labelled = labelled.unwrap_or(migration.labelled);
    let marked = !facts.workers.is_empty() && facts.workers.values().all(|worker| worker.marked);
    let complete = closed && rewritten && labelled && marked;
    let (reason, message) = if complete {
        (Reason::Complete, "The Worker is marked: every Machine of the namespace is done.".to_owned())
    } else {
        {
            let because = first.clone().or_else(|| machine_wait(plan)).unwrap_or_else(|| rest(facts));
            (because.reason, sentence(&because))
        }
    };
    say("Complete", complete, reason, message);
    let (reason, message) = if migration.paused {
        (Reason::Paused, sentence(&Because::of(Reason::Paused)))
    } else {
        (Reason::NotPaused, "It is not paused.".to_owned())
    };
    say("Paused", migration.paused, reason, message);

    let phase = match () {
        () if rolling_back => Phase::RollingBack,
        () if complete => Phase::Complete,
        () if !closed => Phase::Pending,
        () if rewritten && labelled => Phase::Labelled,
        () if rewritten => Phase::Rewritten,
        () if migration.armed => Phase::Armed,
        () => Phase::Guarded,
    };
    let reason = (!complete).then_some(reason_to_show(first, plan, facts));
    Report { conditions, phase, reason, counts, exceptions: exceptions(facts) }
}

fn exceptions(facts: &NamespaceFacts) -> Vec<(Box<str>, Exception)> {
    let excepted = facts.machines.iter().filter_map(|(name, machine)| Some((name.clone(), machine.exception.clone()?)));
    excepted.take(Report::EXCEPTIONS).collect()
}

fn reason_to_show(first: Option<Because>, plan: &Plan, facts: &NamespaceFacts) -> Reason {
    first.or_else(|| machine_wait(plan)).unwrap_or_else(|| rest(facts)).reason
}

/// What is left where nothing waits.
fn rest(facts: &NamespaceFacts) -> Because {
    match every_machine_is_done(facts) {
        Err(because) => because,
        Ok(()) => Because::of(Reason::LabelsUnconfirmed),
    }
}

/// What the most Machines wait for; of two reasons for as many, the rarer kind of trouble comes later in the list of reasons and counts.
fn machine_wait(plan: &Plan) -> Option<Because> {
    let mut by_reason: BTreeMap<Reason, (usize, &Because)> = BTreeMap::new();
    for wait in plan.waits.iter().filter(|wait| wait.kind != Kind::Shoot) {
        by_reason.entry(wait.because.reason).or_insert((0, &wait.because)).0 += 1;
    }
    by_reason.into_values().max_by_key(|(count, because)| (*count, because.reason)).map(|(_, because)| because.clone())
}

/// Whether every label is in place; none while that is not known.
fn labelled(facts: &NamespaceFacts, plan: &Plan, rewritten: bool) -> Option<bool> {
    let marked = facts.machines.values().any(|machine| machine.marked && machine.exception.is_none());
    if !rewritten || marked {
        return Some(false);
    }
    let paused = facts.migration.is_some_and(|migration| migration.paused);
    if paused || ownership(facts) != Ok(Ownership::Ours) || !is_asked(facts) {
        return None;
    }
    labels_in_place(plan)
}

fn counts(facts: &NamespaceFacts, plan: &Plan) -> Counts {
    let legacy = || facts.machines.values().filter(|machine| machine.is_legacy());
    let mut waiting = BTreeMap::new();
    for wait in plan.waits.iter().filter(|wait| wait.kind == Kind::Machine) {
        *waiting.entry(wait.because.reason).or_default() += 1;
    }
    Counts {
        total: facts.machines.len(),
        legacy: legacy().count(),
        terminating_legacy: legacy().filter(|machine| machine.terminating).count(),
        quarantined: waiting.get(&Reason::Quarantined).copied().unwrap_or_default(),
        waiting,
        labelled: plan.labelled,
        exceptions: facts.machines.values().filter(|machine| machine.exception.is_some()).count(),
    }
}

/// A reason's meaning and what it is about, as one sentence.
fn sentence(because: &Because) -> String {
    let meaning = because.reason.meaning().trim_end_matches('.');
    if because.subject.is_empty() {
        format!("{meaning}.")
    } else {
        format!("{meaning} ({}).", because.subject.escape_debug())
    }
}
