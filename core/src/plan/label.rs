//! The steps *label*, *boot-volume* and *clear*.

use std::collections::{BTreeMap, BTreeSet};

use crate::decide::{Because, MachineFacts, NamespaceFacts};
use crate::domain::{GuardLabel, Provider, ProviderId, Reason, Server, ServerId, ServerStatus, StackitProviderId};

use super::settle::server_of;
use super::{
    Action, ClassDetails, Kind, Listed, Moment, Plan, Region, Settings, Shoot, exception, label_parts,
    quarantine_is_over,
};

/// The longest value of a label (STACKIT IaaS API v2, `Labels`).
const LONGEST_VALUE: usize = 63;

/// What a look at a server's labels found where nothing stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Labels {
    /// Each is in place.
    InPlace,
    /// No LIST says so or otherwise.
    Unknown,
}

pub(super) fn plan(shoot: &Shoot<'_>, now: Moment, settings: &Settings, plan: &mut Plan) {
    let asked = is_asked(shoot.facts);
    if !asked && !shoot.facts.switch_has_begun() {
        return;
    }
    for (name, machine) in &shoot.facts.machines {
        match ProviderId::of(&machine.provider_id) {
            // Before the flip as well: from then on each look for orphans takes a server that still has a label.
            ProviderId::Legacy(id) => legacy(shoot, name, machine, id.server(), now, settings, plan),
            ProviderId::Stackit(_) if asked && (machine.migrated || machine.marked) => {
                let looked = label(shoot, name, machine, now, settings, plan);
                exception::plan(shoot, name, machine, looked, now, settings, plan);
            }
            _ => {}
        }
    }
    // What a server needs goes before what it leaves behind.
    plan.actions.sort_by_key(|action| matches!(action, Action::LabelPart { .. }));
}

/// Whether labels are looked at: the guard is closed and nothing of OpenStack is left.
pub(super) fn is_asked(facts: &NamespaceFacts) -> bool {
    facts.guard() == Some(GuardLabel::Closed) && facts.openstack_remains().next().is_none()
}

/// A legacy Machine whose server carries a class label already is in danger.
fn legacy(
    shoot: &Shoot<'_>,
    name: &str,
    machine: &MachineFacts,
    server: ServerId,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) {
    let Some(region) = shoot.classes.get(&machine.class).and_then(|class| class.region(&settings.regions)) else {
        return;
    };
    if shoot.cloud.trouble(&region).is_some() {
        return;
    }
    let Some(listed) = look(shoot, &region, now, settings, plan) else { return };
    let key = class_key(&settings.label_domain);
    if let Some(class) = listed.servers.get(&server).and_then(|server| server.labels.get(&*key)) {
        plan.wait(Kind::Machine, name, Because::about(Reason::LegacyLabelled, &**class));
    }
}

fn label(
    shoot: &Shoot<'_>,
    name: &str,
    machine: &MachineFacts,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) -> Result<Labels, Because> {
    let id = StackitProviderId::parse(&machine.provider_id)
        .map_err(|_| Because::about(Reason::ProviderIdMalformed, &*machine.provider_id))?;
    let project = shoot.facts.project.ok_or_else(|| Because::of(Reason::ProjectUnknown))?;
    if id.project != project {
        return Err(Because::about(Reason::ProjectMismatch, id.project.as_str()));
    }
    let class = shoot.classes.get(&machine.class).filter(|class| class.provider == Provider::Stackit);
    let class = class.ok_or_else(|| Because::about(Reason::ClassUnknown, &*machine.class))?;
    let region =
        class.region(&settings.regions).ok_or_else(|| Because::about(Reason::RegionUnknown, &*class.region))?;
    let wanted = wanted_labels(name, &machine.class, class, &settings.label_domain)?;
    if let Some(trouble) = shoot.cloud.trouble(&region) {
        if machine.marked {
            return Err(trouble.clone());
        }
        // Nothing says that the labels of a finished Machine are gone, only because nobody can look.
        plan.unknown += 1;
        plan.wait_once(Kind::Shoot, "", trouble.clone());
        return Ok(Labels::Unknown);
    }
    let listed = look(shoot, &region, now, settings, plan);
    if let Some(listed) = listed {
        let server = our_server(listed, name, id.server)?;
        let missing = missing(&wanted, &server.labels);
        if missing.is_empty() {
            plan.labelled += 1;
            let part = label_parts::Owner { name, machine, class, region: &region, server };
            if label_parts::plan(shoot, &part, now, settings, plan)? {
                in_place(shoot, name, machine, &region, id.server, settings, plan);
                return Ok(Labels::InPlace);
            }
            plan.unknown += 1;
            return Ok(Labels::Unknown);
        }
        may_be_labelled(shoot, name, machine, server, now, settings, plan)?;
        if listed.age(now) > Settings::LIST_MAX_AGE {
            // An older one may still show servers whose Machines went with them in between: none of somebody else.
            plan.list(&region);
        } else if let Some(foreign) = foreign_server(shoot, listed, &machine.class, settings) {
            return Err(Because::about(Reason::ClassLabelForeign, foreign));
        } else {
            plan.act(Action::Label { machine: name.into(), region, server: id.server, labels: missing });
        }
        return Err(Because::of(Reason::LabelsUnconfirmed));
    }
    plan.unknown += 1;
    Ok(Labels::Unknown)
}

