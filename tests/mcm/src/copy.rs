//! The stand-in's own copy of what the API server holds, as old as it happens to be.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use crate::model::{Class, Machine};

/// Objects of one kind by their names.
#[derive(Debug)]
pub(crate) struct Store<T> {
    objects: Mutex<BTreeMap<String, T>>,
    synced: watch::Sender<bool>,
    /// Something is another than before.
    pub(crate) changed: Notify,
    /// An object went away.
    pub(crate) deleted: Notify,
}

impl<T: Clone> Store<T> {
    fn new() -> Self {
        Self {
            objects: Mutex::new(BTreeMap::new()),
            synced: watch::channel(false).0,
            changed: Notify::new(),
            deleted: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, T>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, name: &str) -> Option<T> {
        self.lock().get(name).cloned()
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn set(&self, name: String, object: T) {
        self.lock().insert(name, object);
        self.changed.notify_one();
    }

    pub(crate) fn remove(&self, name: &str) {
        if self.lock().remove(name).is_some() {
            self.deleted.notify_one();
        }
        self.changed.notify_one();
    }

    /// What a LIST gave.
    pub(crate) fn replace(&self, objects: BTreeMap<String, T>) {
        let before = std::mem::replace(&mut *self.lock(), objects);
        if before.keys().any(|name| self.get(name).is_none()) {
            self.deleted.notify_one();
        }
        self.synced.send_replace(true);
        self.changed.notify_one();
    }

    /// Returns once there was a LIST.
    pub(crate) async fn synced(&self) {
        // The sender lives as long as `self`.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }
}

/// The copy of one life of the process.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) machines: Store<Machine>,
    pub(crate) classes: Store<Class>,
}

impl Copy {
    pub(crate) fn new() -> Self {
        Self { machines: Store::new(), classes: Store::new() }
    }
}
