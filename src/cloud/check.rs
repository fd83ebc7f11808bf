use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::Operation;

/// What is asked right before each try of a call is sent: when its turn in the queues has come, and again before it is tried again.
///
/// A queue can be longer than what was true before it, and a call that failed once is tried again seconds later.
#[derive(Clone)]
pub struct Check {
    of: Of,
    ask: Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>,
}

/// Which calls are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Writes,
    Lists,
}

impl Check {
    /// A check of writes, that lets one go or says why not.
    pub fn new(check: impl Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync + 'static) -> Self {
        Self { of: Of::Writes, ask: Arc::new(check) }
    }

    /// Is told when a LIST of a region's servers, network interfaces or volumes is sent, and holds up nothing.
    pub fn of_lists(told: impl Fn() + Send + Sync + 'static) -> Self {
        let ask = move || {
            told();
            std::future::ready(Ok(())).boxed()
        };
        Self { of: Of::Lists, ask: Arc::new(ask) }
    }

    /// Asks it.
    ///
    /// # Errors
    /// Why the call may not be sent any more.
    pub async fn ask(&self) -> Result<(), String> {
        (self.ask)().await
    }

    /// Whether it is asked before such a call.
    pub(super) fn is_for(&self, operation: Operation, is_write: bool) -> bool {
        match self.of {
            Of::Writes => is_write,
            Of::Lists => operation.is_list_of_region(),
        }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Check({:?})", self.of)
    }
}
