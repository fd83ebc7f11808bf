//! A seeded world in virtual time: an API server whose answers get lost and whose caches are late, a cloud, a machine-controller-manager with an
//! old copy of the Machines, and Gardener. The side task that runs in it is the real one.
#![allow(unreachable_pub, reason = "shared by the test files that name this folder")]

pub mod actors;
pub mod build;
pub mod cloud;
pub mod cluster;
pub mod mischief;
pub mod truth;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{ProviderId, Server, ServerId, StackitProviderId};
use mcm_migration_core::plan::{ClassDetails, LeaseSighting, Moment};
use mcm_migration_webhook::sidetask::{Clock, Fence};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// tokio's paused clock.
#[derive(Clone)]
pub struct VirtualClock(tokio::time::Instant);

impl VirtualClock {
    pub fn start() -> Self {
        Self(tokio::time::Instant::now())
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Moment {
        self.0.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}

/// Leads for ever, or until told otherwise.
#[derive(Clone, Default)]
pub struct Term(Arc<std::sync::atomic::AtomicBool>);

impl Term {
    pub fn end(&self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

impl Fence for Term {
    fn holds(&self) -> bool {
        !self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
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
    /// How likely a call goes wrong.
    pub chaos: f64,
    /// How late caches are, at most.
    pub lag: Duration,
    pub clock: VirtualClock,
    pub shoots: BTreeMap<Box<str>, Objects>,
    /// What was true when: for caches that are late.
    pub history: BTreeMap<Box<str>, Vec<(Moment, NamespaceFacts)>>,
    pub servers: BTreeMap<ServerId, Server>,
    pub nodes_ready: bool,
    /// How many times longer than usual a call to the API server may take.
    pub slow: u32,
    /// Until when the caches of a shoot are known to be stale.
    pub stale_until: BTreeMap<Box<str>, Moment>,
    /// The moment that the caches of a shoot show: they never go back.
    pub shown: BTreeMap<Box<str>, Moment>,
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
    pub steps: usize,
    version: u64,
}

thread_local! {
    /// Violations that were found where the world was locked.
    pub static LATER: std::cell::RefCell<Vec<String>> = const { std::cell::RefCell::new(Vec::new()) };
}

pub type Shared = Arc<Mutex<World>>;

pub fn lock(world: &Shared) -> MutexGuard<'_, World> {
    world.lock().unwrap()
}

impl World {
    pub fn new(seed: u64, chaos: f64, lag: Duration) -> Self {
        Self {
            rng: SmallRng::seed_from_u64(seed),
            chaos,
            lag,
            clock: VirtualClock::start(),
            shoots: BTreeMap::new(),
            history: BTreeMap::new(),
            servers: BTreeMap::new(),
            nodes_ready: true,
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
            steps: 0,
            version: 0,
        }
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.rng.random::<f64>() < p
    }

    /// An object changed.
    pub fn bump(&mut self, namespace: &str, object: &str) {
        self.version += 1;
        let now = self.clock.now();
        let objects = self.shoots.get_mut(namespace).unwrap();
        objects.versions.insert(object.to_owned(), self.version);
        for (name, details) in &objects.classes {
            objects.facts.classes.insert(name.clone(), details.provider);
        }
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
        let then = self.clock.now().saturating_sub(ago);
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
                    let at = self.clock.now();
                    self.violations.push(format!("{at:?}: {namespace}/{name} lost its server {server}: {why}"));
                    return;
                }
            }
        }
        self.servers.remove(&server);
    }
}
