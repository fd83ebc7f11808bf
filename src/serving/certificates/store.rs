use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::{PairError, ServingPair};
use crate::serving::{ServingMetrics, UnixTime};

/// The pair that new connections are served with. Open connections keep the one they began with.
#[derive(Debug)]
pub struct CertificateStore {
    current: ArcSwap<ServingPair>,
    metrics: ServingMetrics,
}

impl CertificateStore {
    /// A store that begins with `pair`.
    #[must_use]
    pub fn new(pair: ServingPair, metrics: ServingMetrics) -> Arc<Self> {
        let store = Self { current: ArcSwap::from_pointee(pair.clone()), metrics };
        store.replace(pair);
        Arc::new(store)
    }

    /// Serves `pair` from now on.
    pub fn replace(&self, pair: ServingPair) {
        self.metrics.leaf_ends(pair.validity.not_after);
        if let Some(end) = pair.authority_not_after {
            self.metrics.authority_ends(end);
        }
        self.current.store(Arc::new(pair));
    }

    /// Whether clients accept what is served at `now`.
    ///
    /// # Errors
    /// [`PairError::Expired`].
    pub fn check(&self, now: UnixTime) -> Result<(), PairError> {
        self.current.load().check(now)
    }

    /// Counts a pair that was found and not taken, or a renewal that failed.
    pub(super) fn count_failure(&self) {
        self.metrics.reload_failed();
    }
}

impl ResolvesServerCert for CertificateStore {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.load().certified))
    }
}
