use crate::domain::Reason;

/// Every refusal of the guard's policies begins with this, so that nobody else's refusal is taken for theirs.
pub const REFUSAL_PREFIX: &str = "mcm-migration guard: ";

/// A server-side dry run that the guard must refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Probe {
    /// CREATE of a MachineClass with the provider `OpenStack`.
    CreateOpenstackClass,
    /// UPDATE of an existing MachineClass to it.
    TurnClassToOpenstack,
    /// Change of a rewritten Machine's provider ID; asked where there is such a Machine.
    ChangeRewrittenId,
    /// Removal of the namespace's guard label.
    RemoveGuardLabel,
}

/// All probes, in the order in which they are made.
pub const PROBES: [Probe; 4] =
    [Probe::CreateOpenstackClass, Probe::TurnClassToOpenstack, Probe::ChangeRewrittenId, Probe::RemoveGuardLabel];

impl Probe {
    /// The ValidatingAdmissionPolicy that must answer.
    #[must_use]
    pub fn policy(self) -> &'static str {
        match self {
            Self::CreateOpenstackClass | Self::TurnClassToOpenstack => "mcm-migration-no-way-back",
            Self::ChangeRewrittenId => "mcm-migration-keep-ids",
            Self::RemoveGuardLabel => "mcm-migration-keep-guard",
        }
    }

    /// What it tries, for messages.
    #[must_use]
    pub fn tries(self) -> &'static str {
        match self {
            Self::CreateOpenstackClass => "creating an OpenStack MachineClass",
            Self::TurnClassToOpenstack => "turning a MachineClass to OpenStack",
            Self::ChangeRewrittenId => "changing a rewritten Machine's provider ID",
            Self::RemoveGuardLabel => "removing the guard's label",
        }
    }
}

/// The API server's answer to a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeAnswer {
    /// The dry run was let in.
    Accepted,
    /// It was refused with this HTTP status and message.
    Refused {
        /// The HTTP status code.
        code: u16,
        /// `status.message`
        message: String,
    },
    /// There was no answer.
    Failed(String),
}

/// What an answer proves.
///
/// # Errors
/// [`Reason::GuardOpen`] when the probe was let in, [`Reason::GuardUnproven`] when something else than the guard answered.
pub fn judge(probe: Probe, answer: &ProbeAnswer) -> Result<(), Reason> {
    match answer {
        ProbeAnswer::Accepted => Err(Reason::GuardOpen),
        ProbeAnswer::Refused { code: 403 | 422, message }
            if message.contains(REFUSAL_PREFIX) && message.contains(probe.policy()) =>
        {
            Ok(())
        }
        ProbeAnswer::Refused { .. } | ProbeAnswer::Failed(_) => Err(Reason::GuardUnproven),
    }
}
