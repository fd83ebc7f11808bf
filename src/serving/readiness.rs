use std::fmt;
use std::sync::Arc;

type Check = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// The checks behind `/readyz`, each with a name. Fixed once the program serves.
#[derive(Clone, Default)]
pub struct Readiness {
    checks: Arc<Vec<(&'static str, Check)>>,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.checks.iter().map(|(name, _)| name)).finish()
    }
}

impl Readiness {
    /// Ready while none of these fails.
    #[must_use]
    pub fn new(checks: Vec<(&'static str, Check)>) -> Self {
        Self { checks: Arc::new(checks) }
    }

    /// One line for each check that fails; none when ready.
    pub(super) fn failing(&self) -> Vec<String> {
        let failed = |(name, check): &(&'static str, Check)| check().err().map(|why| format!("{name}: {why}"));
        self.checks.iter().filter_map(failed).collect()
    }
}
