use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::world::World;

/// How fresh what is known is, read off the world whenever the metrics are asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct WorldMetrics {
    age: Family<ResourceLabels, Gauge<f64, AtomicU64>>,
    stale: Family<ResourceLabels, Gauge>,
    legacy: Gauge,
    namespaces: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabels {
    resource: &'static str,
}

impl WorldMetrics {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register_with_unit(
            "cache_age",
            "Since the watch's last sign of life; -1 while it has not been filled",
            Unit::Seconds,
            metrics.age.clone(),
        );
        registry.register("cache_stale", "Whether the watch closes the gate: 1 or 0", metrics.stale.clone());
        registry.register(
            "legacy_machines",
            "Machines whose provider ID begins with openstack:",
            metrics.legacy.clone(),
        );
        registry.register("namespaces", "Namespaces of which something is known", metrics.namespaces.clone());
        metrics
    }

    pub(super) fn refresh(&self, world: &World) {
        let max_age = world.max_age();
        for (resource, age) in world.ages() {
            let labels = ResourceLabels { resource: resource.plural() };
            self.age.get_or_create(&labels).set(age.map_or(-1.0, |age| age.as_secs_f64()));
            self.stale.get_or_create(&labels).set(i64::from(age.is_none_or(|age| age > max_age)));
        }
        let (legacy, namespaces) = world.count();
        self.legacy.set(i64::try_from(legacy).unwrap_or(i64::MAX));
        self.namespaces.set(i64::try_from(namespaces).unwrap_or(i64::MAX));
    }
}
