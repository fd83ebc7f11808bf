use crate::decide::{Because, NamespaceFacts};
use crate::domain::{GuardLabel, LegacyProviderId, ProviderId, Reason, StackitProviderId};
use crate::plan::{Ownership, ownership};

/// What is known of the labels that the STACKIT provider knows a server by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelsOf<'a> {
    /// Nobody has looked, or not lately enough.
    Unknown,
    /// The project has no such server.
    Gone,
    /// The server carries none of them.
    Off,
    /// The server carries this one.
    On(&'a str),
}

/// The gate of a namespace: whether anything old (an ID of OpenStack, an export, a dump) may be written into it.
///
/// It is open only while the shoot is ours or is being deleted here, its guard is `rolling-back`, and nothing is left through which the STACKIT
/// provider could act on its servers: the Deployment's template has the OpenStack provider alone, and so has every pod.
///
/// That a pod which is gone from the API is no dead process is not asked here: `rollback` waits for the Nodes before it sets the guard to
/// `rolling-back`, and again in each new process.
///
/// `facts` must have been read past every cache, right before the write.
///
/// # Errors
/// Every reason that keeps it closed, in the order in which they are worth reading.
pub fn may_write_old(facts: &NamespaceFacts) -> Result<(), Vec<Because>> {
    let mut reasons = Vec::new();
    match ownership(facts) {
        Ok(Ownership::Ours | Ownership::DeletingHere) => {}
        Ok(Ownership::RestoringHere) => reasons.push(Because::of(Reason::WorkerRestoring)),
        Err(because) => reasons.push(because),
    }
    match facts.guard() {
        Some(GuardLabel::RollingBack) => {}
        Some(GuardLabel::Closed | GuardLabel::Unknown) | None => reasons.push(Because::of(Reason::GuardNotRollingBack)),
    }
    reasons.extend(facts.stackit_remains());
    if !facts.mcm_deployment.is_some_and(|template| template.openstack) {
        reasons.push(Because::of(Reason::OpenstackMcmMissing));
    }
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}

/// The gate of a Machine: whether its OpenStack ID `previous` may be written back.
///
/// It is open only while [`may_write_old`] is, the Machine has the STACKIT ID of this project and of the very server that `previous` names
/// (or `previous` itself), and that server carries no label of the STACKIT provider (`labels`) or is gone.
///
/// # Errors
/// Every reason that keeps it closed.
pub fn may_write_back(
    facts: &NamespaceFacts,
    machine: &str,
    previous: &LegacyProviderId<'_>,
    labels: LabelsOf<'_>,
) -> Result<(), Vec<Because>> {
    let mut reasons = may_write_old(facts).err().unwrap_or_default();
    let id = facts.machines.get(machine).map(|machine| &*machine.provider_id).unwrap_or_default();
    match ProviderId::of(id) {
        ProviderId::Legacy(now) if now == *previous => {}
        ProviderId::Legacy(_) => reasons.push(Because::about(Reason::PreviousIdMismatch, machine)),
        ProviderId::Stackit(text) => match StackitProviderId::parse(text) {
            Err(_) => reasons.push(Because::about(Reason::ProviderIdMalformed, text)),
            Ok(now) if now.server != previous.server() => {
                reasons.push(Because::about(Reason::PreviousIdMismatch, machine));
            }
            Ok(now) if facts.project != Some(now.project) => {
                reasons.push(Because::about(Reason::ProjectMismatch, now.project.as_str()));
            }
            Ok(_) => {}
        },
        ProviderId::None => reasons.push(Because::about(Reason::MachinesWithoutId, machine)),
        ProviderId::MalformedLegacy(text) | ProviderId::Foreign(text) => {
            reasons.push(Because::about(Reason::ProviderIdMalformed, text));
        }
    }
    match labels {
        LabelsOf::Gone | LabelsOf::Off => {}
        LabelsOf::Unknown => reasons.push(Because::about(Reason::LabelsUnconfirmed, machine)),
        LabelsOf::On(key) => reasons.push(Because::about(Reason::StillLabelled, format!("{machine}: {key}"))),
    }
    if reasons.is_empty() { Ok(()) } else { Err(reasons) }
}
