//! What migrated Machines left behind in the cloud: network interfaces and volumes that the STACKIT provider does not delete, and labels of a domain
//! that was used before. Nothing here is remembered: it is told from what the seed and the cloud show at one time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::decide::{Because, MachineFacts, NamespaceFacts};
use crate::domain::{GuardLabel, Part, PartId, ProjectId, Reason, Server, ServerId, keys};

use super::settle::server_of;
use super::{Ownership, ownership};

/// The Machines of the whole seed, whatever their namespace, as an uncached list shows them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Alive {
    /// By name: whether one of that name is settled without a server.
    names: BTreeMap<Box<str>, bool>,
    servers: BTreeSet<ServerId>,
}

impl Alive {
    /// Of all Machines, terminating ones included.
    #[must_use]
    pub fn of<'a>(machines: impl IntoIterator<Item = (&'a str, &'a MachineFacts)>) -> Self {
        let mut alive = Self::default();
        for (name, machine) in machines {
            *alive.names.entry(name.into()).or_default() |= machine.settled;
            alive.servers.extend(server_of(machine));
        }
        alive
    }

    fn has(&self, name: &str, server: Option<ServerId>) -> bool {
        self.names.contains_key(name) || server.is_some_and(|server| self.servers.contains(&server))
    }
}

/// What one shoot's leftovers are told from.
#[derive(Debug, Clone, Copy)]
pub struct Remains<'a> {
    /// The shoot's namespace.
    pub namespace: &'a str,
    /// What the API server says of it, read past every cache and after the cloud.
    pub facts: &'a NamespaceFacts,
    /// The project whose servers and parts were listed.
    pub project: ProjectId,
    /// All servers of the region.
    pub servers: &'a BTreeMap<ServerId, Server>,
    /// All network interfaces and volumes of the region.
    pub parts: &'a [Part],
    /// The Machines of the seed, read after the cloud.
    pub alive: &'a Alive,
}

/// A network interface or a volume that nothing seems to need any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// As the cloud shows it.
    pub part: Part,
    /// Whether it may be deleted, or why it is only told.
    pub fate: Result<(), Kept>,
}

/// Why something is only told, and not deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// Its name or its labels do not say the same, or are not all there.
    NotProven,
    /// Something has it attached.
    Attached,
    /// Nothing has it attached, and its own status does not say that it is unused.
    NotIdle,
    /// A Machine of the seed has its name or its server.
    MachineLives,
    /// Its server is still there, or another one of its name: the Machine may live in another seed.
    ServerThere(ServerId),
    /// It was never labelled by this program, and has the name of a Machine that is settled without a server.
    SettledNoServer,
    /// It was never labelled by this program, and its name is that of a Machine of the shoot which is gone.
    Unlabelled,
    /// A label says that a storage driver made it.
    OfCsi,
    /// Its shoot is not in this seed: it may be in another one.
    ShootElsewhere,
    /// Nothing is taken away from its shoot now.
    Held(Because),
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProven => f.write_str("its name and its labels do not prove whose it was"),
            Self::Attached => f.write_str("it is attached"),
            Self::NotIdle => f.write_str("its status does not say that it is unused"),
            Self::MachineLives => f.write_str("a Machine of the seed has its name or its server"),
            Self::ServerThere(server) => {
                write!(f, "server {server} is there: its Machine may live in another seed")
            }
            Self::SettledNoServer => {
                f.write_str("it has the name of a Machine that is settled as no-server, and no label of ours")
            }
            Self::Unlabelled => f.write_str("it has the name of a Machine that is gone, and no label of ours"),
            Self::OfCsi => f.write_str("a storage driver made it"),
            Self::ShootElsewhere => f.write_str("its shoot is not in this seed"),
            Self::Held(because) => write!(f, "its shoot is held: {because}"),
        }
    }
}

/// Whether something of the shoot may be taken away: it is ours and nothing else, guarded, neither paused nor on its way back, of that project, and
/// nothing of the OpenStack provider, which deletes its own, is left.
///
/// # Errors
/// Why not.
pub fn may_be_swept(facts: &NamespaceFacts, project: ProjectId) -> Result<(), Because> {
    match ownership(facts)? {
        Ownership::Ours => {}
        Ownership::RestoringHere => return Err(Because::of(Reason::WorkerRestoring)),
        Ownership::DeletingHere => return Err(Because::of(Reason::WorkerTerminating)),
    }
    if let Some((name, _)) = facts.workers.iter().find(|(_, worker)| !worker.is_stackit) {
        return Err(Because::about(Reason::WorkerNotStackit, &**name));
    }
    if facts.migration.is_some_and(|migration| migration.paused) {
        return Err(Because::of(Reason::Paused));
    }
    match facts.guard() {
        Some(GuardLabel::Closed) => {}
        Some(GuardLabel::RollingBack) => return Err(Because::of(Reason::RollingBack)),
        _ => return Err(Because::of(Reason::NoGuard)),
    }
    if facts.project != Some(project) {
        return Err(Because::of(Reason::ProjectMismatch));
    }
    facts.openstack_remains().next().map_or(Ok(()), Err)
}

