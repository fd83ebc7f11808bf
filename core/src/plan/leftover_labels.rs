//! Labels of a `--label-domain` that was used before, and markers that are only left over.

use std::collections::BTreeMap;

use crate::decide::MachineFacts;
use crate::domain::{Provider, Server, StackitProviderId};

use super::label::wanted_labels;
use super::{ClassDetails, Remains};

/// Labels of a domain used before, on the server of a finished Machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldLabels {
    /// The Machine.
    pub machine: Box<str>,
    /// Its server, as it is.
    pub server: Server,
    /// The keys, in order; each has the very value that this program gave it.
    pub keys: Vec<Box<str>>,
}

/// A Machine whose server carries every label of its own and which is still marked.
///
/// The marker itself is no work of a sweep: the side task takes it off by its own rule, which also looks at quarantine and parts.
pub fn stale_markers<'a>(
    remains: &'a Remains<'a>,
    classes: &'a BTreeMap<Box<str>, ClassDetails>,
    domain: &'a str,
) -> impl Iterator<Item = &'a str> {
    remains.facts.machines.iter().filter_map(move |(name, machine)| {
        (machine.marked && labelled_server(remains, classes, domain, name, machine).is_some()).then_some(&**name)
    })
}

/// Labels `<old>/machine` and `<old>/machineclass` of the domains in `old`, which have the Machine's name and class as their values, on servers that
/// carry every label of the present domain. A key that the class itself asks for is none.
#[must_use]
pub fn old_labels(
    remains: &Remains<'_>,
    classes: &BTreeMap<Box<str>, ClassDetails>,
    domain: &str,
    old: &[String],
) -> Vec<OldLabels> {
    let of = |name: &str, machine: &MachineFacts| {
        if machine.marked || !machine.migrated || machine.terminating {
            return None;
        }
        let (server, wanted) = labelled_server(remains, classes, domain, name, machine)?;
        let mut keys = Vec::new();
        for old in old.iter().filter(|old| *old != domain) {
            for (key, value) in [("machine", name), ("machineclass", &*machine.class)] {
                let key: Box<str> = format!("{old}/{key}").into();
                if server.labels.get(&key).is_some_and(|is| **is == *value) && !wanted.contains_key(&key) {
                    keys.push(key);
                }
            }
        }
        let found = !keys.is_empty() && !server.status.forbids_changes();
        found.then(|| OldLabels { machine: name.into(), server: server.clone(), keys })
    };
    remains.facts.machines.iter().filter_map(|(name, machine)| of(name, machine)).collect()
}

type Labels = BTreeMap<Box<str>, Box<str>>;

/// The server of a Machine, if it carries every label that it must have, and these.
fn labelled_server<'a>(
    remains: &Remains<'a>,
    classes: &BTreeMap<Box<str>, ClassDetails>,
    domain: &str,
    name: &str,
    machine: &MachineFacts,
) -> Option<(&'a Server, Labels)> {
    let id = StackitProviderId::parse(&machine.provider_id).ok().filter(|id| id.project == remains.project)?;
    let server = remains.servers.get(&id.server).filter(|server| &*server.name == name)?;
    let class = classes.get(&machine.class).filter(|class| class.provider == Provider::Stackit)?;
    let wanted = wanted_labels(name, &machine.class, class, domain).ok()?;
    let in_place = wanted.iter().all(|(key, value)| server.labels.get(key) == Some(value));
    in_place.then_some((server, wanted))
}
