//! What this room counts.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::UnixTime;

/// What every metric's name begins with; a registry of this prefix is what the rooms register in.
pub const PREFIX: &str = "mcm_migration_webhook";

/// A label that says why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    reason: &'static str,
}

/// A label that says which certificate.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Which {
    certificate: &'static str,
}

/// Counters and gauges of the listeners and certificates. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct ServingMetrics {
    connections: Gauge,
    handshake_failures: Counter,
    refused: Family<Why, Counter>,
    not_after: Family<Which, Gauge>,
    reload_failures: Counter,
}

impl ServingMetrics {
    /// Metrics that `registry` shows.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let Self { connections, handshake_failures, refused, not_after, reload_failures } = metrics.clone();
        registry.register("admission_connections", "Open connections of the admission listener", connections);
        registry.register(
            "tls_handshake_failures",
            "TLS handshakes that failed or took too long; a connection closed without a word is none",
            handshake_failures,
        );
        registry.register("admission_refused", "Calls that a limit of the listener ended, by reason", refused);
        registry.register_with_unit(
            "certificate_not_after",
            "When the serving certificate (leaf) and its CA end, since the epoch",
            Unit::Seconds,
            not_after,
        );
        registry.register(
            "certificate_reload_failures",
            "Certificates that could not be taken up or renewed; the last good one is kept",
            reload_failures,
        );
        metrics
    }

    pub(super) fn refuse(&self, reason: &'static str) {
        self.refused.get_or_create(&Why { reason }).inc();
    }

    pub(super) fn leaf_ends(&self, at: UnixTime) {
        self.not_after.get_or_create(&Which { certificate: "leaf" }).set(at.0);
    }

    pub(super) fn authority_ends(&self, at: UnixTime) {
        self.not_after.get_or_create(&Which { certificate: "ca" }).set(at.0);
    }

    pub(super) fn reload_failed(&self) {
        self.reload_failures.inc();
    }

    pub(super) fn handshake_failed(&self) {
        self.handshake_failures.inc();
    }

    /// Counts a connection for as long as the guard lives.
    pub(super) fn connected(&self) -> Connected {
        self.connections.inc();
        Connected(self.connections.clone())
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Connected(Gauge);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.dec();
    }
}
