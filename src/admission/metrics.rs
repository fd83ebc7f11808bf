use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::Record;

/// Counters of the admission path. Labels hold words of ours only, no name of an object.
#[derive(Debug, Clone)]
pub struct AdmissionMetrics {
    decisions: Family<DecisionLabels, Counter>,
    refused: Family<RefusedLabels, Counter>,
    duration: Family<PathLabels, Histogram, fn() -> Histogram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    resource: &'static str,
    operation: &'static str,
    decision: &'static str,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusedLabels {
    why: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PathLabels {
    resource: &'static str,
}

/// From 10 µs to 82 ms: a small object takes 10 µs, one of 3 MiB some milliseconds.
fn buckets() -> Histogram {
    Histogram::new(prometheus_client::metrics::histogram::exponential_buckets(10e-6, 2.0, 14))
}

impl AdmissionMetrics {
    /// Makes them known to `registry`.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            decisions: Family::default(),
            refused: Family::default(),
            duration: Family::new_with_constructor(buckets),
        };
        registry.register(
            "admission_decisions",
            "Admission requests by resource, operation, decision and reason",
            metrics.decisions.clone(),
        );
        registry.register(
            "admission_unreadable_requests",
            "Requests that are no admission review and got a 4xx, by cause",
            metrics.refused.clone(),
        );
        registry.register_with_unit(
            "admission_duration",
            "From the complete body to the decision",
            Unit::Seconds,
            metrics.duration.clone(),
        );
        metrics
    }

    pub(super) fn decided(&self, record: &Record<'_>) {
        let resource = record.resource;
        self.decisions
            .get_or_create(&DecisionLabels {
                resource,
                operation: record.request.operation.name(),
                decision: record.decided.outcome(),
                reason: record.decided.because().reason.name(),
            })
            .inc();
        self.duration.get_or_create(&PathLabels { resource }).observe(Duration::as_secs_f64(&record.took));
    }

    pub(super) fn refused(&self, why: &'static str) {
        self.refused.get_or_create(&RefusedLabels { why }).inc();
    }
}
