use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::decide::{Because, MachineFacts, NamespaceFacts};
use crate::domain::{Part, PartKind, Region, Server, ServerId};

use super::settle::server_of;
use super::{Action, Backoff, Moment, Settings};

/// What is known of a shoot's project in the cloud.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CloudView {
    /// The last LIST of servers of each region.
    pub lists: BTreeMap<Region, Listed>,
    /// Regions that could not be listed, and why. No LIST of them is planned until [`Self::forget_troubles`].
    pub troubles: BTreeMap<Region, Because>,
    /// Why the whole project is stopped: its credentials, or a label that the API refuses.
    pub stopped: Option<Because>,
    /// The last LIST of network interfaces and of volumes of each region.
    pub parts: BTreeMap<(Region, PartKind), ListedParts>,
    /// As [`Self::troubles`], of network interfaces and volumes.
    pub part_troubles: BTreeMap<(Region, PartKind), Because>,
    /// Kinds whose labels the API refuses in the whole project.
    pub parts_stopped: BTreeMap<PartKind, Because>,
    /// Servers whose boot volume has been taken care of.
    pub cared: BTreeSet<ServerId>,
    /// For servers in creation and in error: whether the allowed addresses of their network interfaces are in place.
    pub addressed: BTreeSet<ServerId>,
}

/// One complete LIST of the servers of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// By ID. All shoots of a project share it.
    pub servers: Arc<BTreeMap<ServerId, Server>>,
    /// No later than the moment that it shows.
    pub at: Moment,
}

impl Listed {
    /// A LIST that was asked for at `at`.
    #[must_use]
    pub fn new(servers: impl IntoIterator<Item = Server>, at: Moment) -> Self {
        Self { servers: Arc::new(servers.into_iter().map(|server| (server.id, server)).collect()), at }
    }

    /// Takes up a server as a call has just shown it.
    pub fn take_up(&mut self, server: Server) {
        Arc::make_mut(&mut self.servers).insert(server.id, server);
    }

    /// How old it is.
    #[must_use]
    pub fn age(&self, now: Moment) -> Duration {
        now.saturating_sub(self.at)
    }
}

/// One complete LIST of the network interfaces or the volumes of a region, as far as they are attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedParts {
    /// By the server that has them. All shoots of a project share it.
    pub attached: Arc<BTreeMap<ServerId, Vec<Part>>>,
    /// No later than the moment that it shows.
    pub at: Moment,
}

impl ListedParts {
    /// A LIST that was asked for at `at`.
    #[must_use]
    pub fn new(parts: impl IntoIterator<Item = Part>, at: Moment) -> Self {
        let mut attached: BTreeMap<ServerId, Vec<Part>> = BTreeMap::new();
        for part in parts {
            if let Some(server) = part.server {
                attached.entry(server).or_default().push(part);
            }
        }
        Self { attached: Arc::new(attached), at }
    }

    /// How old it is.
    #[must_use]
    pub fn age(&self, now: Moment) -> Duration {
        now.saturating_sub(self.at)
    }

    /// Takes up a part as a call has just shown it.
    pub fn take_up(&mut self, part: Part) {
        let attached = Arc::make_mut(&mut self.attached);
        for parts in attached.values_mut() {
            parts.retain(|known| known.id != part.id);
        }
        if let Some(server) = part.server {
            attached.entry(server).or_default().push(part);
        }
    }
}

impl CloudView {
    /// What stands in the way of a look at the network interfaces or the volumes of a region.
    #[must_use]
    pub fn part_trouble(&self, region: &Region, kind: PartKind) -> Option<&Because> {
        let key = (region.clone(), kind);
        self.stopped.as_ref().or_else(|| self.parts_stopped.get(&kind)).or_else(|| self.part_troubles.get(&key))
    }

    /// Forgets the troubles of regions that may be listed again. What is held back for a while longer stays told as it is.
    pub fn forget_troubles(&mut self, backoff: &Backoff, now: Moment) {
        let is_held = |list: &Action| backoff.held(list, now).is_some();
        self.troubles.retain(|region, _| is_held(&Action::List { region: region.clone() }));
        self.part_troubles
            .retain(|(region, kind), _| is_held(&Action::ListParts { region: region.clone(), kind: *kind }));
    }

