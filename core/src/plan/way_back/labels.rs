use std::collections::BTreeSet;

use crate::decide::{Because, MachineFacts};
use crate::domain::{PartKind, ProviderId, Reason, Region, Server, ServerId, StackitProviderId};
use crate::plan::{Listed, Moment, Settings, part_labels};

use super::{LabelsOf, Step, WayBack};

/// Why the labels of a server are not taken off now.
pub(super) enum NoStep {
    /// Somebody has to decide first.
    Refused(Because),
    /// The API refuses to change the server until somebody changes its state.
    Deferred(Because),
}

impl<'a> WayBack<'a> {
    /// The regions in which servers of the shoot are: those of its classes.
    #[must_use]
    pub fn regions(&self) -> BTreeSet<Region> {
        self.classes.values().filter_map(|class| class.region(&self.settings.regions)).collect()
    }

    /// The keys on a server that this program, or the STACKIT provider, set there: the two of the provider, and those labels of the
    /// namespace's classes whose value is the class's. Everything else is foreign.
    #[must_use]
    pub fn our_labels<'s>(&self, server: &'s Server) -> BTreeSet<&'s str> {
        let domain = &self.settings.label_domain;
        let provider = [format!("{domain}/machineclass"), format!("{domain}/machine")];
        let of_a_class = |key: &str, value: &str| {
            self.classes.values().any(|class| class.labels.get(key).is_some_and(|label| **label == *value))
        };
        let ours = server
            .labels
            .iter()
            .filter(|(key, value)| provider.iter().any(|of| **of == ***key) || of_a_class(key, value));
        ours.map(|(key, _)| &**key).collect()
    }

    /// A class label under another domain than `--label-domain`: its value is a class of the namespace. A STACKIT provider that knows this domain
    /// would take the server for an orphan, so it is not left there silently; and it is not taken off either, since the flag may be wrong.
    fn class_label_of_another_domain<'s>(&self, server: &'s Server) -> Option<&'s str> {
        let ours = self.our_labels(server);
        let mut others = server.labels.iter().filter(|(key, class)| {
            key.ends_with("/machineclass") && self.classes.contains_key(*class) && !ours.contains(&***key)
        });
        others.next().map(|(key, _)| &**key)
    }

    /// What takes our labels off the server of a Machine that came from OpenStack, by LISTs that may still be acted on; none where it carries none.
    ///
    /// # Errors
    /// A server that carries them and has another name is somebody else's: nothing is taken off it. Nor is it where another domain's labels are on
    /// it, or while the API refuses to change it.
    pub(super) fn label_step(&self, name: &str, server: ServerId, now: Moment) -> Result<Option<Step>, NoStep> {
        for region in self.regions() {
            let Some(found) = self.cloud.fresh(&region, now).and_then(|listed| listed.servers.get(&server)) else {
                continue;
            };
            let (ours, other) = (self.our_labels(found), self.class_label_of_another_domain(found));
            if ours.is_empty() && other.is_none() {
                continue;
            }
            if *found.name != *name {
                return Err(NoStep::Refused(Because::about(Reason::NameMismatch, format!("{name}: {}", found.name))));
            }
            if let Some(key) = other {
                return Err(NoStep::Refused(Because::about(Reason::LabelDomainDiffers, format!("{name}: {key}"))));
            }
            if found.status.forbids_changes() {
                let state = format!("{name}: {:?}", found.status);
                return Err(NoStep::Deferred(Because::about(Reason::ServerDeferred, state)));
            }
            let keys = ours.into_iter().map(Into::into).collect();
            return Ok(Some(Step::Unlabel { machine: name.into(), region, server, keys }));
        }
        Ok(None)
    }

    /// Looks at the network interfaces and volumes of every region, then takes this program's labels off those of a Machine's server. They are harmless
    /// to a live Machine, so a kind that cannot be looked at, or written to, holds nothing.
    pub(super) fn part_labels_off(&self, servers: &[(&str, ServerId)], now: Moment) -> Vec<Step> {
        let (mut lists, mut steps) = (Vec::new(), Vec::new());
        let regions = self.regions().into_iter().flat_map(|region| PartKind::ALL.map(|kind| (region.clone(), kind)));
        for (region, kind) in regions.filter(|(region, kind)| self.cloud.part_trouble(region, *kind).is_none()) {
            let listed = self.cloud.parts.get(&(region.clone(), kind));
            let Some(listed) = listed.filter(|listed| listed.age(now) <= Settings::LIST_MAX_AGE) else {
                lists.push(Step::ListParts { region, kind });
                continue;
            };
            for (name, server) in servers {
                let wanted = part_labels(self.namespace, name, *server);
                for part in listed.attached.get(server).into_iter().flatten() {
                    let ours = part.labels.iter().filter(|(key, value)| wanted.get(*key) == Some(*value));
                    let keys: BTreeSet<Box<str>> = ours.map(|(key, _)| key.clone()).collect();
                    if !keys.is_empty() {
                        let (machine, region) = ((*name).into(), region.clone());
                        steps.push(Step::UnlabelPart { machine, region, part: part.id, keys });
                    }
                }
            }
        }
        if lists.is_empty() { steps } else { lists }
    }

    /// What is known of the labels of a Machine's server. That it is gone counts only if every region of the shoot was listed.
    #[must_use]
    pub fn labels_of(&self, machine: &MachineFacts, now: Moment) -> LabelsOf<'a> {
        let regions = self.regions();
        let in_a_class = self.classes.get(&machine.class).and_then(|class| class.region(&self.settings.regions));
        let listed: Vec<&'a Listed> = regions.iter().filter_map(|region| self.cloud.fresh(region, now)).collect();
        let Some(server) = server_of(machine) else { return LabelsOf::Unknown };
        if listed.is_empty() || listed.len() < regions.len() {
            return LabelsOf::Unknown;
        }
        let found: Vec<&'a Server> = listed.iter().filter_map(|listed| listed.servers.get(&server)).collect();
        if found.is_empty() {
            // Its region is known only by its class.
            return if in_a_class.is_some() { LabelsOf::Gone } else { LabelsOf::Unknown };
        }
        let label = |server: &'a Server| {
            self.our_labels(server).into_iter().next().or_else(|| self.class_label_of_another_domain(server))
        };
        match found.into_iter().find_map(label) {
            None => LabelsOf::Off,
            Some(key) => LabelsOf::On(key),
        }
    }
}

/// The server that a Machine's ID names, old or new.
pub(super) fn server_of(machine: &MachineFacts) -> Option<ServerId> {
    match ProviderId::of(&machine.provider_id) {
        ProviderId::Legacy(id) => Some(id.server()),
        ProviderId::Stackit(text) => StackitProviderId::parse(text).ok().map(|id| id.server),
        _ => None,
    }
}
