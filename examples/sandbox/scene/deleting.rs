//! A shoot that is being deleted while its Machines have legacy IDs: the STACKIT provider cannot delete their servers before
//! they are rewritten.

use anyhow::Result;
use rig::{Shoot, objects};
use serde_json::json;
use simulator::Cloud;

use super::{Ending, Plot, Scene};
use crate::stage::{LOOK_EVERY, Stage, reference};

pub(super) fn scene(cloud: &Cloud) -> Scene {
    let shoot = Shoot::new("deleting").legacy_machines(4);
    let story = "Gardener deletes it: its Worker and its Machines are terminating";
    let mut scene = Scene::new(cloud, &shoot, story, Ending::Gone, Plot::Deletion);
    for kind in ["Machine", "Worker"] {
        scene.objects_mut(kind).for_each(|object| object["metadata"]["deletionTimestamp"] = "now".into());
    }
    scene
}

/// Gardener lets the Worker go once no Machine is left.
pub(super) async fn play(stage: &Stage, shoot: &Shoot) -> Result<()> {
    let namespace = shoot.namespace();
    while !stage.machines(&namespace).await?.is_empty() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let worker = reference("extensions.gardener.cloud", "Worker", &namespace, shoot.worker());
    objects::merge(&stage.client, &worker, &json!({ "metadata": { "finalizers": null } })).await?;
    stage.note(shoot.worker(), "no Machine is left, and Gardener lets the Worker go");
    Ok(())
}
