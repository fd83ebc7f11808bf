//! A shoot that is being restored to this seed: its Machines came with legacy IDs and without status, so they are rewritten at
//! once; the cloud is left alone until the restore has succeeded.

use std::time::Duration;

use anyhow::Result;
use rig::{Shoot, objects};
use serde_json::{Value, json};
use simulator::Cloud;

use super::{Ending, Plot, Scene};
use crate::stage::{LOOK_EVERY, Stage, provider_id, reference};

/// How long the restore goes on once all Machines are rewritten: longer than the quarantine of the sandbox.
const GOES_ON: Duration = Duration::from_secs(6);
/// What is noted when it has ended.
pub(crate) const SUCCEEDED: &str = "the restore succeeds";

pub(super) fn scene(cloud: &Cloud) -> Scene {
    let shoot = Shoot::new("restored").legacy_machines(4);
    let story = "just restored to this seed: Machines without status, restore under way";
    let mut scene = Scene::new(cloud, &shoot, story, Ending::Complete, Plot::Restore);
    for machine in scene.objects_mut("Machine").filter_map(Value::as_object_mut) {
        machine.remove("status");
    }
    for worker in scene.objects_mut("Worker") {
        worker["metadata"]["annotations"] = json!({ "gardener.cloud/operation": "restore" });
        worker["status"]["lastOperation"] = operation("Processing");
    }
    scene
}

/// Gardener ends the restore, some time after the Machines are rewritten.
pub(super) async fn play(stage: &Stage, shoot: &Shoot) -> Result<()> {
    let namespace = shoot.namespace();
    let is_legacy = |machine: &Value| provider_id(machine).starts_with("openstack:");
    while stage.machines(&namespace).await?.iter().any(is_legacy) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    stage.note(shoot.worker(), "all Machines are rewritten; the restore goes on");
    tokio::time::sleep(GOES_ON).await;
    let worker = reference("extensions.gardener.cloud", "Worker", &namespace, shoot.worker());
    let done = json!({ "metadata": { "annotations": { "gardener.cloud/operation": null } } });
    objects::merge(&stage.client, &worker, &done).await?;
    // Noted before it is written: nothing may have been labelled by then.
    stage.note(shoot.worker(), SUCCEEDED);
    objects::patch_status(&stage.client, &worker, &json!({ "lastOperation": operation("Succeeded") })).await?;
    Ok(())
}

fn operation(state: &str) -> Value {
    json!({
        "type": "Restore", "state": state, "progress": 50, "description": "Restoring worker",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
    })
}
