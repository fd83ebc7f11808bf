use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use mcm_migration_core::decide::{Known, NamespaceFacts};

use super::Resource;

/// Everything that is known of the cluster, one [`NamespaceFacts`] a namespace, and when each watch last gave a sign of life.
#[derive(Debug)]
pub struct World {
    max_age: Duration,
    known: RwLock<Inner>,
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
        Self { max_age, known: RwLock::default() }
    }

    /// Shows what is known of `namespace` now. Nothing is cloned; writers wait while `look` runs, so it must be quick.
    pub fn consult<R>(&self, namespace: &str, look: impl FnOnce(Known<'_>) -> R) -> R {
        // A writer that panicked left at worst one object out; its watch is then not renewed and turns stale.
        let inner = self.known.read().unwrap_or_else(PoisonError::into_inner);
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
        self.known.read().unwrap_or_else(PoisonError::into_inner).stale(self.max_age)
    }
}

impl Inner {
    fn stale(&self, max_age: Duration) -> Option<Resource> {
        let fresh = |sign: &Option<Instant>| sign.is_some_and(|at| at.elapsed() <= max_age);
        Resource::ALL.iter().zip(&self.last_sign).find(|(_, sign)| !fresh(sign)).map(|(resource, _)| *resource)
    }
}