    /// How long it is until one of them may be.
    pub(super) fn listed_again_in(&self, backoff: &Backoff, now: Moment) -> Option<Duration> {
        let servers = self.troubles.keys().map(|region| Action::List { region: region.clone() });
        let parts = self.part_troubles.keys();
        let parts = parts.map(|(region, kind)| Action::ListParts { region: region.clone(), kind: *kind });
        servers.chain(parts).filter_map(|list| backoff.held(&list, now).map(|(_, left)| left)).min()
    }

    /// Forgets of servers what no Machine needs any more, so that nothing grows with all Machines that ever were.
    pub fn forget_servers(&mut self, facts: &NamespaceFacts) {
        let named: BTreeSet<ServerId> = facts.machines.values().filter_map(server_of).collect();
        self.cared.retain(|server| named.contains(server));
        if !facts.machines.values().any(MachineFacts::is_unsettled) {
            self.addressed.clear();
        }
    }

    /// Takes up a network interface or a volume as a call has just shown it.
    pub fn take_up_part(&mut self, region: &Region, part: Part) {
        if let Some(listed) = self.parts.get_mut(&(region.clone(), part.id.kind())) {
            listed.take_up(part);
        }
    }

    /// The LIST of a region, if it may still be acted on.
    #[must_use]
    pub fn fresh(&self, region: &Region, now: Moment) -> Option<&Listed> {
        self.lists.get(region).filter(|listed| listed.age(now) <= Settings::LIST_MAX_AGE)
    }

    /// What stands in the way of a call to a region.
    #[must_use]
    pub fn trouble(&self, region: &Region) -> Option<&Because> {
        self.stopped.as_ref().or_else(|| self.troubles.get(region))
    }

    /// Takes up a server as a call has just shown it.
    pub fn take_up(&mut self, region: &Region, server: Server) {
        if let Some(listed) = self.lists.get_mut(region) {
            listed.take_up(server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Reason;

    #[test]
    fn a_trouble_is_told_until_its_region_may_be_listed_again() {
        let region = Region::parse("eu01").unwrap();
        let (list, kind) = (Action::List { region: region.clone() }, PartKind::Nic);
        let nics = Action::ListParts { region: region.clone(), kind };
        let (mut view, mut backoff) = (CloudView::default(), Backoff::default());
        let because = Because::of(Reason::CloudUnavailable);
        view.troubles.insert(region.clone(), because.clone());
        view.part_troubles.insert((region.clone(), kind), because.clone());
        backoff.failed(&list, because.clone(), Duration::ZERO, 1.0);
        backoff.failed(&nics, because.clone(), Duration::ZERO, 1.0);
        backoff.failed(&nics, because, Duration::ZERO, 1.0);
        let secs = Duration::from_secs;
        for (now, left, troubles) in
            [(0, Some(5), (1, 1)), (4, Some(1), (1, 1)), (5, Some(5), (0, 1)), (9, Some(1), (0, 1)), (10, None, (0, 0))]
        {
            view.forget_troubles(&backoff, secs(now));
            assert_eq!((view.troubles.len(), view.part_troubles.len()), troubles, "at {now} s");
            assert_eq!(view.listed_again_in(&backoff, secs(now)), left.map(secs), "at {now} s");
        }
    }

    #[test]
    fn forgets_servers_whose_machines_are_gone_or_settled() {
        let id = |last| ServerId::parse(&format!("00000000-0000-4000-8000-00000000000{last}")).unwrap();
        let both = BTreeSet::from([id(1), id(2)]);
        let mut view = CloudView { cared: both.clone(), addressed: both.clone(), ..CloudView::default() };
        let mut facts = NamespaceFacts::default();
        let machine = MachineFacts { provider_id: format!("stackit://p/{}", id(1)).into(), ..MachineFacts::default() };
        facts.machines.insert("a".into(), machine);
        facts.machines.insert("b".into(), MachineFacts::default());
        view.forget_servers(&facts);
        assert_eq!((&view.cared, &view.addressed), (&BTreeSet::from([id(1)]), &both));
        facts.machines.clear();
        view.forget_servers(&facts);
        assert_eq!(view, CloudView::default());
    }
}