/// Whether nobody can take the server for an orphan any more, and the API lets it be changed.
pub(super) fn may_be_labelled(
    shoot: &Shoot<'_>,
    name: &str,
    machine: &MachineFacts,
    server: &Server,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) -> Result<(), Because> {
    if !shoot.seen.has_seen(name, machine) {
        // What was seen in quarantine is another ID than the one that is persisted now, or another Machine of the name.
        return Err(Because::of(Reason::Quarantined));
    }
    if let Err(not_yet) = quarantine_is_over(shoot.seen, name, shoot.nodes, now, settings) {
        if let Some(left) = not_yet.left {
            plan.again_in(left);
        }
        return Err(not_yet.because);
    }
    if server.status.forbids_changes() {
        return Err(Because::about(Reason::ServerDeferred, format!("{:?}", server.status)));
    }
    Ok(())
}

/// The last LIST of a region, if it is young enough to tell what labels there are; asks for one where it is not.
fn look<'a>(
    shoot: &Shoot<'a>,
    region: &Region,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) -> Option<&'a Listed> {
    let listed = shoot.cloud.lists.get(region).filter(|listed| listed.age(now) < settings.drift_every);
    if listed.is_none() {
        plan.list(region);
    }
    listed
}

/// The server that the ID names, if it is the Machine's for certain.
fn our_server<'a>(listed: &'a Listed, name: &str, id: ServerId) -> Result<&'a Server, Because> {
    let server = listed.servers.get(&id).ok_or_else(|| Because::about(Reason::ServerGone, id.as_str()))?;
    if &*server.name == name { Ok(server) } else { Err(Because::about(Reason::NameMismatch, &*server.name)) }
}

fn in_place(
    shoot: &Shoot<'_>,
    name: &str,
    machine: &MachineFacts,
    region: &Region,
    server: ServerId,
    settings: &Settings,
    plan: &mut Plan,
) {
    if !machine.marked {
        exception::readmit(name, machine, plan);
        return;
    }
    if settings.boot_volume_care && !shoot.cloud.cared.contains(&server) {
        plan.act(Action::CareForBootVolume { machine: name.into(), region: region.clone(), server });
    } else {
        plan.act(Action::Clear { machine: name.into() });
        exception::readmit(name, machine, plan);
    }
}

fn class_key(domain: &str) -> String {
    format!("{domain}/machineclass")
}

/// What a server that STACKIT's own provider had made would carry: the Machine's name, its class, and the class's own labels.
///
/// # Errors
/// [`Reason::NameTooLong`] for a value that no label can hold.
pub(super) fn wanted_labels(
    name: &str,
    class_name: &str,
    class: &ClassDetails,
    domain: &str,
) -> Result<BTreeMap<Box<str>, Box<str>>, Because> {
    let mut wanted = class.labels.clone();
    wanted.insert(format!("{domain}/machine").into(), name.into());
    wanted.insert(class_key(domain).into(), class_name.into());
    match wanted.values().find(|value| !is_label_value(value)) {
        Some(value) => Err(Because::about(Reason::NameTooLong, &**value)),
        None => Ok(wanted),
    }
}

/// The pattern of the IaaS API: up to 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit; or nothing.
pub(super) fn is_label_value(value: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_alphanumeric);
    let bytes = value.as_bytes();
    value.len() <= LONGEST_VALUE
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && edge(bytes.first())
        && edge(bytes.last())
}

/// What of `wanted` is not there, or is another.
pub(super) fn missing(
    wanted: &BTreeMap<Box<str>, Box<str>>,
    there: &BTreeMap<Box<str>, Box<str>>,
) -> BTreeMap<Box<str>, Box<str>> {
    let mut missing = wanted.clone();
    missing.retain(|key, value| there.get(key) != Some(value));
    missing
}

/// A server that carries the label of the class and is no Machine of this namespace: the machine-controller-manager of another landscape
/// would take ours for its orphans. One that has the name of a Machine without an ID is just being made.
fn foreign_server(shoot: &Shoot<'_>, listed: &Listed, class: &str, settings: &Settings) -> Option<String> {
    let ours: BTreeSet<ServerId> = shoot.facts.machines.values().filter_map(server_of).collect();
    let in_creation = |name: &str| shoot.facts.machines.get(name).is_some_and(|machine| machine.provider_id.is_empty());
    let key = class_key(&settings.label_domain);
    let foreign = listed.servers.values().find(|server| {
        server.labels.get(&*key).is_some_and(|value| &**value == class)
            && !ours.contains(&server.id)
            && !in_creation(&server.name)
            && server.status != ServerStatus::Deleting
    });
    foreign.map(|server| server.id.to_string())
}
