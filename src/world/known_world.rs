use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use mcm_migration_core::decide::{Known, NamespaceFacts};
use tokio::sync::watch;

use super::fact::{forget, swap};
use super::{Fact, Resource};

/// Everything that is known of the cluster, one [`NamespaceFacts`] a namespace, and when each watch last gave a sign of life.
#[derive(Debug)]
pub struct World {
    max_age: Duration,
    known: RwLock<Inner>,
    filled: watch::Sender<bool>,
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
        Self { max_age, known: RwLock::default(), filled: watch::Sender::new(false) }
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

    /// How long ago the watch of each resource gave its last sign of life; none before its first list is complete.
    #[must_use]
    pub fn ages(&self) -> Vec<(Resource, Option<Duration>)> {
        let inner = self.read();
        let age = |resource: Resource| inner.last_sign[resource.index()].map(|at| at.elapsed());
        Resource::ALL.into_iter().map(|resource| (resource, age(resource))).collect()
    }

    /// How many Machines with a legacy ID there are in all namespaces, and how many namespaces are known.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let inner = self.read();
        let legacy = |facts: &NamespaceFacts| facts.machines.values().filter(|machine| machine.is_legacy()).count();
        (inner.namespaces.values().map(legacy).sum(), inner.namespaces.len())
    }

    /// The namespaces that have a Worker, in order. Also when what is known is too old: none is forgotten for that.
    #[must_use]
    pub fn shoots(&self) -> Vec<Box<str>> {
        let inner = self.read();
        let with_worker = inner.namespaces.iter().filter(|(_, facts)| !facts.workers.is_empty());
        let mut namespaces: Vec<Box<str>> = with_worker.map(|(namespace, _)| namespace.clone()).collect();
        drop(inner);
        namespaces.sort_unstable();
        namespaces
    }

    /// Whether every watch has been filled once. It may be stale by now.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        *self.filled.borrow()
    }

    /// Waits until every watch has been filled once.
    pub async fn filled(&self) {
        // The sender lives as long as the world that is borrowed here, so this ends with `true` only.
        drop(self.filled.subscribe().wait_for(|filled| *filled).await);
    }

    /// How old a sign of life may be.
    #[must_use]
    pub fn max_age(&self) -> Duration {
        self.max_age
    }

    /// Enters what one object says now. It is no sign of life by itself: see [`Self::sign_of_life`].
    pub(super) fn apply(&self, namespace: &str, name: Box<str>, fact: Fact) {
        let mut inner = self.write();
        match inner.namespaces.get_mut(namespace) {
            Some(facts) => fact.enter(facts, name),
            None => fact.enter(inner.namespaces.entry(namespace.into()).or_default(), name),
        }
        inner.forget_if_empty(namespace);
    }

    /// Forgets one object: it is gone.
    pub(super) fn remove(&self, resource: Resource, namespace: &str, name: &str) {
        let mut inner = self.write();
        if let Some(facts) = inner.namespaces.get_mut(namespace) {
            forget(facts, resource, name);
            inner.forget_if_empty(namespace);
        }
    }

    /// Enters a whole list of `resource`, as namespace, name and what the object says; what is not in it is gone. It shows the
    /// state of no earlier moment than `at`, which is a sign of life.
    pub(super) fn replace(
        &self,
        resource: Resource,
        objects: impl IntoIterator<Item = (Box<str>, Box<str>, Fact)>,
        at: Instant,
    ) {
        let mut listed: HashMap<Box<str>, NamespaceFacts> = HashMap::new();
        for (namespace, name, fact) in objects {
            fact.enter(listed.entry(namespace).or_default(), name);
        }
        let mut replaced = Vec::with_capacity(listed.len());
        let mut inner = self.write();
        inner.namespaces.retain(|namespace, facts| {
            let mut new = listed.remove(namespace).unwrap_or_default();
            swap(resource, facts, &mut new);
            replaced.push(new);
            !facts.is_empty()
        });
        inner.namespaces.extend(listed.into_iter().filter(|(_, facts)| !facts.is_empty()));
        let all = inner.sign_of_life(resource, at);
        // What was replaced can be large; nobody waits while it is thrown away.
        drop(inner);
        drop(replaced);
        self.fill(all);
    }

    /// The watch of `resource` showed at `at` that it is alive: an event, a bookmark, or a complete list.
    pub(super) fn sign_of_life(&self, resource: Resource, at: Instant) {
        let all = self.write().sign_of_life(resource, at);
        self.fill(all);
    }

    /// For how long a resource has been silent; none while it is not filled.
    pub(super) fn silent_for(&self, resource: Resource) -> Option<Duration> {
        self.read().last_sign[resource.index()].map(|at| at.elapsed())
    }

    fn fill(&self, all: bool) {
        if all {
            self.filled.send_if_modified(|filled| !std::mem::replace(filled, true));
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        // A writer that panicked left at worst one object out; its watch is then not renewed and turns stale.
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

    /// Whether every resource has given one now.
    fn sign_of_life(&mut self, resource: Resource, at: Instant) -> bool {
        let sign = &mut self.last_sign[resource.index()];
        *sign = (*sign).max(Some(at));
        self.last_sign.iter().all(Option::is_some)
    }

    fn forget_if_empty(&mut self, namespace: &str) {
        if self.namespaces.get(namespace).is_some_and(NamespaceFacts::is_empty) {
            self.namespaces.remove(namespace);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use mcm_migration_core::domain::Provider;

    const AGE: Duration = Duration::from_secs(60);

    fn class(namespace: &str, name: &str, provider: Provider) -> (Box<str>, Box<str>, Fact) {
        (namespace.into(), name.into(), Fact::Class(provider))
    }

    fn filled() -> World {
        let world = World::new(AGE);
        for resource in Resource::ALL {
            world.sign_of_life(resource, Instant::now());
        }
        world
    }

    fn classes(world: &World, namespace: &str) -> Vec<(String, Provider)> {
        world.consult(namespace, |known| match known {
            Known::Fresh(facts) => facts.classes.iter().map(|(name, provider)| (name.to_string(), *provider)).collect(),
            Known::Stale(resource) => panic!("{resource}"),
        })
    }

    fn namespaces(world: &World) -> usize {
        world.read().namespaces.len()
    }

    #[test]
    fn nothing_may_be_concluded_until_each_resource_is_filled() {
        let world = World::new(AGE);
        for (index, resource) in Resource::ALL.into_iter().enumerate() {
            assert!(!world.is_filled());
            assert_eq!(world.stale(), Some(Resource::ALL[index]));
            world.sign_of_life(resource, Instant::now());
        }
        assert!(world.is_filled());
        assert_eq!(world.stale(), None);
    }

    #[test]
    fn a_resource_without_a_sign_of_life_is_stale_and_stays_filled() {
        let world = World::new(Duration::ZERO);
        for resource in Resource::ALL {
            world.sign_of_life(resource, Instant::now());
        }
        assert_eq!(world.stale(), Some(Resource::Namespaces));
        assert!(world.is_filled());
        world.consult("a", |known| assert!(matches!(known, Known::Stale("namespaces"))));
        assert!(world.ages().iter().all(|(_, age)| age.is_some()));
    }

    #[test]
    fn an_older_sign_of_life_does_not_take_back_a_newer_one() {
        let world = filled();
        let Some(before) = Instant::now().checked_sub(AGE * 2) else { return };
        world.sign_of_life(Resource::Pods, before);
        assert_eq!(world.stale(), None);
    }

    #[test]
    fn a_list_replaces_its_resource_alone_and_nothing_of_others() {
        let world = filled();
        world.replace(
            Resource::MachineClasses,
            [
                class("a", "x", Provider::OpenStack),
                class("a", "y", Provider::Stackit),
                class("b", "x", Provider::Other),
            ],
            Instant::now(),
        );
        world.apply("b", "m".into(), Fact::MachineDeployment("x".into()));
        world.replace(
            Resource::MachineClasses,
            [class("a", "y", Provider::Stackit), class("c", "z", Provider::Stackit)],
            Instant::now(),
        );
        assert_eq!(classes(&world, "a"), [("y".to_owned(), Provider::Stackit)]);
        assert_eq!(classes(&world, "b"), []);
        assert_eq!(classes(&world, "c"), [("z".to_owned(), Provider::Stackit)]);
        world.consult("b", |known| {
            assert!(matches!(known, Known::Fresh(facts) if facts.machine_deployments.len() == 1));
        });
    }

    #[test]
    fn what_was_applied_last_counts_and_what_is_removed_is_gone() {
        let world = filled();
        world.apply("a", "x".into(), Fact::Class(Provider::OpenStack));
        world.apply("a", "x".into(), Fact::Class(Provider::Stackit));
        assert_eq!(classes(&world, "a"), [("x".to_owned(), Provider::Stackit)]);
        world.remove(Resource::MachineClasses, "a", "other");
        world.remove(Resource::Machines, "a", "x");
        assert_eq!(classes(&world, "a").len(), 1);
        world.remove(Resource::MachineClasses, "a", "x");
        assert_eq!(classes(&world, "a"), []);
    }

    #[test]
    fn namespaces_of_which_nothing_is_known_take_no_memory() {
        let world = filled();
        world.apply("a", "x".into(), Fact::Class(Provider::OpenStack));
        world.apply("b", "cloudprovider".into(), Fact::Project(None));
        world.replace(Resource::Secrets, [("c".into(), "cloudprovider".into(), Fact::Project(None))], Instant::now());
        assert_eq!(namespaces(&world), 1);
        world.remove(Resource::MachineClasses, "a", "x");
        assert_eq!(namespaces(&world), 0);
    }

    #[tokio::test]
    async fn start_up_can_wait_until_everything_is_filled() {
        let world = World::new(AGE);
        let fill = async {
            tokio::task::yield_now().await;
            for resource in Resource::ALL {
                world.sign_of_life(resource, Instant::now());
            }
        };
        tokio::time::timeout(AGE, futures::future::join(world.filled(), fill)).await.unwrap();
    }
}
