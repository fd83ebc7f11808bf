use std::collections::BTreeSet;

use crate::decide::{Because, MachineFacts};
use crate::domain::{ProviderId, Reason, Region, Server, ServerId, StackitProviderId};
use crate::plan::{Listed, Moment};

use super::{LabelsOf, WayBack};

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

    /// The server of a Machine that came from OpenStack, where it is, and which of our labels it carries, by LISTs that may still be acted on.
    ///
    /// # Errors
    /// A server that carries them and has another name is somebody else's: nothing is taken off it.
    pub(super) fn labelled(
        &self,
        name: &str,
        server: ServerId,
        now: Moment,
    ) -> Result<Option<(Region, BTreeSet<Box<str>>)>, Because> {
        for region in self.regions() {
            let Some(found) = self.cloud.fresh(&region, now).and_then(|listed| listed.servers.get(&server)) else {
                continue;
            };
            let ours = self.our_labels(found);
            if ours.is_empty() {
                continue;
            }
            if *found.name != *name {
                return Err(Because::about(Reason::NameMismatch, format!("{name}: {}", found.name)));
            }
            return Ok(Some((region, ours.into_iter().map(Into::into).collect())));
        }
        Ok(None)
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
        match found.into_iter().find_map(|server| self.our_labels(server).into_iter().next()) {
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
