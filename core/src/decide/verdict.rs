use crate::domain::Reason;

use super::Because;

/// Whether a write of a MachineClass is let in. It is never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ruling {
    /// It is let in.
    Passed,
    /// It is let in although something stands in the way: a pause, or `--dry-run`, says that nothing is to be refused.
    Waived,
    /// It is refused; whoever wrote tries again.
    Refused,
}

/// The answer to one write of a MachineClass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What becomes of the write.
    pub ruling: Ruling,
    /// Why. Waived: its subject says what it would have been refused for.
    pub because: Because,
}

impl Verdict {
    /// Let in.
    #[must_use]
    pub fn passed(because: Because) -> Self {
        Self { ruling: Ruling::Passed, because }
    }

    /// Refused.
    #[must_use]
    pub fn refused(because: Because) -> Self {
        Self { ruling: Ruling::Refused, because }
    }

    /// The same verdict; where it refuses, `reason` keeps what is in the way from passing by itself.
    #[must_use]
    pub fn refused_while(self, reason: Reason) -> Self {
        if self.ruling != Ruling::Refused {
            return self;
        }
        Self { because: Because::about(reason, self.because.to_string()), ..self }
    }

    /// The same verdict where `reason` says that nothing is to be refused.
    #[must_use]
    pub fn waived_by(self, reason: Reason) -> Self {
        if self.ruling != Ruling::Refused {
            return self;
        }
        Self { ruling: Ruling::Waived, because: Because::about(reason, self.because.to_string()) }
    }
}
