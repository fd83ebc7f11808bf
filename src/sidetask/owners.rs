use std::future::Future;

use mcm_migration_core::decide::Because;

/// A second word on whose a shoot is, from outside the seed: with the gardenlet cut off, everything inside it is old.
pub trait Owners: Clone + Send + Sync + 'static {
    /// Whether this seed owns the shoot of a namespace. What cannot be found out is a no.
    fn owns(&self, namespace: &str) -> impl Future<Output = Result<(), Because>> + Send;
}

/// Nobody is asked.
#[derive(Debug, Clone, Copy)]
pub struct NoOwnerRecord;

impl Owners for NoOwnerRecord {
    async fn owns(&self, _: &str) -> Result<(), Because> {
        Ok(())
    }
}
