//! The shoots of the sandbox, and what should become of each.

use anyhow::Result;
use kube::Client;
use rig::{Shoot, objects};
use serde_json::json;

/// A shoot and its part in the play.
#[derive(Debug)]
pub(crate) struct Scene {
    /// The fixture.
    pub(crate) shoot: Shoot,
    /// What is special about it.
    pub(crate) story: &'static str,
    /// Whether its Machines should be rewritten.
    pub(crate) migrates: bool,
    /// Whether its Worker should be marked: only where there is no Machine whose server's labels have to be confirmed first.
    pub(crate) marks_worker: bool,
    /// Whether it is paused once it is armed.
    pub(crate) paused: bool,
}

impl Scene {
    fn new(name: &str, machines: usize, story: &'static str) -> Self {
        let shoot = Shoot::new(name).legacy_machines(machines);
        Self { shoot, story, migrates: false, marks_worker: false, paused: false }
    }

    /// The shoot's own name.
    pub(crate) fn name(&self) -> &str {
        self.shoot.worker()
    }
}

/// All of them.
pub(crate) fn all() -> Vec<Scene> {
    let prod = Scene { migrates: true, ..Scene::new("prod", 12, "switched to STACKIT by Gardener") };
    let staging = Scene { migrates: true, ..Scene::new("staging", 6, "switched to STACKIT by Gardener") };
    let dev = Scene::new("dev", 4, "not switched yet: its MachineClass and its controller are OpenStack's");
    let dev = Scene { shoot: dev.shoot.clone().before_the_switch(), ..dev };
    let lab = Scene { paused: true, ..Scene::new("lab", 3, "switched; will be paused once it is armed") };
    let idle = Scene { marks_worker: true, ..Scene::new("idle", 0, "switched; hibernated, so it has no Machine") };
    vec![prod, staging, dev, lab, idle]
}

/// Pulls the brake of an armed shoot.
pub(crate) async fn pause(client: &Client, scene: &Scene) -> Result<()> {
    let migration = json!({
        "apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
        "metadata": { "name": "openstack-to-stackit", "namespace": scene.shoot.namespace() },
    });
    objects::merge(client, &migration, &json!({ "spec": { "paused": true } })).await.map(drop)
}
