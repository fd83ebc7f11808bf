use std::future::Future;
use std::sync::Arc;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::Reason;

use super::owner_record::{OwnerRecordError, OwnerRecords, ShootNames, TxtResolver};

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

/// The owner record is asked, where it is turned on.
pub struct MaybeOwnerRecord<R>(pub Option<Arc<OwnerRecords<R>>>);

impl<R> Clone for MaybeOwnerRecord<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: TxtResolver + 'static> Owners for MaybeOwnerRecord<R> {
    async fn owns(&self, namespace: &str) -> Result<(), Because> {
        let Some(records) = &self.0 else { return Ok(()) };
        let shoot = ShootNames::of_namespace(namespace)
            .ok_or_else(|| Because::about(Reason::OwnerRecordUnknown, "the namespace is no technical ID of a shoot"))?;
        records.owns(shoot).await.map_err(|error| {
            let reason = match error {
                OwnerRecordError::Foreign { .. } => Reason::OwnerRecordForeign,
                OwnerRecordError::Unknown { .. } => Reason::OwnerRecordUnknown,
            };
            Because::about(reason, error.to_string())
        })
    }
}
