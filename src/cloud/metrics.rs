//! What this room counts.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::Operation;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    operation: &'static str,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct What {
    operation: &'static str,
}

/// Requests to STACKIT. Clones count together; one that is not registered counts for nobody.
#[derive(Debug, Clone)]
pub struct CloudMetrics {
    requests: Family<Outcome, Counter>,
    durations: Family<What, Histogram, fn() -> Histogram>,
}

impl Default for CloudMetrics {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            durations: Family::new_with_constructor(|| {
                Histogram::new([0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0])
            }),
        }
    }
}

impl CloudMetrics {
    /// Metrics that `registry` shows.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        let Self { requests, durations } = metrics.clone();
        registry.register(
            "cloud_requests",
            "Requests to STACKIT, each try of a call, by what they do and HTTP status; 0: no answer",
            requests,
        );
        registry.register_with_unit(
            "cloud_request_duration",
            "How long a request to STACKIT took, its answer included",
            Unit::Seconds,
            durations,
        );
        metrics
    }

    /// Counts one try; `code` is 0 when no answer came.
    pub(super) fn tried(&self, operation: Operation, code: u16, took: Duration) {
        let operation = operation.name();
        self.requests.get_or_create(&Outcome { operation, code }).inc();
        self.durations.get_or_create(&What { operation }).observe(took.as_secs_f64());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn tries_are_shown_by_operation_and_code() {
        let mut registry = Registry::default();
        CloudMetrics::register(&mut registry).tried(Operation::ListServers, 503, Duration::from_millis(70));
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.contains(r#"cloud_requests_total{operation="list-servers",code="503"} 1"#), "{text}");
        assert!(
            text.contains(r#"cloud_request_duration_seconds_bucket{le="0.1",operation="list-servers"} 1"#),
            "{text}"
        );
    }
}
