use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use super::RollbackAccount;

/// What an operator asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, CustomResource)]
#[kube(
    group = "mcm-migration.stackit.cloud",
    version = "v1alpha1",
    kind = "MachineMigration",
    doc = "MachineMigration shows how far the Machines of one shoot have moved from the OpenStack to the STACKIT provider, and is the brake.",
    namespaced,
    shortname = "mmig",
    status = "MachineMigrationStatus",
    validation = Rule::new("self.metadata.name == 'openstack-to-stackit'")
        .message("a MachineMigration is named openstack-to-stackit, one in each namespace"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Done",
        type_ = "integer",
        json_path = ".status.machines.labelled",
        description = "Machines whose server carries every label."
    ),
    printcolumn(
        name = "Total",
        type_ = "integer",
        json_path = ".status.machines.total",
        description = "Machines in the namespace."
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.reason",
        description = "What the migration waits for."
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct MachineMigrationSpec {
    /// While true nothing is rewritten and the side task only reports; the guard stays as it is.
    #[serde(default)]
    pub paused: bool,
}

/// What was found at the last pass. Conditions decide; phase and reason are for display.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineMigrationStatus {
    /// The furthest step that holds. For display, never read by the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Phase")]
    pub phase: Option<Phase>,
    /// Why the next step does not hold yet. For display, never read by the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub reason: Option<String>,
    /// `Guarded`, `Armed`, `Rewritten`, `Labelled`, `Complete` and `Paused`, each with a reason and a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Vec<Condition>,
    /// How many Machines of the namespace are where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MachineCounts")]
    pub machines: Option<MachineCounts>,
    /// What the last rollback did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RollbackAccount")]
    pub rollback: Option<RollbackAccount>,
    /// The first Machines by name that are excepted, at most 20; `machines.exceptions` counts all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20), transform = without_default)]
    pub exceptions: Vec<MachineException>,
}

/// A Machine that no longer holds up its shoot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineException {
    /// Its name.
    pub machine: String,
    /// Why: what its annotation says, cut off at 64 bytes.
    pub reason: String,
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

/// How many Machines are where. `i32`, because kubectl warns about the formats of unsigned numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(transform = without_defaults)]
pub struct MachineCounts {
    /// All Machines, terminating ones included.
    pub total: i32,
    /// Machines with a legacy ID.
    pub legacy: i32,
    /// Terminating Machines with a legacy ID; they cannot go before they are rewritten.
    pub terminating_legacy: i32,
    /// Machines that wait, counted by reason.
    pub waiting: BTreeMap<String, i32>,
    /// Machines whose new ID is not yet old enough for a label on their server.
    pub quarantined: i32,
    /// Machines whose server carries every label.
    pub labelled: i32,
    /// Machines that are excepted by annotation, by an operator or after `--force-after`.
    pub exceptions: i32,
}

/// A count that is absent is none: the API server need not write it in.
fn without_defaults(schema: &mut Schema) {
    if let Some(properties) = schema.get_mut("properties").and_then(serde_json::Value::as_object_mut) {
        for property in properties.values_mut().filter_map(serde_json::Value::as_object_mut) {
            property.remove("default");
        }
    }
}

fn without_default(schema: &mut Schema) {
    schema.remove("default");
}

/// A map by type, so that two writers of different conditions do not overwrite each other.
fn conditions(_: &mut schemars::SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "lastTransitionTime", "reason", "message"],
            "properties": {
                "type": {"type": "string"},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "observedGeneration": {"type": "integer", "format": "int64"},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "reason": {"type": "string"},
                "message": {"type": "string"},
            },
        },
    })
}
