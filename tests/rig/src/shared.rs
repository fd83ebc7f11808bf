//! What the tests of a file share, for as long as one of them runs.

use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

/// Something that the first test makes and the last one drops; in a `static`. (What stands in a `static` itself is never
/// dropped, and an API server that nobody uses still costs a few per cent of a core.)
#[derive(Debug)]
pub struct Shared<T>(Mutex<Weak<T>>);

impl<T> Shared<T> {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::const_new(Weak::new()))
    }

    /// What another test has at this moment, or what `make` makes.
    pub async fn get(&self, make: impl AsyncFnOnce() -> T) -> Arc<T> {
        let mut present = self.0.lock().await;
        if let Some(there) = present.upgrade() {
            return there;
        }
        let value = Arc::new(make().await);
        *present = Arc::downgrade(&value);
        value
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Shared;

    #[tokio::test]
    async fn it_is_made_once_while_somebody_has_it_and_anew_afterwards() {
        let shared = Shared::new();
        let first = shared.get(async || 1).await;
        let second = shared.get(async || 2).await;
        assert!(Arc::ptr_eq(&first, &second));
        drop((first, second));
        assert_eq!(*shared.get(async || 3).await, 3);
    }
}
