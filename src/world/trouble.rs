use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use backon::BackoffBuilder;

use super::{Resource, WorldError};

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(15);

/// A resource that cannot be followed: waits longer each time, and speaks only when the trouble begins, changes or is over.
#[derive(Debug)]
pub(super) struct Trouble {
    resource: Resource,
    /// What was said last.
    said: Option<(Discriminant<WorldError>, u16)>,
    waits: Option<backon::ExponentialBackoff>,
}

impl Trouble {
    pub(super) fn new(resource: Resource) -> Self {
        Self { resource, said: None, waits: None }
    }

    /// Says it, unless it was said already.
    pub(super) fn say(&mut self, error: &WorldError) {
        let now = Some((discriminant(error), error.code()));
        if self.said != now {
            tracing::warn!(resource = %self.resource, %error, "cannot follow a resource of the cluster");
            self.said = now;
        }
    }

    /// Waits before the next try.
    pub(super) async fn wait(&mut self) {
        let waits = self.waits.get_or_insert_with(|| {
            let builder = backon::ExponentialBuilder::new().with_min_delay(FIRST).with_max_delay(LONGEST);
            builder.with_jitter().without_max_times().build()
        });
        tokio::time::sleep(waits.next().unwrap_or(LONGEST).min(LONGEST)).await;
    }

    /// A sign of life came in.
    pub(super) fn over(&mut self) {
        if self.said.take().is_some() {
            tracing::info!(resource = %self.resource, "following the resource again");
        }
    }

    /// A watch went on for long enough: the next failure is a new one.
    pub(super) fn reset(&mut self) {
        self.waits = None;
    }
}