/// The leftovers of one shoot, in the order of their IDs.
#[must_use]
pub fn leftovers(remains: &Remains<'_>) -> Vec<Leftover> {
    let mut found: Vec<Leftover> = remains
        .parts
        .iter()
        .filter(|part| is_of(part, remains.namespace))
        .filter_map(|part| Some(Leftover { part: part.clone(), fate: fate(remains, part)? }))
        .collect();
    found.sort_by_key(|leftover| leftover.part.id);
    found
}

/// Parts that this program labelled for shoots that are not in the seed. They are only told.
#[must_use]
pub fn leftovers_of_others(parts: &[Part], is_here: impl Fn(&str) -> bool) -> Vec<Leftover> {
    let of_others = parts.iter().filter(|part| part.server.is_none());
    let of_others = of_others.filter(|part| part.labels.get(keys::PART_SHOOT).is_some_and(|shoot| !is_here(shoot)));
    of_others.map(|part| Leftover { part: part.clone(), fate: Err(Kept::ShootElsewhere) }).collect()
}

/// Those of `before` that may be deleted and are, in the later look, still the very same and may still be deleted.
#[must_use]
pub fn confirmed(before: &[Leftover], after: &[Leftover]) -> Vec<Part> {
    let earlier: BTreeMap<PartId, &Part> = before
        .iter()
        .filter(|leftover| leftover.fate.is_ok())
        .map(|leftover| (leftover.part.id, &leftover.part))
        .collect();
    let still = after.iter().filter(|leftover| leftover.fate.is_ok());
    still
        .filter(|leftover| earlier.get(&leftover.part.id) == Some(&&leftover.part))
        .map(|leftover| leftover.part.clone())
        .collect()
}

/// Whether a part is of the shoot: our label says so, or, where it has none of our labels, its name begins as those of the shoot's Machines do.
fn is_of(part: &Part, namespace: &str) -> bool {
    match part.labels.get(keys::PART_SHOOT) {
        Some(shoot) => &**shoot == namespace,
        None => part.name.strip_prefix(namespace).is_some_and(|rest| rest.starts_with('-')),
    }
}

/// What is to become of a part of the shoot; none when it is no leftover.
fn fate(remains: &Remains<'_>, part: &Part) -> Option<Result<(), Kept>> {
    if part.server.is_some() || part.of_network {
        return None;
    }
    let ours = [keys::PART_MACHINE, keys::PART_SHOOT, keys::PART_SERVER].map(|key| part.labels.get(key));
    if ours.iter().all(Option::is_none) {
        return match remains.alive.names.get(&part.name) {
            Some(true) => Some(Err(Kept::SettledNoServer)),
            Some(false) => None,
            None => Some(Err(Kept::Unlabelled)),
        };
    }
    match may_be_deleted(part, remains.namespace, remains.alive) {
        Err(Kept::MachineLives) => return None,
        Err(kept) => return Some(Err(kept)),
        Ok(_) => {}
    }
    let server = remains.servers.values().find(|server| is_its_server(part, server));
    if let Some(server) = server {
        return Some(Err(Kept::ServerThere(server.id)));
    }
    Some(may_be_swept(remains.facts, remains.project).map_err(Kept::Held))
}

/// Whether a part may be deleted as far as it shows that itself, and no Machine of the seed needs it. The server that must be gone besides.
///
/// This is asked again, of the part as it is then, right before it is deleted.
///
/// # Errors
/// Why not.
pub fn may_be_deleted(part: &Part, namespace: &str, alive: &Alive) -> Result<ServerId, Kept> {
    if part.server.is_some() {
        return Err(Kept::Attached);
    }
    let label = |key| part.labels.get(key).map(|value| &**value);
    let server = label(keys::PART_SERVER).and_then(|server| ServerId::parse(server).ok());
    if alive.has(&part.name, server) || label(keys::PART_MACHINE).is_some_and(|machine| alive.has(machine, None)) {
        return Err(Kept::MachineLives);
    }
    let named = !part.name.is_empty() && label(keys::PART_MACHINE) == Some(&*part.name);
    let (Some(server), true, true) = (server, named, label(keys::PART_SHOOT) == Some(namespace)) else {
        return Err(Kept::NotProven);
    };
    if part.is_of_csi() {
        return Err(Kept::OfCsi);
    }
    if part.of_network || !part.idle {
        return Err(Kept::NotIdle);
    }
    Ok(server)
}

/// Whether a server is the one that the part was attached to, or has its name.
fn is_its_server(part: &Part, server: &Server) -> bool {
    server.name == part.name || part.labels.get(keys::PART_SERVER).is_some_and(|id| **id == *server.id.as_str())
}
