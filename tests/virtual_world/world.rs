//! A seeded world in virtual time: an API server whose answers get lost and whose caches are late, a cloud, both machine-controller-managers
//! with old copies of the Machines, Gardener, and two replicas of the side task, which is the real one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{ProviderId, Server, ServerId, StackitProviderId};
use mcm_migration_core::plan::{ClassDetails, LeaseSighting, Moment};
use mcm_migration_webhook::sidetask::SideTaskMetrics;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::fault::Fault;
use crate::journal::{Journal, Kind};
use crate::replica::{Election, Replica};
use crate::time::WorldClock;
use crate::truth;

/// How likely each call goes wrong in each of these ways.
#[derive(Clone, Copy, Default, Debug)]
pub struct Weather {
    /// A request never arrives; and as likely, its answer is lost.
    pub lost: f64,
    /// A write arrives up to 40 seconds later, when its sender has given it up.
    pub late: f64,
    /// A write is carried out twice.
    pub twice: f64,
    /// A LIST of servers shows what was true up to a minute ago, or some servers twice.
    pub old_lists: f64,
}

/// One shoot's objects.
#[derive(Clone, Default)]
pub struct Objects {
    pub facts: NamespaceFacts,
    pub classes: BTreeMap<Box<str>, ClassDetails>,
    pub versions: BTreeMap<String, u64>,
    pub lease: Option<LeaseSighting>,
    pub conditions: BTreeMap<&'static str, bool>,
}

/// Everything.
pub struct World {
    pub rng: SmallRng,
    pub weather: Weather,
    /// What precaution is not taken, where the world is to notice that.
    pub fault: Option<Fault>,
    pub journal: Journal,
    pub replicas: [Replica; 2],
    pub election: Election,
    /// How late caches are, at most.
    pub lag: Duration,
    pub clock: WorldClock,
    pub shoots: BTreeMap<Box<str>, Objects>,
    /// What was true when: for caches that are late.
    pub history: BTreeMap<Box<str>, Vec<(Moment, NamespaceFacts)>>,
    pub servers: BTreeMap<ServerId, Server>,
    /// What a LIST shows that is old.
    pub old_servers: BTreeMap<ServerId, Server>,
    pub nodes_ready: bool,
    /// Between which moments the Nodes cannot be listed.
    pub nodes_unread: std::ops::Range<Moment>,
    pub metrics: SideTaskMetrics,
    /// Since when the Nodes have been Ready and the API server quick.
    pub calm_since: Moment,
    /// Until when no leader stays for long.
    pub restless_until: Moment,
    /// How long it took to rewrite a Machine that was restored with its old ID, at most.
    pub slowest_restore: Duration,
    /// How many times longer than usual a call to the API server may take.
    pub slow: u32,
    /// Until when the caches of a shoot are known to be stale.
    pub stale_until: BTreeMap<Box<str>, Moment>,
    /// The moment that the caches of a replica show of a shoot: they never go back.
    pub shown: BTreeMap<(usize, Box<str>), Moment>,
    /// Machines that were made again, and when: for a while their phase keeps the orphan collector off.
    pub born: BTreeMap<Box<str>, Moment>,
    /// Since when somebody leads.
    pub leads_since: Option<Moment>,
    /// Since when it is true of a shoot that nothing may be written, and that nothing may be labelled.
    pub forbidden: BTreeMap<Box<str>, truth::Forbidden>,
    pub violations: Vec<String>,
    /// Until when the API server does not know the kind MachineMigration, and how often one was to be made meanwhile.
    pub kind_missing: (Moment, usize),
    pub label_calls: usize,
    pub lists: usize,
    version: u64,
}

pub type Shared = Arc<Mutex<World>>;

pub fn lock(world: &Shared) -> MutexGuard<'_, World> {
    world.lock().unwrap()
}

