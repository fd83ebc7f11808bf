//! What the operator reads: a line an object that is not as the export has it, its reasons below, a summary.

use std::io::Write;

use mcm_migration_core::archive::{Change, Finding, Verdict};
use mcm_migration_core::decide::Because;

use crate::commands::Exit;

/// How many objects came to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) same: usize,
    pub(super) written: usize,
    pub(super) left: usize,
    pub(super) refused: usize,
    pub(super) failed: usize,
}

impl Counts {
    /// A failed write weighs more than a refusal; what no restore writes is none.
    pub(super) fn exit(self) -> Exit {
        match self {
            Self { failed: 1.., .. } => Exit::Failed,
            Self { refused: 1.., .. } => Exit::No,
            _ => Exit::Done,
        }
    }
}

/// One object, `word` being `written`, `would be written`, `left`, `refused` or `failed`.
pub(super) fn object(namespace: &str, finding: &Finding, word: &str, detail: &str) {
    let (kind, name) = (finding.kind, &finding.name);
    let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    tell(&format!("{namespace} {kind}/{name} {word}{detail}\n"));
}

/// What a change does.
pub(super) fn change(change: &Change) -> String {
    let keys = |set: &std::collections::BTreeMap<&'static str, Box<str>>| {
        set.iter().map(|(key, value)| format!("{key}={}", value.escape_debug())).collect::<Vec<_>>()
    };
    match change {
        Change::ProviderId { provider_id, set, .. } => {
            let mut what = vec![format!("providerID={provider_id}, the migration's annotations off")];
            what.extend(keys(set));
            what.join(", ")
        }
        Change::Annotations { set, .. } => keys(set).join(", "),
        Change::UnmarkWorker { .. } => "the Worker's mark off".to_owned(),
    }
}

/// The reasons, each with what to do.
pub(super) fn reasons(verdict: &Verdict) -> String {
    let one = |because: &Because| format!("{because}: {}", because.reason.what_to_do());
    match verdict {
        Verdict::Left(because) => one(because),
        Verdict::Refused(reasons) => reasons.iter().map(one).collect::<Vec<_>>().join("; "),
        Verdict::Same | Verdict::Write(_) => String::new(),
    }
}

pub(super) fn summary(counts: &Counts, dry_run: bool) {
    let Counts { same, written, left, refused, failed } = counts;
    let would = if dry_run { "would be written" } else { "written" };
    let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
    tell(&format!("{same} as exported, {written} {would}, {left} left as they are, {refused} refused{failed}\n"));
    if dry_run {
        tell("nothing was written (--dry-run)\n");
    }
}

fn tell(text: &str) {
    // Whoever closed standard output does not want to read on; the restore goes on all the same.
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
