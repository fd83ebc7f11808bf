use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::decide::{MachineFacts, NamespaceFacts};
use crate::domain::{McmContainers, ProviderId};

use super::{Direction, Finding, Moment, NodeSeen, NodesRule, every_node_ready_long_enough};

/// How long a pod that is gone is remembered: pods that are evicted again and again would be ever more.
const GONE_FOR: Duration = Duration::from_secs(3600);

/// The Lease `machine-controller` of a shoot, as one read shows it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct LeaseSighting {
    /// `spec.holderIdentity`: the host name of a pod, which is its name.
    pub holder: Box<str>,
    /// `spec.renewTime`, as text. It is only ever compared with itself: clocks of others are never compared with ours.
    pub renewed: Box<str>,
}

/// What this leader has seen of one shoot, kept from look to look. A new leader starts with nothing: waiting is free,
/// remembering is not safe.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Seen {
    pub(super) direction: Direction,
    ids: BTreeMap<Box<str>, IdSeen>,
    other_gone: Option<Moment>,
    machines_then: Option<BTreeSet<Box<str>>>,
    without_id: BTreeMap<Box<str>, Moment>,
    restoring: Option<Moment>,
    pub(super) pods: BTreeMap<Box<str>, PodSeen>,
    pub(super) lease: Option<LeaseSeen>,
    troubles: BTreeMap<Box<str>, TroubleSeen>,
}

/// The new ID of a Machine. One that was made again under its name is another Machine: a cache that shows the first one may be as old as that.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct IdSeen {
    uid: Box<str>,
    id: Box<str>,
    since: Moment,
}

impl IdSeen {
    fn is_of(&self, machine: &MachineFacts) -> bool {
        self.id == machine.provider_id && self.uid == machine.uid
    }
}

/// For how long a Machine's server has been in trouble of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
struct TroubleSeen {
    /// All of it but what goes on now.
    counted: Duration,
    /// When it was last found; none since something else stood in the way.
    last: Option<Moment>,
}

/// A pod of the machine-controller-manager, as this leader has seen it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PodSeen {
    pub(super) name: Box<str>,
    pub(super) node: Box<str>,
    pub(super) containers: McmContainers,
    pub(super) first: Moment,
    restarts: u32,
    /// When a restart of its provider was last seen.
    pub(super) restarted: Option<Moment>,
    /// When it was last seen as the Lease's holder.
    pub(super) held: Option<Moment>,
    /// Since when it is gone, or has ended.
    pub(super) gone: Option<Moment>,
}

/// The Lease, as this leader has seen it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct LeaseSeen {
    pub(super) sighting: LeaseSighting,
    /// When the read was asked for that was the last to show this.
    asked: Moment,
    /// The last change of `renewTime` came after this moment: the read before it still showed the old one. None before the first change.
    pub(super) changed_after: Option<Moment>,
}

impl TroubleSeen {
    fn total(self, now: Moment) -> Duration {
        let goes_on = self.last.map(|last| now.saturating_sub(last)).unwrap_or_default();
        self.counted.saturating_add(goes_on)
    }
}

impl Seen {
    /// Nothing seen yet, of a shoot that moves this way.
    #[must_use]
    pub fn of(direction: Direction) -> Self {
        Self { direction, ..Self::default() }
    }

    /// Takes up what the caches show at `now`.
    pub fn observe(&mut self, facts: &NamespaceFacts, restoring: bool, now: Moment) {
        self.observe_ids(facts, now);
        self.observe_pods(facts, now);
        // While the template has the other provider, a pod may come and go between two looks.
        if self.direction.other_remains(facts) {
            (self.other_gone, self.machines_then) = (None, None);
        } else {
            self.other_gone.get_or_insert(now);
        }
        self.restoring = restoring.then(|| self.restoring.unwrap_or(now));
    }

    /// The caches show nothing for certain: a pod may come and go unseen, so the wait for it begins anew.
    pub fn lose_sight(&mut self) {
        (self.other_gone, self.machines_then) = (None, None);
        self.lose_troubles();
    }