impl World {
    pub fn new(seed: u64, weather: Weather, lag: Duration) -> Self {
        Self {
            rng: SmallRng::seed_from_u64(seed),
            weather,
            fault: None,
            journal: Journal::new(),
            replicas: Default::default(),
            election: Election::default(),
            lag,
            clock: WorldClock::start(),
            shoots: BTreeMap::new(),
            history: BTreeMap::new(),
            servers: BTreeMap::new(),
            old_servers: BTreeMap::new(),
            nodes_ready: true,
            nodes_unread: Moment::ZERO..Moment::ZERO,
            metrics: SideTaskMetrics::default(),
            calm_since: Moment::ZERO,
            restless_until: Moment::ZERO,
            slowest_restore: Duration::ZERO,
            slow: 1,
            stale_until: BTreeMap::new(),
            shown: BTreeMap::new(),
            born: BTreeMap::new(),
            leads_since: None,
            forbidden: BTreeMap::new(),
            violations: Vec::new(),
            kind_missing: (Moment::ZERO, 0),
            label_calls: 0,
            lists: 0,
            version: 0,
        }
    }

    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    pub fn step(&mut self, kind: Kind, what: std::fmt::Arguments<'_>) {
        let now = self.now();
        self.journal.step(now, kind, what);
    }

    /// Something happened that must not. The first time, what came before it is kept with it.
    pub fn violate(&mut self, what: &str) {
        let before = if self.violations.is_empty() { self.journal.tail() } else { String::new() };
        let now = self.now();
        self.violations.push(format!("{now:?}: {what}\n{before}"));
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.rng.random::<f64>() < p
    }

    /// An object changed.
    pub fn bump(&mut self, namespace: &str, object: &str) {
        self.version += 1;
        let now = self.clock.now();
        let version = self.version;
        self.step(Kind::Change, format_args!("{namespace} {object} {version}"));
        let objects = self.shoots.get_mut(namespace).unwrap();
        objects.versions.insert(object.to_owned(), self.version);
        let classes = objects.classes.iter();
        objects.facts.classes = classes.map(|(name, details)| (name.clone(), details.provider)).collect();
        let facts = objects.facts.clone();
        self.forbidden.entry(namespace.into()).or_default().observe(&facts, now);
        let history = self.history.entry(namespace.into()).or_default();
        history.push((now, facts));
        // One older than every lag is enough.
        let keep = now.saturating_sub(Duration::from_secs(3600));
        while history.len() > 2 && history[1].0 < keep {
            history.remove(0);
        }
    }

    /// What was true that long ago.
    pub fn as_of(&self, namespace: &str, ago: Duration) -> NamespaceFacts {
        self.at(namespace, self.now().saturating_sub(ago))
    }

    /// How many changes came after the one moment, and no later than the other.
    pub fn changes_between(&self, namespace: &str, after: Moment, until: Moment) -> usize {
        let history = self.history.get(namespace).map(Vec::as_slice).unwrap_or_default();
        history.iter().rev().skip_while(|(at, _)| *at > until).take_while(|(at, _)| *at > after).count()
    }

    /// What was true at that moment.
    pub fn at(&self, namespace: &str, then: Moment) -> NamespaceFacts {
        let history = self.history.get(namespace).map(Vec::as_slice).unwrap_or_default();
        let past = history.iter().rev().find(|(at, _)| *at <= then).or_else(|| history.first());
        past.map(|(_, facts)| facts.clone()).unwrap_or_default()
    }

    /// Deletes a server, unless a live Machine stands for it: then somebody would have lost a VM.
    pub fn collect(&mut self, server: ServerId, why: &str) {
        let names = |id: &str| match ProviderId::of(id) {
            ProviderId::Legacy(id) => Some(id.server()),
            _ => StackitProviderId::parse(id).ok().map(|id| id.server),
        };
        for (namespace, objects) in &self.shoots {
            for (name, machine) in &objects.facts.machines {
                if !machine.terminating && names(&machine.provider_id) == Some(server) {
                    let lost = format!("{namespace}/{name} lost its server {server}: {why}");
                    self.violate(&lost);
                    return;
                }
            }
        }
        if self.servers.remove(&server).is_some() {
            self.step(Kind::Change, format_args!("server {server} is deleted: {why}"));
        }
    }
}
