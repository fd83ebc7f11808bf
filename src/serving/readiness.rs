//! Whether calls should be sent here.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Named checks that all have to hold, and the flag that the process is stopping.
#[derive(Default)]
pub struct Readiness {
    checks: Vec<(&'static str, Check)>,
    stopping: Arc<AtomicBool>,
}

impl Readiness {
    /// Adds a check, which says in its error what is not so yet, for how long, and for which object. It must not block.
    #[must_use]
    pub fn with(mut self, name: &'static str, check: impl Fn() -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.checks.push((name, Box::new(check)));
        self
    }

    /// One line for each check that fails: `caches: machineclasses has been silent for 161 s`. Empty: ready.
    #[must_use]
    pub fn failing(&self) -> Vec<String> {
        let stopping = self.stopping.load(Ordering::Acquire).then(|| "stopping: no new calls are wanted".to_owned());
        let failing = |(name, check): &(&str, Check)| check().err().map(|reason| format!("{name}: {reason}"));
        stopping.into_iter().chain(self.checks.iter().filter_map(failing)).collect()
    }

    /// The switch that makes it unready for good.
    pub(super) fn stopping(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stopping)
    }
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.checks.iter().map(|(name, _)| name).collect();
        f.debug_struct("Readiness").field("checks", &names).field("stopping", &self.stopping).finish()
    }
}
