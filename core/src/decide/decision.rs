use std::fmt;

use crate::domain::{Reason, StackitProviderId};

use super::Patch;

/// A reason, and the object that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Because {
    /// Why.
    pub reason: Reason,
    /// The name of the object, or the value, that made it so; empty where the reason says all.
    pub subject: String,
}

impl Because {
    /// A reason that says all.
    #[must_use]
    pub fn of(reason: Reason) -> Self {
        Self { reason, subject: String::new() }
    }

    /// A reason about an object.
    #[must_use]
    pub fn about(reason: Reason, subject: impl Into<String>) -> Self {
        Self { reason, subject: subject.into() }
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        if !self.subject.is_empty() {
            // `escape_debug` keeps a value from an object from breaking the line.
            write!(f, " ({})", self.subject.escape_debug())?;
        }
        Ok(())
    }
}

/// What becomes of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is let in with a patch.
    Changed,
    /// It is let in as it is, although there is something to migrate.
    Held,
    /// It is let in as it is; there is nothing to migrate.
    Passed,
}

/// The answer to one admission request. Every request is let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What becomes of the write.
    pub outcome: Outcome,
    /// Why.
    pub because: Because,
    /// Empty unless the outcome is [`Outcome::Changed`].
    pub patch: Patch,
    /// Machine: the provider ID that the object arrived with, when it is a legacy one.
    pub old_id: Option<String>,
    /// Machine: the provider ID that the patch sets, or would set.
    pub new_id: Option<StackitProviderId>,
}

impl Decision {
    /// Let in as it is, nothing to migrate.
    #[must_use]
    pub fn passed(because: Because) -> Self {
        Self { outcome: Outcome::Passed, because, patch: Patch::default(), old_id: None, new_id: None }
    }

    /// Let in as it is, although there is something to migrate.
    #[must_use]
    pub fn held(because: Because) -> Self {
        Self { outcome: Outcome::Held, ..Self::passed(because) }
    }

    /// Let in with a patch.
    #[must_use]
    pub fn changed(because: Because, patch: Patch) -> Self {
        Self { outcome: Outcome::Changed, patch, ..Self::passed(because) }
    }

    /// The same decision for a program that may not change anything: the patch is left out.
    #[must_use]
    pub fn without_patch(self) -> Self {
        if self.outcome != Outcome::Changed {
            return self;
        }
        let subject = self.because.reason.name();
        Self { old_id: self.old_id, new_id: self.new_id, ..Self::held(Because::about(Reason::DryRunMode, subject)) }
    }
}
