use std::collections::BTreeSet;

use crate::decide::{Because, MachineFacts};
use crate::domain::{LegacyProviderId, ProviderId, Reason, StackitProviderId};

use super::WayBack;

impl WayBack<'_> {
    /// The OpenStack ID that a rewritten Machine had: what its annotation says or, without one, its server in the region of its class.
    ///
    /// The OpenStack provider compares the very string, so a region that is only likely will not do: the region's name comes from
    /// `--region-map` read backwards, it must be the only one, and no other Machine of a class in the same region may say another.
    ///
    /// # Errors
    /// Why it is not known for certain.
    pub fn previous_id(&self, name: &str, machine: &MachineFacts) -> Result<String, Because> {
        let now = StackitProviderId::parse(&machine.provider_id)
            .map_err(|_| Because::about(Reason::ProviderIdMalformed, &*machine.provider_id))?;
        let Some(text) = self.previous.get(name) else {
            return Ok(format!("openstack:///{}/{}", self.old_region(name, machine)?, now.server));
        };
        let previous = LegacyProviderId::parse(text).ok_or_else(|| Because::about(Reason::PreviousIdUnknown, name))?;
        if previous.server() != now.server {
            return Err(Because::about(Reason::PreviousIdMismatch, name));
        }
        Ok(previous.to_string())
    }

    fn old_region(&self, name: &str, machine: &MachineFacts) -> Result<&str, Because> {
        let unknown = || Because::about(Reason::PreviousIdUnknown, name);
        let new = &*self.classes.get(&machine.class).ok_or_else(unknown)?.region;
        let mut names = self.settings.regions.iter().filter(|(_, region)| region.as_str() == new);
        let (Some((old, _)), None) = (names.next(), names.next()) else { return Err(unknown()) };
        match self.regions_of_others(new).into_iter().find(|other| *other != old) {
            None => Ok(old),
            Some(_) => Err(unknown()),
        }
    }

    /// What the Machines whose class is in a region of the IaaS API say it was called by OpenStack.
    fn regions_of_others(&self, region: &str) -> BTreeSet<&str> {
        let there = self.facts.machines.iter().filter(|(_, machine)| {
            self.classes
                .get(&machine.class)
                .is_some_and(|class| class.region(&self.settings.regions).is_some_and(|found| found.as_str() == region))
        });
        there
            .filter_map(|(name, machine)| match ProviderId::of(&machine.provider_id) {
                ProviderId::Legacy(id) => Some(id.region()),
                _ => LegacyProviderId::parse(self.previous.get(name)?).map(|id| id.region()),
            })
            .collect()
    }
}
