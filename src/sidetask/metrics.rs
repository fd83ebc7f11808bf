use std::collections::BTreeMap;

use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::Phase;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Counters of the side task. Labels hold words of ours only, no name of an object.
#[derive(Debug, Clone, Default)]
pub struct SideTaskMetrics {
    steps: Family<StepLabels, Counter>,
    passes: Family<PassLabels, Counter>,
    waiting: Family<WaitingLabels, Gauge>,
    shoots: Family<PhaseLabels, Gauge>,
    exceptions: Family<WaitingLabels, Gauge>,
    leads: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StepLabels {
    step: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PassLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WaitingLabels {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PhaseLabels {
    phase: &'static str,
}

/// What one shoot adds to the gauges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Standing {
    pub(super) waiting: BTreeMap<Reason, i64>,
    pub(super) phase: Option<Phase>,
    /// Machines with the annotation `exception`, by a word of ours.
    pub(super) exceptions: BTreeMap<&'static str, i64>,
}

impl SideTaskMetrics {
    /// Makes them known to `registry`.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "sidetask_steps",
            "Steps that were carried out, by step and outcome: done, failed, void (no longer needed), dry-run",
            metrics.steps.clone(),
        );
        registry.register("sidetask_passes", "Passes over shoots, by outcome", metrics.passes.clone());
        registry.register(
            "sidetask_waiting",
            "Machines, classes and shoots that wait, by reason",
            metrics.waiting.clone(),
        );
        registry.register("sidetask_shoots", "Shoots with a MachineMigration, by phase", metrics.shoots.clone());
        registry.register(
            "sidetask_exceptions",
            "Machines that are excepted, by the side task's reason; other: by somebody else",
            metrics.exceptions.clone(),
        );
        registry.register("sidetask_leads", "Whether this replica runs the side task: 1 or 0", metrics.leads.clone());
        metrics
    }

    pub(super) fn step(&self, step: &'static str, outcome: &'static str) {
        self.steps.get_or_create(&StepLabels { step, outcome }).inc();
    }

    pub(super) fn pass(&self, outcome: &'static str) {
        self.passes.get_or_create(&PassLabels { outcome }).inc();
    }

    pub(super) fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }

    /// A shoot stands otherwise now.
    pub(super) fn moved(&self, before: &Standing, after: &Standing) {
        for (standing, sign) in [(before, -1), (after, 1)] {
            for (reason, count) in &standing.waiting {
                self.waiting.get_or_create(&WaitingLabels { reason: reason.name() }).inc_by(sign * count);
            }
            for (reason, count) in &standing.exceptions {
                self.exceptions.get_or_create(&WaitingLabels { reason }).inc_by(sign * count);
            }
            if let Some(phase) = standing.phase {
                self.shoots.get_or_create(&PhaseLabels { phase: phase_name(phase) }).inc_by(sign);
            }
        }
    }
}

fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "pending",
        Phase::Guarded => "guarded",
        Phase::Armed => "armed",
        Phase::Rewritten => "rewritten",
        Phase::Labelled => "labelled",
        Phase::Complete => "complete",
        Phase::RollingBack => "rolling-back",
    }
}