    /// Takes up what a plan found of the Machines' servers at `now`. Only the time between two findings of trouble counts, with nothing else in
    /// between.
    pub fn observe_troubles(&mut self, findings: &BTreeMap<Box<str>, Finding>, now: Moment) {
        for (name, trouble) in &mut self.troubles {
            if !findings.contains_key(name) {
                trouble.last = None;
            }
        }
        for (name, finding) in findings {
            match finding {
                Finding::Fine => drop(self.troubles.remove(name)),
                Finding::Unknown => {}
                Finding::Trouble => {
                    let trouble = self.troubles.entry(name.clone()).or_default();
                    trouble.counted = trouble.total(now);
                    trouble.last = Some(now);
                }
            }
        }
    }

    /// Nobody looks at the servers now: the time that they are in trouble stands still.
    pub fn lose_troubles(&mut self) {
        for trouble in self.troubles.values_mut() {
            trouble.last = None;
        }
    }

    /// For how long the Machine's server has been in trouble of its own, as this leader has seen it, if it still is so now.
    #[must_use]
    pub fn troubled_for(&self, machine: &str, now: Moment) -> Option<Duration> {
        self.troubles.get(machine).map(|trouble| trouble.total(now))
    }

    /// Whether no process of the provider that is left behind can make servers any more. A pod that is gone from the API may still run on a Node
    /// that hangs, so every Node must have been Ready since for longer than one that wakes up there can act.
    #[must_use]
    pub fn other_is_off(&self, nodes: Option<&[NodeSeen]>, now: Moment, rule: &NodesRule) -> bool {
        let (Some(gone), Some(nodes)) = (self.other_gone, nodes) else { return false };
        every_node_ready_long_enough(nodes, gone, now, rule).is_ok()
    }

