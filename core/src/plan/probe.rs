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
/// The API server words a policy's refusal as `… ValidatingAdmissionPolicy '<policy>' with binding '<binding>' denied request:
/// <message>` (kubernetes/apiserver `pkg/admission/plugin/policy/validating/dispatcher.go`). Where several policies refuse, it
/// tells one of them; if that is not ours, nothing is proved.
///
/// # Errors
/// [`Reason::GuardOpen`] when the probe was let in, [`Reason::GuardUnproven`] when something else than the guard answered.
pub fn judge(probe: Probe, answer: &ProbeAnswer) -> Result<(), Reason> {
    match answer {
        ProbeAnswer::Accepted => Err(Reason::GuardOpen),
        ProbeAnswer::Refused { code: 403 | 422, message } if is_refusal_of(probe.policy(), message) => Ok(()),
        ProbeAnswer::Refused { .. } | ProbeAnswer::Failed(_) => Err(Reason::GuardUnproven),
    }
}

fn is_refusal_of(policy: &str, message: &str) -> bool {
    let by = format!("ValidatingAdmissionPolicy '{policy}' with binding '");
    let after = message.split_once(&by).and_then(|(_, after)| after.split_once("' denied request: "));
    after.is_some_and(|(binding, words)| !binding.contains('\'') && words.starts_with(REFUSAL_PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, policy: &str, words: &str) -> ProbeAnswer {
        let message = format!(
            "machineclasses.machine.sapcloud.io \"p\" is forbidden: ValidatingAdmissionPolicy '{policy}' with binding 'b' denied \
             request: {words}"
        );
        ProbeAnswer::Refused { code, message }
    }

    #[test]
    fn only_the_refusal_of_the_guards_own_policy_proves_it() {
        for probe in PROBES {
            let words = "mcm-migration guard: no";
            for code in [403, 422] {
                assert_eq!(judge(probe, &refused(code, probe.policy(), words)), Ok(()));
            }
            for answer in [
                refused(403, "somebody-else", &format!("{words} (not mcm-migration-no-way-back)")),
                refused(403, probe.policy(), "somebody else's words"),
                refused(500, probe.policy(), words),
                refused(404, probe.policy(), words),
                ProbeAnswer::Refused { code: 403, message: "User \"x\" cannot patch resource \"machines\"".to_owned() },
                ProbeAnswer::Refused { code: 403, message: format!("{words} {}", probe.policy()) },
                ProbeAnswer::Refused { code: 400, message: "admission webhook does not support dry run".to_owned() },
                ProbeAnswer::Refused { code: 409, message: "already exists".to_owned() },
                ProbeAnswer::Failed("connection reset".to_owned()),
            ] {
                assert_eq!(judge(probe, &answer), Err(Reason::GuardUnproven), "{answer:?}");
            }
            assert_eq!(judge(probe, &ProbeAnswer::Accepted), Err(Reason::GuardOpen));
        }
    }

    #[test]
    fn the_refusal_of_another_policy_of_the_guard_does_not_prove_this_one() {
        let other = refused(403, Probe::RemoveGuardLabel.policy(), "mcm-migration guard: no");
        assert_eq!(judge(Probe::CreateOpenstackClass, &other), Err(Reason::GuardUnproven));
    }
}
