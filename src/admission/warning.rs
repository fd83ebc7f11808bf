use mcm_migration_core::decide::{Because, Decision, Outcome, Ruling, Verdict};
use mcm_migration_core::review::Request;

/// The longest warning, in characters: longer ones may be cut by the API server.
const LONGEST: usize = 120;

/// What a person who wrote the object sees in the terminal. Controllers get none: nobody reads theirs.
pub(super) fn not_migrated(request: &Request<'_>, decision: &Decision) -> Vec<String> {
    if decision.outcome != Outcome::Held || request.user.starts_with("system:serviceaccount:") {
        return Vec::new();
    }
    vec![fitting(&format!("mcm-migration: not migrated: {}", decision.because))]
}

/// What everybody sees who turns a MachineClass although something stands in the way: it happens once a class, and is grave.
pub(super) fn waived(verdict: &Verdict) -> Vec<String> {
    if verdict.ruling != Ruling::Waived {
        return Vec::new();
    }
    let Because { reason, subject } = &verdict.because;
    let would = format!("mcm-migration gate: let in ({reason}), would be refused: {subject}");
    let then = "mcm-migration gate: under stackit a Machine without a provider ID gets a second server";
    vec![fitting(&would), fitting(then)]
}

fn fitting(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).take(LONGEST).collect()
}