    /// Takes up an uncached list of the Machines' names that was asked for when [`Self::other_is_off`].
    pub fn observe_machines<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        if self.other_gone.is_some() && self.machines_then.is_none() {
            self.machines_then = Some(names.into_iter().map(Into::into).collect());
        }
    }

    /// Takes up one read of the Lease `machine-controller`, asked for at `asked` and answered at `answered`; none when there is none.
    pub fn observe_lease(&mut self, lease: Option<LeaseSighting>, asked: Moment, answered: Moment) {
        let Some(sighting) = lease else {
            self.lease = None;
            return;
        };
        for pod in self.pods.values_mut().filter(|pod| pod.name == sighting.holder && pod.gone.is_none()) {
            pod.held = Some(answered);
        }
        let changed_after = match &self.lease {
            Some(before) if before.sighting.renewed == sighting.renewed => before.changed_after,
            Some(before) => Some(before.asked),
            None => None,
        };
        self.lease = Some(LeaseSeen { sighting, asked, changed_after });
    }

    /// When the new ID that the Machine has now was first seen: a STACKIT one on the way forward, a legacy one on the way back.
    #[must_use]
    pub fn id_since(&self, machine: &str) -> Option<Moment> {
        self.ids.get(machine).map(|seen| seen.since)
    }

    /// The new ID that the Machine was last seen with.
    #[must_use]
    pub fn id(&self, machine: &str) -> Option<&str> {
        self.ids.get(machine).map(|seen| &*seen.id)
    }

    /// Whether what was seen last is this very Machine, with the ID that it has.
    #[must_use]
    pub fn has_seen(&self, name: &str, machine: &MachineFacts) -> bool {
        self.ids.get(name).is_some_and(|seen| seen.is_of(machine))
    }

    /// Since when neither a pod of the provider that is left behind (OpenStack on the way forward) nor a Deployment that makes one has been
    /// seen: the moment at which the last was seen gone, or this process began to look.
    #[must_use]
    pub fn other_gone(&self) -> Option<Moment> {
        self.other_gone
    }

    /// Whether the Machine was there when the Machines were listed after the last process of the other provider had ended. One that was not
    /// was made later, when nobody created servers through it any more. None while they were not listed.
    #[must_use]
    pub fn was_there(&self, machine: &str) -> Option<bool> {
        self.machines_then.as_ref().map(|then| then.contains(machine))
    }

    /// Since when the Machine has been seen without an ID.
    #[must_use]
    pub fn without_id_since(&self, machine: &str) -> Option<Moment> {
        self.without_id.get(machine).copied()
    }

    /// Since when the shoot has been seen restoring here.
    #[must_use]
    pub fn restoring_since(&self) -> Option<Moment> {
        self.restoring
    }

    /// The same, counted from `origin`; what came before it counts as seen at `origin`. Two memories of the same things, made at different times,
    /// are equal when they are counted from the same time before each.
    #[must_use]
    pub fn counted_from(&self, origin: Moment) -> Self {
        let moved = |moment: Moment| moment.saturating_sub(origin);
        let lease = self.lease.clone().map(|lease| LeaseSeen {
            asked: moved(lease.asked),
            changed_after: lease.changed_after.map(moved),
            ..lease
        });
        let pod = |pod: &PodSeen| PodSeen {
            first: moved(pod.first),
            restarted: pod.restarted.map(moved),
            held: pod.held.map(moved),
            gone: pod.gone.map(moved),
            ..pod.clone()
        };
        let id = |seen: &IdSeen| IdSeen { since: moved(seen.since), ..seen.clone() };
        let trouble = |trouble: &TroubleSeen| TroubleSeen { last: trouble.last.map(moved), ..*trouble };
        Self {
            direction: self.direction,
            ids: self.ids.iter().map(|(name, seen)| (name.clone(), id(seen))).collect(),
            other_gone: self.other_gone.map(moved),
            machines_then: self.machines_then.clone(),
            without_id: self.without_id.iter().map(|(name, since)| (name.clone(), moved(*since))).collect(),
            restoring: self.restoring.map(moved),
            pods: self.pods.iter().map(|(uid, seen)| (uid.clone(), pod(seen))).collect(),
            lease,
            troubles: self.troubles.iter().map(|(name, seen)| (name.clone(), trouble(seen))).collect(),
        }
    }

    fn observe_ids(&mut self, facts: &NamespaceFacts, now: Moment) {
        let counts = self.direction.counts(facts);
        self.ids.retain(|name, seen| counts && facts.machines.get(name).is_some_and(|machine| seen.is_of(machine)));
        self.troubles.retain(|name, _| self.ids.contains_key(name));
        self.without_id
            .retain(|name, _| facts.machines.get(name).is_some_and(|machine| machine.provider_id.is_empty()));
        for (name, machine) in &facts.machines {
            match ProviderId::of(&machine.provider_id) {
                ProviderId::None => drop(self.without_id.entry(name.clone()).or_insert(now)),
                id if counts && self.direction.is_new(&id) && !self.ids.contains_key(name) => {
                    let (uid, id) = (machine.uid.clone(), machine.provider_id.clone());
                    self.ids.insert(name.clone(), IdSeen { uid, id, since: now });
                }
                _ => {}
            }
        }
    }

    fn observe_pods(&mut self, facts: &NamespaceFacts, now: Moment) {
        let alive = |uid: &str| facts.mcm_pods.values().any(|pod| &*pod.uid == uid && !pod.ended);
        for (uid, pod) in &mut self.pods {
            if alive(uid) {
                // What was seen gone and is there again was never gone for certain.
                pod.gone = None;
            } else {
                pod.gone.get_or_insert(now);
            }
        }
        for (name, pod) in facts.mcm_pods.iter().filter(|(_, pod)| !pod.ended) {
            let seen = self.pods.entry(pod.uid.clone()).or_insert_with(|| PodSeen {
                name: name.clone(),
                node: pod.node.clone(),
                containers: pod.containers,
                first: now,
                restarts: pod.restarts,
                restarted: None,
                held: None,
                gone: None,
            });
            if pod.restarts != seen.restarts {
                (seen.restarts, seen.restarted) = (pod.restarts, Some(now));
            }
            seen.containers = pod.containers;
            seen.node.clone_from(&pod.node);
        }
        self.forget_old_pods(now);
    }

    /// A pod that was gone before any ID that is there now was seen proves nothing and hinders nothing; nor does one that is gone for so long that
    /// no cache shows it again.
    fn forget_old_pods(&mut self, now: Moment) {
        let oldest = self.ids.values().map(|seen| seen.since).min();
        let counts = |gone: Moment| oldest.is_some_and(|oldest| gone >= oldest) && now.saturating_sub(gone) < GONE_FOR;
        self.pods.retain(|_, pod| pod.gone.is_none_or(counts));
    }
}
