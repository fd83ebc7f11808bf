use mcm_migration_core::decide::{Decision, Outcome};
use mcm_migration_core::review::Request;

/// The longest warning, in characters: longer ones may be cut by the API server.
const LONGEST: usize = 120;

/// What a person who wrote the object sees in the terminal. Controllers get none: nobody reads theirs.
pub(super) fn warnings(request: &Request<'_>, decision: &Decision) -> Vec<String> {
    if decision.outcome != Outcome::Held || request.user.starts_with("system:serviceaccount:") {
        return Vec::new();
    }
    let text = format!("mcm-migration: not migrated: {}", decision.because);
    vec![text.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).take(LONGEST).collect()]
}
