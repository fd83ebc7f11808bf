//! The look-ups of many shoots: each answer kept for the interval, one look-up a name at a time, so many a second.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::sync::Mutex;

use super::verdict::verdict;
use super::{NameTemplate, OwnerConfigError, OwnerRecordError, ShootNames};

/// The longest that one look-up may take once it is its turn.
const DEADLINE: Duration = Duration::from_secs(5);

/// Why a look-up gave no values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LookupError(pub String);

/// Whoever can look up TXT records.
pub trait TxtResolver: Send + Sync {
    /// The values of the TXT records of `name`, a full name; not from a cache of its own.
    fn values(&self, name: &str) -> impl Future<Output = Result<Vec<String>, LookupError>> + Send;
}

type Slot = Arc<Mutex<Option<Answer>>>;

struct Answer {
    /// Before it was asked for.
    at: Instant,
    verdict: Result<(), OwnerRecordError>,
}

/// Says which shoots an owner owns, by their owner records.
pub struct OwnerRecords<R> {
    template: NameTemplate,
    owner: String,
    interval: Duration,
    resolver: R,
    limiter: DefaultDirectRateLimiter,
    clock: Box<dyn Fn() -> Instant + Send + Sync>,
    slots: std::sync::Mutex<HashMap<String, Slot>>,
}

impl<R: TxtResolver> OwnerRecords<R> {
    /// For how long an answer is kept unless something else is said.
    pub const INTERVAL: Duration = Duration::from_secs(30);

    /// Records by `template` that have to say `owner`; an answer holds for `interval`, whatever its TTL, and `rate`
    /// look-ups are made a second.
    ///
    /// # Errors
    /// [`OwnerConfigError`] for an empty owner or an interval that is too short or too long.
    pub fn new(
        template: NameTemplate,
        owner: impl Into<String>,
        interval: Duration,
        rate: NonZeroU32,
        resolver: R,
    ) -> Result<Self, OwnerConfigError> {
        let owner = owner.into();
        if owner.is_empty() {
            return Err(OwnerConfigError::NoOwner);
        }
        if interval < Duration::from_secs(1) || interval > Duration::from_secs(600) {
            return Err(OwnerConfigError::Interval(interval));
        }
        let limiter = RateLimiter::direct(Quota::per_second(rate));
        let slots = std::sync::Mutex::default();
        Ok(Self { template, owner, interval, resolver, limiter, clock: Box::new(Instant::now), slots })
    }

    /// The same by another monotonic clock.
    #[must_use]
    pub fn with_clock(self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self { clock: Box::new(clock), ..self }
    }

    /// Whether the owner owns the shoot, from an answer no older than the interval. Failures are kept as long: who asks
    /// again and again gets no more look-ups than who asks once. Waits for its turn as long as the rate demands.
    ///
    /// # Errors
    /// [`OwnerRecordError`] in every case in which the record does not clearly say so.
    pub async fn owns(&self, shoot: ShootNames<'_>) -> Result<(), OwnerRecordError> {
        let name = self.template.fill(shoot)?;
        let slot = self.slot(&name);
        // Whoever asks meanwhile waits here for the same look-up. If the asker is cancelled, the next one asks anew.
        let mut slot = slot.lock().await;
        if let Some(answer) = slot.as_ref().filter(|answer| self.is_fresh(answer)) {
            return answer.verdict.clone();
        }
        // No deadline for this: a turn that did not come must not count as an answer for a whole interval.
        self.limiter.until_ready().await;
        let at = (self.clock)();
        let verdict = self.ask(&name).await;
        *slot = Some(Answer { at, verdict: verdict.clone() });
        verdict
    }

    async fn ask(&self, name: &str) -> Result<(), OwnerRecordError> {
        let unknown = |why| OwnerRecordError::Unknown { name: name.to_owned(), why };
        match tokio::time::timeout(DEADLINE, self.resolver.values(name)).await {
            Ok(Ok(values)) => verdict(name, &self.owner, &values),
            Ok(Err(LookupError(why))) => Err(unknown(why)),
            Err(_) => Err(unknown(format!("no answer within {DEADLINE:?}"))),
        }
    }

    fn slot(&self, name: &str) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get(name) {
            return Arc::clone(slot);
        }
        // Shoots go; their answers go as soon as they are too old. A slot that is locked is in use.
        slots.retain(|_, slot| {
            Arc::strong_count(slot) > 1
                || slot.try_lock().is_ok_and(|slot| slot.as_ref().is_some_and(|answer| self.is_fresh(answer)))
        });
        Arc::clone(slots.entry(name.to_owned()).or_default())
    }

    fn is_fresh(&self, answer: &Answer) -> bool {
        (self.clock)().saturating_duration_since(answer.at) < self.interval
    }
}

#[cfg(test)]
mod tests;
