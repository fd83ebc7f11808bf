//! A shoot like any other whose MachineMigration says: not now.

use rig::Shoot;
use serde_json::json;
use simulator::Cloud;

use super::{Ending, Plot, Scene};

pub(super) fn scene(cloud: &Cloud) -> Scene {
    let shoot = Shoot::new("paused").legacy_machines(3);
    let story = "switched; spec.paused of its MachineMigration is true";
    let mut scene = Scene::new(cloud, &shoot, story, Ending::Held("Paused"), Plot::Nothing);
    scene.objects.push(json!({
        "apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
        "metadata": { "name": "openstack-to-stackit", "namespace": scene.shoot.namespace() },
        "spec": { "paused": true },
    }));
    scene
}
