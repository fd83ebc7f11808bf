//! The steps *except* and *readmit*: a Machine whose server is gone, or cannot be labelled, for too long no longer holds up the Worker.

use crate::decide::{Because, MachineFacts};
use crate::domain::{Exception, Reason, StackitProviderId};

use super::label::Labels;
use super::{Action, Kind, Moment, Plan, Region, Settings, Shoot};

/// What one look at a Machine's server found. Where something else stood in the way there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The server is gone, or cannot be labelled, and that is a trouble of its own.
    Trouble,
    /// The server carries every label.
    Fine,
    /// It was not looked at yet: no LIST is young enough.
    Unknown,
}

/// Takes up what the step *label* found: waits for it, and excepts the Machine when it has been in trouble of its own for too long.
pub(super) fn plan(
    shoot: &Shoot<'_>,
    name: &str,
    machine: &MachineFacts,
    looked: Result<Labels, Because>,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) {
    let subject = subject(shoot, machine, settings);
    let same = shoot.seen.has_seen(name, machine);
    // Where nobody can look, or what this leader has seen is another ID, the time stands still.
    let subject = subject.filter(|(region, _)| same && shoot.cloud.trouble(region).is_none());
    let finding = match &looked {
        Ok(Labels::InPlace) => Some(Finding::Fine),
        Ok(Labels::Unknown) => Some(Finding::Unknown),
        Err(because) => subject.as_ref().and_then(|(region, server)| {
            let reason = own_trouble(shoot, name, because, region, *server, now)?;
            if machine.exception.is_none() {
                except(shoot, name, (region, *server), reason, now, settings, plan);
            }
            Some(Finding::Trouble)
        }),
    };
    if let Some(finding) = finding.filter(|_| subject.is_some()) {
        plan.findings.insert(name.into(), finding);
    }
    // An exception no longer holds anything up; what can be done for it is done all the same.
    let Err(because) = looked else { return };
    if machine.exception.is_none() {
        plan.wait(Kind::Machine, name, because);
    } else {
        let region = shoot.classes.get(&machine.class).and_then(|class| class.region(&settings.regions));
        let of_project = region.is_some_and(|region| shoot.cloud.trouble(&region) == Some(&because));
        tell_of_another(name, machine, &because, of_project, plan);
    }
}

/// What the side task excepted a Machine for is told by that. Any other trouble is told of the shoot, where it holds up nobody; what passes by itself
/// is not told.
pub(super) fn tell_of_another(
    name: &str,
    machine: &MachineFacts,
    because: &Because,
    of_project: bool,
    plan: &mut Plan,
) {
    let forced = machine.exception.as_ref().is_some_and(|exception| exception.forced().is_some());
    let is_own = match because.reason {
        Reason::ServerGone | Reason::ServerDeferred | Reason::Quarantined | Reason::LabelsUnconfirmed => true,
        Reason::NameTooLong => *because.subject == *name,
        _ => false,
    };
    if !forced || is_own {
        return;
    }
    let about = match &*because.subject {
        _ if of_project => because.clone(),
        "" => Because::about(because.reason, name),
        subject => Because::about(because.reason, format!("{name}: {subject}")),
    };
    plan.wait_once(Kind::Shoot, "", about);
}

/// Takes the side task's own exception back once every label is in place. What an operator wrote stays.
pub(super) fn readmit(name: &str, machine: &MachineFacts, plan: &mut Plan) {
    if machine.exception.as_ref().is_some_and(|exception| exception.forced().is_some()) {
        plan.act(Action::Readmit { machine: name.into() });
    }
}

/// Where the Machine's server is, and its ID.
fn subject(
    shoot: &Shoot<'_>,
    machine: &MachineFacts,
    settings: &Settings,
) -> Option<(Region, crate::domain::ServerId)> {
    let id = StackitProviderId::parse(&machine.provider_id).ok()?;
    let region = shoot.classes.get(&machine.class)?.region(&settings.regions)?;
    (Some(id.project) == shoot.facts.project).then_some((region, id.server))
}

/// The trouble, if it is one of the Machine's own server. Those of the project, the class, the guard, the quarantine and of whose a server is
/// stop a shoot, and never excuse it.
fn own_trouble(
    shoot: &Shoot<'_>,
    name: &str,
    because: &Because,
    region: &Region,
    server: crate::domain::ServerId,
    now: Moment,
) -> Option<Reason> {
    match because.reason {
        Reason::ServerGone | Reason::ServerDeferred => Some(because.reason),
        // The name of its class, and the labels of that, are the trouble of all its Machines.
        Reason::NameTooLong if *because.subject == *name => Some(because.reason),
        // The last PATCH was refused for the state of the server, and is not sent again yet.
        Reason::LabelsUnconfirmed => {
            let (held, _) = shoot.backoff.held(&Action::label_of(name, region, server), now)?;
            matches!(held.reason, Reason::ServerGone | Reason::ServerDeferred).then_some(held.reason)
        }
        _ => None,
    }
}

fn except(
    shoot: &Shoot<'_>,
    name: &str,
    (region, server): (&Region, crate::domain::ServerId),
    reason: Reason,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) {
    let Some(force_after) = settings.force_after.filter(|_| Exception::FORCED.contains(&reason)) else { return };
    let left = force_after.saturating_sub(shoot.seen.troubled_for(name, now).unwrap_or_default());
    if !left.is_zero() {
        plan.again_in(left);
    } else if shoot.cloud.fresh(region, now).is_some() {
        plan.act(Action::Except { machine: name.into(), region: region.clone(), server, reason });
    } else {
        plan.list(region);
    }
}
