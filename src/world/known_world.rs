use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use mcm_migration_core::decide::{Known, NamespaceFacts};
use tokio::sync::Notify;

use super::reduce::Observation;
use super::{Resource, facts};

/// Everything that is known of the cluster, one [`NamespaceFacts`] a namespace, and when each watch last gave a sign of life.
#[derive(Debug)]
pub struct World {
    max_age: Duration,
    known: RwLock<Inner>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    namespaces: HashMap<Box<str>, NamespaceFacts>,
    /// By the place in [`Resource::ALL`]; none until the first list is complete.
    last_sign: [Option<Instant>; Resource::ALL.len()],
}

impl World {
    /// An empty world, of which nothing may be concluded until every watch is filled.
    ///
    /// A watch without a sign of life for `max_age` is stale.
    #[must_use]
    pub fn new(max_age: Duration) -> Self {
        Self { max_age, known: RwLock::default(), filled: Notify::new() }
    }

    /// For how long a watch may be silent.
    #[must_use]
    pub fn max_age(&self) -> Duration {
        self.max_age
    }

    /// Shows what is known of `namespace` now. Nothing is cloned; writers wait while `look` runs, so it must be quick.
    pub fn consult<R>(&self, namespace: &str, look: impl FnOnce(Known<'_>) -> R) -> R {
        let inner = self.read();
        if let Some(resource) = inner.stale(self.max_age) {
            return look(Known::Stale(resource.plural()));
        }
        match inner.namespaces.get(namespace) {
            Some(facts) => look(Known::Fresh(facts)),
            None => look(Known::Fresh(&NamespaceFacts::default())),
        }
    }

    /// The first resource whose watch is not filled or too old, if there is one.
    #[must_use]
    pub fn stale(&self) -> Option<Resource> {
        self.read().stale(self.max_age)
    }

    /// How long ago each watch gave a sign of life; none while it is not filled.
    #[must_use]
    pub fn ages(&self) -> Vec<(Resource, Option<Duration>)> {
        let inner = self.read();
        Resource::ALL.into_iter().zip(inner.last_sign.map(|sign| sign.map(|at| at.elapsed()))).collect()
    }

    /// Returns once every watch has been filled.
    pub async fn filled(&self) {
        loop {
            let news = self.filled.notified();
            if self.read().last_sign.iter().all(Option::is_some) {
                return;
            }
            news.await;
        }
    }

    /// How many Machines with a legacy ID there are in all namespaces, and how many namespaces are known.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let inner = self.read();
        let legacy = |facts: &NamespaceFacts| facts.machines.values().filter(|machine| machine.is_legacy()).count();
        (inner.namespaces.values().map(legacy).sum(), inner.namespaces.len())
    }

    /// An object was seen.
    pub(super) fn put(&self, Observation { namespace, name, fact }: Observation) {
        facts::put(self.write().namespaces.entry(namespace).or_default(), name, fact);
    }

    /// An object is gone.
    pub(super) fn remove(&self, resource: Resource, namespace: &str, name: &str) {
        let mut inner = self.write();
        let Some(known) = inner.namespaces.get_mut(namespace) else { return };
        facts::remove(known, resource, name);
        if known.is_empty() {
            inner.namespaces.remove(namespace);
        }
    }

    /// These are all objects of a resource; what is not among them is gone.
    pub(super) fn replace(&self, resource: Resource, observations: Vec<Observation>) {
        let mut inner = self.write();
        inner.namespaces.values_mut().for_each(|known| facts::clear(known, resource));
        for Observation { namespace, name, fact } in observations {
            facts::put(inner.namespaces.entry(namespace).or_default(), name, fact);
        }
        inner.namespaces.retain(|_, known| !known.is_empty());
    }

    /// The watch of a resource lives: an event, a bookmark or a complete list came in now.
    pub(super) fn sign_of_life(&self, resource: Resource) {
        if let Some(sign) = Resource::ALL
            .iter()
            .position(|known| *known == resource)
            .and_then(|place| self.write().last_sign.get_mut(place).map(|sign| sign.replace(Instant::now())))
            && sign.is_none()
        {
            self.filled.notify_waiters();
        }
    }

    /// For how long a resource has been silent; none while it is not filled.
    pub(super) fn silent_for(&self, resource: Resource) -> Option<Duration> {
        self.ages().into_iter().find(|(known, _)| *known == resource).and_then(|(_, age)| age)
    }

    // A writer that panicked left at worst one object out; its task is gone with it, and the process ends.
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn stale(&self, max_age: Duration) -> Option<Resource> {
        let fresh = |sign: &Option<Instant>| sign.is_some_and(|at| at.elapsed() <= max_age);
        Resource::ALL.iter().zip(&self.last_sign).find(|(_, sign)| !fresh(sign)).map(|(resource, _)| *resource)
    }
}
