use crate::decide::Because;
use crate::domain::GuardLabel;
use crate::plan::Moment;

use super::{Next, Step, WayBack};

/// One step of the way back, as it stands before anything is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The step's name, one of [`Step::NAMES`].
    pub step: &'static str,
    /// How it stands.
    pub state: State,
}

/// How a step stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing is left to do in it.
    Done,
    /// It would be done to these objects; empty for the shoot as a whole.
    Would(Vec<String>),
    /// It cannot begin: each reason must go first.
    Held(Vec<Because>),
}

/// The whole way back, step by step, with everything that would hold it. Steps that only wait (the Nodes, the quarantine) are `nodes` and
/// `quarantine`; nothing is known of them before the command runs.
#[must_use]
pub fn outline(shoot: &WayBack<'_>, now: Moment) -> Vec<Line> {
    let facts = shoot.facts;
    if let Some(because) = shoot.not_ours() {
        return vec![Line { step: "pause", state: State::Held(vec![because]) }];
    }
    if matches!(facts.guard(), None | Some(GuardLabel::Unknown)) {
        return without_guard(shoot, now);
    }
    let migration = facts.migration.unwrap_or_default();
    let whole = |needed: bool| if needed { State::Would(Vec::new()) } else { State::Done };
    let names = |names: Vec<String>| if names.is_empty() { State::Done } else { State::Would(names) };
    let mut lines = Vec::new();
    let mut line = |step, state| lines.push(Line { step, state });
    line("pause", whole(!migration.paused));
    let holds = shoot.holds();
    let held: Vec<Because> = holds.refused.into_iter().chain(holds.others).collect();
    let guard = whole(facts.guard() == Some(GuardLabel::Closed));
    line("guard", if held.is_empty() { guard } else { State::Held(held) });
    line("nodes", State::Would(Vec::new()));
    line("unlabel", unlabel(shoot, now));
    let back = shoot.rewritten().map(|(name, machine)| match shoot.previous_id(name, machine) {
        Ok(id) => format!("{name}: {id}"),
        Err(because) => format!("{name}: {because}"),
    });
    line("write-back", names(back.collect()));
    line("clean", names(shoot.clean().iter().map(|step| step.subject().to_owned()).collect()));
    line("unmark", names(shoot.unmark().iter().map(|step| step.subject().to_owned()).collect()));
    line("quarantine", State::Would(Vec::new()));
    line("disarm", whole(migration.armed));
    line("guard-off", whole(true));
    line("lift-pause", whole(shoot.paused_by_us || !migration.paused));
    lines
}

fn without_guard(shoot: &WayBack<'_>, now: Moment) -> Vec<Line> {
    match shoot.next(now) {
        Next::Do(steps) => {
            let line = |step: &Step| Line { step: step.name(), state: State::Would(Vec::new()) };
            steps.iter().map(line).collect()
        }
        Next::Wait { reasons, .. } | Next::Refuse(reasons) => {
            vec![Line { step: "guard", state: State::Held(reasons) }]
        }
        Next::Done => Vec::new(),
    }
}

/// What would be taken off, by the LISTs that there are.
fn unlabel(shoot: &WayBack<'_>, now: Moment) -> State {
    match shoot.labels_off(now) {
        None | Some(Next::Done) => State::Done,
        Some(Next::Refuse(reasons) | Next::Wait { reasons, .. }) => State::Held(reasons),
        Some(Next::Do(steps)) => {
            let told = steps.iter().map(|step| match step {
                Step::Unlabel { machine, keys, .. } => {
                    let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
                    format!("{machine}: {}", keys.join(", "))
                }
                other => format!("{} {}", other.name(), other.subject()),
            });
            State::Would(told.collect())
        }
    }
}
