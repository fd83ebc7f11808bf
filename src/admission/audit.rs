use std::collections::BTreeMap;
use std::time::Duration;

use mcm_migration_core::decide::{Decision, Outcome};
use mcm_migration_core::review::Request;

use super::Path;
use super::evaluate::namespace_of;
use super::held::{HeldLog, Turn};
use crate::VERSION;

/// The longest value from an object in a record, in characters; no well-formed ID or name comes near it.
const LONGEST: usize = 256;

/// The facts of one decision: for the log, and for the API server's own audit log. Never an object's body.
#[derive(Debug)]
pub struct Record<'a> {
    /// The path that was asked.
    pub path: Path,
    /// What was asked.
    pub request: &'a Request<'a>,
    /// What was decided.
    pub decision: &'a Decision,
    /// From the complete body to the decision.
    pub took: Duration,
}

impl Record<'_> {
    /// The name of the object, or what stands for one that is still to be made.
    fn name(&self) -> String {
        let metadata = &self.request.object.metadata;
        [&*self.request.name, metadata.name.text()]
            .into_iter()
            .find(|name| !name.is_empty())
            .map_or_else(|| format!("{}*", metadata.generate_name.text()), str::to_owned)
    }

    /// `changed`, `held` or `passed`.
    #[must_use]
    pub fn outcome(&self) -> &'static str {
        match self.decision.outcome {
            Outcome::Changed => "changed",
            Outcome::Held => "held",
            Outcome::Passed => "passed",
        }
    }

    /// The annotations of the API server's audit event. Keys have no `/`: the API server puts the webhook's name before them.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<&'static str, String> {
        let decision = self.decision;
        let mut annotations = BTreeMap::from([
            ("decision", self.outcome().to_owned()),
            ("reason", decision.because.reason.name().to_owned()),
            ("dry-run", self.request.dry_run.to_string()),
            ("duration-us", micros(self.took).to_string()),
            ("build", VERSION.to_owned()),
        ]);
        if !decision.because.subject.is_empty() {
            annotations.insert("subject", cut(&decision.because.subject).to_owned());
        }
        if let Some(id) = &decision.old_id {
            annotations.insert("old-id", cut(id).to_owned());
        }
        if let Some(id) = &decision.new_id {
            annotations.insert("new-id", id.to_string());
        }
        if !decision.patch.is_empty() {
            annotations.insert("patch-paths", self.patch_paths());
        }
        annotations
    }

    fn patch_paths(&self) -> String {
        self.decision.patch.paths().collect::<Vec<_>>().join(" ")
    }

    /// Writes the record: what changed always, what was held at most once a minute for its namespace and reason, the rest only
    /// at debug.
    pub(super) fn write(&self, held: &HeldLog) {
        let namespace = namespace_of(self.request);
        let turn = match self.decision.outcome {
            Outcome::Changed => Turn::Speak { repeated: 0 },
            Outcome::Passed => Turn::Silent,
            Outcome::Held => held.turn(namespace, self.decision.because.reason),
        };
        // The fields are the same at both levels; tracing wants each level in a place of its own.
        macro_rules! say {
            ($level:ident, $repeated:expr) => {
                tracing::$level!(
                    target: "audit",
                    uid = &*self.request.uid,
                    resource = self.path.resource().1,
                    namespace,
                    name = self.name(),
                    operation = self.request.operation.name(),
                    user = &*self.request.user,
                    dry_run = self.request.dry_run,
                    decision = self.outcome(),
                    reason = self.decision.because.reason.name(),
                    subject = cut(&self.decision.because.subject),
                    old_id = self.decision.old_id.as_deref().map(cut),
                    new_id = self.decision.new_id.map(|id| id.to_string()),
                    patch_paths = self.patch_paths(),
                    repeated = $repeated,
                    duration_us = micros(self.took),
                    build = VERSION,
                    "admission"
                )
            };
        }
        match turn {
            // How many equal ones were left out before this one.
            Turn::Speak { repeated } => say!(info, repeated),
            Turn::Silent => say!(debug, 0),
        }
    }
}

/// The beginning of a value from an object: it may be as long as the object.
fn cut(value: &str) -> &str {
    value.char_indices().nth(LONGEST).map_or(value, |(end, _)| value.get(..end).unwrap_or_default())
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}
