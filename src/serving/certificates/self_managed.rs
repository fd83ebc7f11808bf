use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::rotation::{Lifetimes, Published, StepError, Wanted, next_step, take};
use super::{CertificateStore, SharedTls, Shelf, ShelfError, WebhookBundles};
use crate::serving::{ServingMetrics, UnixTime};

/// How often a round begins anew because another replica was quicker.
const ATTEMPTS: u32 = 16;

/// What to manage, and how often to look.
#[derive(Debug, Clone)]
pub struct SelfManagedConfig {
    /// The Service that stands in front of the replicas: the certificate is for `<service>.<namespace>.svc`.
    pub service: String,
    /// Its namespace.
    pub namespace: String,
    /// Further DNS names and IP addresses.
    pub extra_names: Vec<String>,
    /// How long things are valid.
    pub lifetimes: Lifetimes,
    /// How often Secret and webhook configurations are read.
    pub interval: Duration,
}

/// Why a round came to no end.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    /// Secret or configurations.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
    /// A certificate.
    #[error(transparent)]
    Step(#[from] StepError),
    /// Every attempt met a newer write.
    #[error(
        "another writer was quicker {ATTEMPTS} times; do two programs share the Secret or the webhook configurations?"
    )]
    Contended,
}

/// A CA and a certificate of our own, shared by all replicas.
#[derive(Debug)]
pub struct SelfManaged<S> {
    shelf: S,
    wanted: Wanted,
    interval: Duration,
    /// What was last read or written. It stands in for a Secret that somebody deletes, so that a deletion costs no call; for new
    /// keys, scale to zero first.
    known: SharedTls,
    store: Arc<CertificateStore>,
}

impl SelfManagedConfig {
    fn wanted(&self) -> Wanted {
        let Self { service, namespace, extra_names, lifetimes, interval: _ } = self;
        let names = [format!("{service}.{namespace}.svc"), format!("{service}.{namespace}.svc.cluster.local")];
        let names: BTreeSet<_> = names.into_iter().chain(extra_names.iter().cloned()).collect();
        Wanted { names, lifetimes: *lifetimes }
    }
}

impl<S: Shelf> SelfManaged<S> {
    /// Reads or makes what all replicas share, publishes it, and puts it into a store.
    ///
    /// # Errors
    /// [`RotationError`]: at the start there is nothing else to serve with.
    pub async fn start(
        shelf: S,
        config: &SelfManagedConfig,
        metrics: ServingMetrics,
    ) -> Result<(Self, Arc<CertificateStore>), RotationError> {
        let wanted = config.wanted();
        let Round { state: known, published } = round(&shelf, &wanted, None, UnixTime::now).await?;
        if let Err(error) = published {
            tracing::warn!(%error, "the caBundle is not written yet");
        }
        let store = CertificateStore::new(known.pair().clone(), metrics);
        let managed = Self { shelf, wanted, interval: config.interval, known, store: Arc::clone(&store) };
        Ok((managed, store))
    }

    /// Keeps Secret, webhook configurations and store right, for ever.
    pub async fn run(mut self) -> Infallible {
        let mut ticks = interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut complaint = None;
        loop {
            ticks.tick().await;
            let round = round(&self.shelf, &self.wanted, Some(&self.known), UnixTime::now).await;
            let outcome = match round {
                Ok(Round { state, published }) => {
                    if state.leaf.issued.certificate != self.known.leaf.issued.certificate {
                        tracing::info!(not_after = %state.pair().not_after(), "serving with a new certificate");
                        self.store.replace(state.pair().clone());
                    }
                    self.known = state;
                    published.map_err(RotationError::from)
                }
                Err(error) => Err(error),
            };
            let error = outcome.err().map(|error| error.to_string());
            if error != complaint {
                if let Some(error) = &error {
                    self.store.count_failure();
                    tracing::warn!(error, "the shared certificates cannot be looked after; trying again");
                } else {
                    tracing::info!("the shared certificates are looked after again");
                }
                complaint = error;
            }
        }
    }
}

/// How a round ended.
#[derive(Debug)]
pub struct Round {
    /// What all replicas share now.
    pub state: SharedTls,
    /// Whether its bundle is in every webhook configuration that exists.
    pub published: Result<(), ShelfError>,
}

/// Takes all steps that are to be taken, publishes the bundle, and returns what is then shared. `known` stands in for a Secret that
/// is gone.
///
/// The configurations are read *before* the Secret: one whose version is still the same when it is written had not got the bundle of
/// a newer Secret when the Secret was read, so an older bundle never replaces a newer one.
///
/// # Errors
/// [`RotationError`].
pub async fn round<S: Shelf>(
    shelf: &S,
    wanted: &Wanted,
    known: Option<&SharedTls>,
    now: impl Fn() -> UnixTime,
) -> Result<Round, RotationError> {
    for _ in 0..ATTEMPTS {
        let configurations = shelf.configurations().await;
        let stored = shelf.read().await?;
        let lost = stored.state.is_none() && known.is_some();
        let state = stored.state.or_else(|| known.cloned());
        let published = match (&configurations, &state) {
            (Err(_), _) => Published::Unknown,
            (Ok(found), Some(state)) if found.iter().all(|one| one.holds(&state.bundle())) => Published::Everywhere,
            (Ok(_), _) => Published::NotEverywhere,
        };
        let now = now();
        let next = match (next_step(state.as_ref(), wanted, published, now), state) {
            (Some(step), state) => {
                tracing::info!(?step, "changing the shared certificates");
                take(step, state, wanted, now)?
            }
            (None, Some(state)) if lost => {
                tracing::warn!("the Secret with the shared certificates is gone; writing it again");
                state
            }
            (None, Some(state)) => {
                let published = match configurations {
                    Ok(configurations) => publish(shelf, &configurations, &state.bundle()).await,
                    Err(error) => Err(error),
                };
                if matches!(published, Err(ShelfError::Conflict(_))) {
                    continue;
                }
                return Ok(Round { state, published });
            }
            // Without a state there is always a step.
            (None, None) => continue,
        };
        match shelf.write(&next, stored.version).await {
            Ok(()) | Err(ShelfError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(RotationError::Contended)
}

async fn publish<S: Shelf>(shelf: &S, configurations: &[WebhookBundles], bundle: &str) -> Result<(), ShelfError> {
    for configuration in configurations.iter().filter(|one| !one.holds(bundle)) {
        tracing::info!(configuration = configuration.configuration, "writing the caBundle");
        shelf.publish(configuration, bundle).await?;
    }
    Ok(())
}

impl WebhookBundles {
    fn holds(&self, bundle: &str) -> bool {
        self.bundles.values().all(|published| published == bundle)
    }
}
