use std::fmt;

use mcm_migration_core::decide::{Because, Decision, Outcome};
use mcm_migration_core::domain::{ProviderId, Reason};
use mcm_migration_core::review::Request;
use serde_json::Value;

use crate::commands::Exit;

/// What is printed of a decision.
#[derive(Debug)]
pub(super) struct Report {
    decision: Decision,
    reasons: Vec<Because>,
    object: Value,
    migrated: bool,
}

/// The patch does not apply to the object.
#[derive(Debug, thiserror::Error)]
#[error("the patch does not apply to the object ({0}); the API server would refuse the write, so please report this")]
pub(super) struct DoesNotApply(#[from] json_patch::PatchError);

impl Report {
    /// The decision, all its reasons, and the object as it is after the patch.
    pub(super) fn new(
        request: &Request<'_>,
        decision: Decision,
        reasons: Vec<Because>,
        mut object: Value,
    ) -> Result<Self, DoesNotApply> {
        let id = ProviderId::of(request.object.spec.provider_id.text());
        let migrated = decision.outcome == Outcome::Changed
            || decision.because.reason == Reason::AlreadyMarked
            || matches!(id, ProviderId::Stackit(_));
        let operations = serde_json::to_value(&decision.patch).unwrap_or_default();
        let patch: json_patch::Patch = serde_json::from_value(operations).unwrap_or_default();
        json_patch::patch(&mut object, &patch)?;
        Ok(Self { decision, reasons, object, migrated })
    }

    /// Done where it would migrate or has migrated.
    pub(super) fn exit(&self) -> Exit {
        if self.migrated { Exit::Done } else { Exit::No }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { outcome, patch, .. } = &self.decision;
        let outcome = match outcome {
            Outcome::Changed => "changed",
            Outcome::Held => "held",
            Outcome::Passed => "passed",
        };
        writeln!(f, "decision:   {outcome}")?;
        for because in &self.reasons {
            writeln!(f, "reason:     {because}")?;
            writeln!(f, "meaning:    {}", because.reason.meaning())?;
            writeln!(f, "what to do: {}", because.reason.what_to_do())?;
        }
        writeln!(f, "patch:      {}", serde_json::to_string(patch).map_err(|_| fmt::Error)?)?;
        writeln!(f, "object:")?;
        let yaml = serde_yaml_ng::to_string(&self.object).map_err(|_| fmt::Error)?;
        yaml.lines().try_for_each(|line| writeln!(f, "  {line}"))
    }
}
