//! What the operator reads: a line a thing, and a summary.

use std::collections::BTreeMap;
use std::fmt::Write;

use mcm_migration_core::plan::{Leftover, OldLabels};

use super::act::End;
use super::look::{Found, Look};

/// How many things came to what, for the summary and the exit code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    pub(super) fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(super) fn has(&self, what: &str) -> bool {
        self.0.contains_key(what)
    }

    /// `3 leftover, 1 kept`; `nothing` when nothing was found.
    pub(super) fn line(&self) -> String {
        let counts: Vec<String> = self.0.iter().map(|(what, count)| format!("{count} {what}")).collect();
        if counts.is_empty() { "nothing is left over".to_owned() } else { counts.join(", ") }
    }
}

/// The lines of one look.
pub(super) fn look(look: &Look, tally: &mut Tally) -> String {
    let mut text = String::new();
    for (namespace, found) in &look.shoots {
        match found {
            Ok(found) => of_shoot(namespace, found, &mut text, tally),
            Err(why) => {
                tally.add(FAILED);
                line(&mut text, namespace, "the shoot", FAILED, why);
            }
        }
    }
    for (project, others) in &look.of_others {
        for leftover in others {
            tally.add(TOLD);
            line(&mut text, &format!("project {project}"), &thing(leftover), TOLD, &why(leftover));
        }
    }
    text
}

fn of_shoot(namespace: &str, found: &Found, text: &mut String, tally: &mut Tally) {
    for leftover in found.leftovers.values().flatten() {
        let result = if leftover.fate.is_ok() { LEFTOVER } else { TOLD };
        tally.add(result);
        line(text, namespace, &thing(leftover), result, &why(leftover));
    }
    for old in found.old_labels.values().flatten() {
        tally.add(OLD_LABELS);
        line(text, namespace, &labels(old), OLD_LABELS, "its labels of the present domain are in place");
    }
    for machine in &found.stale_markers {
        tally.add(TOLD);
        let why =
            "still marked, and its server carries every label: the side task takes the marker off, or says why not";
        line(text, namespace, &format!("Machine {machine}"), TOLD, why);
    }
}

/// The line of one thing that was to be taken away.
pub(super) fn end(namespace: &str, thing: &str, end: &End, tally: &mut Tally) -> String {
    let (result, why) = match end {
        End::Done => (DONE, ""),
        End::Gone => (GONE, "somebody else took it away"),
        End::Unanswered => (DONE, "the answer to its deletion was lost; it is gone"),
        End::Kept(why) => (KEPT, why.as_str()),
        End::Failed(why) => (FAILED, why.as_str()),
    };
    tally.add(result);
    let mut text = String::new();
    line(&mut text, namespace, thing, result, why);
    text
}

/// A part and whose it was.
pub(super) fn part(part: &mcm_migration_core::domain::Part) -> String {
    format!("{} of {}", part.id, part.name)
}

/// A server and the keys that it is to lose.
pub(super) fn labels(old: &OldLabels) -> String {
    format!("server {} of {}, {}", old.server.id, old.machine, old.keys.join(" "))
}

fn thing(leftover: &Leftover) -> String {
    part(&leftover.part)
}

fn why(leftover: &Leftover) -> String {
    match &leftover.fate {
        Ok(()) => String::new(),
        Err(kept) => kept.to_string(),
    }
}

fn line(text: &mut String, namespace: &str, thing: &str, result: &str, why: &str) {
    let separator = if why.is_empty() { "" } else { ": " };
    // Writing into a String does not fail.
    let _ = writeln!(text, "{namespace}  {thing}  {result}{separator}{why}");
}

/// May be deleted.
pub(super) const LEFTOVER: &str = "leftover";
/// Is told and left alone.
pub(super) const TOLD: &str = "listed only";
/// Labels that may be taken off.
pub(super) const OLD_LABELS: &str = "old labels";
/// Was taken away.
pub(super) const DONE: &str = "removed";
/// Was gone already.
pub(super) const GONE: &str = "gone already";
/// Was left alone at the last moment.
pub(super) const KEPT: &str = "kept";
/// Could not be looked at, or taken away.
pub(super) const FAILED: &str = "failed";
