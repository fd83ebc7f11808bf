use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

/// What is asked right before each try of a write is sent: when its turn in the queues has come, and again before it is tried again.
///
/// A queue can be longer than what was true before it, and a write that was refused once is tried again seconds later.
#[derive(Clone)]
pub struct Check(Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>);

impl Check {
    /// A check that lets the write go, or says why not.
    pub fn new(check: impl Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Asks it.
    ///
    /// # Errors
    /// Why the write may not be sent any more.
    pub async fn ask(&self) -> Result<(), String> {
        (self.0)().await
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Check")
    }
}
