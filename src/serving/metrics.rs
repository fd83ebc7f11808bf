use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

/// What the listeners count.
#[derive(Debug, Clone, Default)]
pub struct ServingMetrics {
    not_after: Family<CertificateLabels, Gauge>,
    reload_failures: Counter,
    handshake_failures: Counter,
    deadline_exceeded: Counter,
    connections: Gauge<u64, AtomicU64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CertificateLabels {
    certificate: &'static str,
}

impl ServingMetrics {
    /// Makes them known to `registry`.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register_with_unit(
            "certificate_not_after",
            "When the certificate ends, since the epoch",
            Unit::Seconds,
            metrics.not_after.clone(),
        );
        registry.register(
            "certificate_reload_failures",
            "Certificates that could not be taken up; the last good one is kept",
            metrics.reload_failures.clone(),
        );
        registry.register(
            "tls_handshake_failures",
            "Connections that ended in the handshake, probes included",
            metrics.handshake_failures.clone(),
        );
        registry.register(
            "admission_deadline_exceeded",
            "Calls whose body or answer took longer than the deadline",
            metrics.deadline_exceeded.clone(),
        );
        registry.register("admission_connections", "Open admission connections", metrics.connections.clone());
        metrics
    }

    pub(super) fn leaf_ends(&self, at: i64) {
        self.not_after.get_or_create(&CertificateLabels { certificate: "leaf" }).set(at);
    }

    pub(super) fn ca_ends(&self, at: i64) {
        self.not_after.get_or_create(&CertificateLabels { certificate: "ca" }).set(at);
    }

    pub(super) fn reload_failed(&self) {
        self.reload_failures.inc();
    }

    pub(super) fn handshake_failed(&self) {
        self.handshake_failures.inc();
    }

    pub(super) fn deadline_passed(&self) {
        self.deadline_exceeded.inc();
    }

    /// Counts a connection for as long as the guard lives.
    pub(super) fn connected(&self) -> Connected {
        self.connections.inc();
        Connected(self.connections.clone())
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connected(Gauge<u64, AtomicU64>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.dec();
    }
}
