use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a rollback did, kept where it survives the command. Bounded: the last steps, the first names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackAccount {
    /// When the command began.
    pub began: Time,
    /// When the shoot was back; absent while it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub ended: Option<Time>,
    /// Machines that were left behind, whose servers are not deleted with them; not all where there are many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", transform = no_default)]
    pub left_behind: Vec<String>,
    /// How many Machines were left behind.
    #[serde(default)]
    #[schemars(transform = no_default)]
    pub left_behind_total: i32,
    /// The last steps, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<RollbackStep>", transform = no_default)]
    pub steps: Vec<RollbackStep>,
}

/// One step of a rollback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackStep {
    /// `pause`, `guard`, `unlabel`, `unlabel-part`, `write-back`, `clean`, `unmark`, `disarm`, `guard-off` or `lift-pause`.
    pub step: String,
    /// When it was begun.
    pub began: Time,
    /// When it was done; absent where it was not, or the command was killed before it could say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub ended: Option<Time>,
    /// How many objects it was done to.
    #[serde(default)]
    #[schemars(transform = no_default)]
    pub objects: i32,
    /// Which, as far as there is room.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(transform = no_default)]
    pub text: String,
}

/// What is absent is none: the API server need not write it in.
fn no_default(schema: &mut schemars::Schema) {
    schema.remove("default");
}
