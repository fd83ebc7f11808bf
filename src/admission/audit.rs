use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use mcm_migration_core::decide::{Because, Decision, Outcome, Ruling, Verdict};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::review::Request;

use super::evaluate::namespace_of;
use super::held::{HeldLog, Topic, Turn};
use crate::VERSION;

/// The longest value from a request in a record, in characters; no well-formed ID, name or service account comes near it. An API server
/// looks at the length of a name only after admission.
const LONGEST: usize = 512;

/// What stands at the end of a value that was cut.
const CUT: char = '…';

/// The facts of one decision: for the log, and for the API server's own audit log. Never an object's body.
#[derive(Debug)]
pub struct Record<'a> {
    /// The plural of the resource that the path answers for.
    pub resource: &'static str,
    /// What was asked.
    pub request: &'a Request<'a>,
    /// What was decided.
    pub decided: Decided<'a>,
    /// From the complete body to the decision.
    pub took: Duration,
}

/// What was decided, by the kind of path.
#[derive(Debug, Clone, Copy)]
pub enum Decided<'a> {
    /// Whether and how the object is changed.
    Change(&'a Decision),
    /// Whether it is let in.
    Entry(&'a Verdict),
}

impl<'a> Decided<'a> {
    /// `changed`, `held` or `passed`; of a MachineClass `passed`, `waived` or `refused`.
    #[must_use]
    pub fn outcome(self) -> &'static str {
        match self {
            Self::Change(decision) => match decision.outcome {
                Outcome::Changed => "changed",
                Outcome::Held => "held",
                Outcome::Passed => "passed",
            },
            Self::Entry(verdict) => match verdict.ruling {
                Ruling::Passed => "passed",
                Ruling::Waived => "waived",
                Ruling::Refused => "refused",
            },
        }
    }

    /// Why.
    #[must_use]
    pub fn because(self) -> &'a Because {
        match self {
            Self::Change(decision) => &decision.because,
            Self::Entry(verdict) => &verdict.because,
        }
    }

    fn change(self) -> Option<&'a Decision> {
        match self {
            Self::Change(decision) => Some(decision),
            Self::Entry(_) => None,
        }
    }
}

impl Record<'_> {
    /// The name of the object, or what stands for one that is still to be made.
    fn name(&self) -> Cow<'_, str> {
        let metadata = &self.request.object.metadata;
        [&*self.request.name, metadata.name.text()].into_iter().find(|name| !name.is_empty()).map_or_else(
            || {
                let mut name = cut(metadata.generate_name.text()).into_owned();
                name.push('*');
                Cow::Owned(name)
            },
            cut,
        )
    }

    fn namespace(&self) -> Cow<'_, str> {
        cut(namespace_of(self.request))
    }

    /// The annotations of the API server's audit event. Keys have no `/`: the API server puts the webhook's name before them.
    /// `docs/audit.md` lists them.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<&'static str, String> {
        let because = self.decided.because();
        let mut annotations = BTreeMap::from([
            ("uid", cut(&self.request.uid).into_owned()),
            ("namespace", self.namespace().into_owned()),
            ("name", self.name().into_owned()),
            ("operation", self.request.operation.name().to_owned()),
            ("user", cut(&self.request.user).into_owned()),
            ("dry-run", self.request.dry_run.to_string()),
            ("decision", self.decided.outcome().to_owned()),
            ("reason", because.reason.name().to_owned()),
            ("duration-us", micros(self.took).to_string()),
            ("build", VERSION.to_owned()),
        ]);
        if !because.subject.is_empty() {
            annotations.insert("subject", cut(&because.subject).into_owned());
        }
        let Some(decision) = self.decided.change() else { return annotations };
        if let Some(id) = &decision.old_id {
            annotations.insert("old-id", cut(id).into_owned());
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
        self.decided.change().map_or_else(String::new, |decision| decision.patch.paths().collect::<Vec<_>>().join(" "))
    }

    /// What changed is always said, and so is each class that turns; what was held or refused at most once a minute for its
    /// [`Topic`]; the rest only at debug.
    fn turn(&self, namespace: &str, held: &HeldLog) -> Turn {
        let because = self.decided.because();
        let often = || {
            held.turn(Topic {
                namespace: namespace.into(),
                resource: self.resource,
                decision: self.decided.outcome(),
                reason: because.reason,
                dry_run: self.request.dry_run,
            })
        };
        match self.decided {
            Decided::Change(decision) => match decision.outcome {
                Outcome::Changed => Turn::Speak { repeated: 0 },
                Outcome::Held => often(),
                Outcome::Passed => Turn::Silent,
            },
            Decided::Entry(verdict) => match (verdict.ruling, because.reason) {
                (Ruling::Refused, _) => often(),
                (Ruling::Waived, _) | (Ruling::Passed, Reason::MayFlip) => Turn::Speak { repeated: 0 },
                (Ruling::Passed, _) => Turn::Silent,
            },
        }
    }

    /// Writes the record.
    pub(super) fn write(&self, held: &HeldLog) {
        let namespace = &*self.namespace();
        let turn = self.turn(namespace, held);
        let (because, change) = (self.decided.because(), self.decided.change());
        let (uid, user, name) = (&*cut(&self.request.uid), &*cut(&self.request.user), &*self.name());
        let subject = (!because.subject.is_empty()).then(|| cut(&because.subject));
        let old_id = change.and_then(|decision| decision.old_id.as_deref()).map(cut);
        let new_id = change.and_then(|decision| decision.new_id).map(|id| id.to_string());
        let patch_paths = change.is_some_and(|decision| !decision.patch.is_empty()).then(|| self.patch_paths());
        // The fields are the same at both levels; tracing wants each level in a place of its own.
        macro_rules! say {
            ($level:ident, $repeated:expr) => {
                tracing::$level!(
                    target: "audit",
                    uid,
                    resource = self.resource,
                    namespace,
                    name,
                    operation = self.request.operation.name(),
                    user,
                    dry_run = self.request.dry_run,
                    decision = self.decided.outcome(),
                    reason = because.reason.name(),
                    subject = subject.as_deref(),
                    old_id = old_id.as_deref(),
                    new_id = new_id.as_deref(),
                    patch_paths = patch_paths.as_deref(),
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

/// The beginning of a value from a request: it may be as long as the request.
fn cut(value: &str) -> Cow<'_, str> {
    match value.char_indices().nth(LONGEST) {
        None => Cow::Borrowed(value),
        Some((end, _)) => Cow::Owned(format!("{}{CUT}", value.get(..end).unwrap_or_default())),
    }
}

fn micros(took: Duration) -> u64 {
    u64::try_from(took.as_micros()).unwrap_or(u64::MAX)
}
