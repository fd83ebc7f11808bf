use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an operator sees of one shoot's migration, and its emergency brake.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "mcm-migration.stackit.cloud",
    version = "v1alpha1",
    kind = "MachineMigration",
    namespaced,
    shortname = "mmig",
    status = "MachineMigrationStatus",
    validation = "self.metadata.name == 'openstack-to-stackit'"
)]
#[serde(rename_all = "camelCase")]
pub struct MachineMigrationSpec {
    /// Nothing is rewritten and the side task only reports; the guard stays as it is.
    #[serde(default)]
    pub paused: bool,
}

/// What is so now. Conditions decide; the phase is for display.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineMigrationStatus {
    /// How far the shoot is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// `Guarded`, `Armed`, `Rewritten`, `Labelled`, `Complete`, `Paused`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Machines of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machines: Option<MachineCounts>,
}

/// How far a shoot is, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Not guarded.
    Pending,
    /// The guard is closed.
    Guarded,
    /// Admission rewrites.
    Armed,
    /// No Machine has a legacy ID.
    Rewritten,
    /// Every server has its labels.
    Labelled,
    /// The Worker is marked.
    Complete,
    /// On the way back.
    RollingBack,
}

/// How many Machines are where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineCounts {
    /// All.
    #[serde(default)]
    pub total: i32,
    /// With a legacy ID.
    #[serde(default)]
    pub legacy: i32,
}
