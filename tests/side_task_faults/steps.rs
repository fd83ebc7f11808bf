//! The executor's steps, as its log tells of them, and shoots that need them.

use std::collections::BTreeSet;

use rig::Product;
use serde_json::Value;

use super::Stage;
use super::gardener::switch_class;
use crate::side_task_support::{LONG, Seed};

/// Every step that a shoot on its way forward can need.
pub const STEPS: [&str; 12] = [
    "list",
    "address",
    "settle",
    "retire",
    "guard",
    "probe",
    "arm",
    "touch",
    "label",
    "boot-volume",
    "clear",
    "complete",
];

/// The steps that a replica has finished, each with the namespace of its shoot.
pub fn done(replica: &Product) -> BTreeSet<(String, String)> {
    that_came_out(replica, "done")
}

/// The steps that have failed for a replica, each with the namespace of its shoot.
pub fn failed(replica: &Product) -> BTreeSet<(String, String)> {
    that_came_out(replica, "failed")
}

fn that_came_out(replica: &Product, outcome: &str) -> BTreeSet<(String, String)> {
    let lines = replica.logs();
    let steps = lines
        .iter()
        .filter_map(|line| Some((line["namespace"].as_str()?.to_owned(), step_of(line, outcome)?.to_owned())));
    steps.collect()
}

/// The step that a replica finished last.
pub fn last_step(replica: &Product) -> Option<String> {
    replica.logs().iter().rev().find_map(|line| step_of(line, "done")).map(ToOwned::to_owned)
}

fn step_of<'a>(line: &'a Value, outcome: &str) -> Option<&'a str> {
    (line["message"] == "side task" && line["outcome"] == outcome).then(|| line["step"].as_str())?
}

/// A shoot in which the step will be needed, and Gardener, which goes on with it.
pub async fn work_for(seed: &Seed, step: Option<&str>, name: &str) -> Stage {
    let stage = match step {
        Some("address" | "settle") => Stage::switching(seed, name).await,
        Some("retire") => Stage::with_a_class_left(seed, name).await,
        _ => Stage::switched(seed, name, 2).await,
    };
    if stage.in_flight.is_some() {
        let (client, stage) = (seed.client.clone(), stage.clone());
        tokio::spawn(async move { switch_class(&client, &stage, LONG * 3).await.unwrap() });
    }
    stage
}
