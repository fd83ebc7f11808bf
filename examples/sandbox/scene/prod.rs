//! A shoot that Gardener has switched; nothing else is special about it.

use rig::Shoot;
use simulator::Cloud;

use super::{Ending, Plot, Scene};

pub(super) fn scene(cloud: &Cloud) -> Scene {
    let shoot = Shoot::new("prod").legacy_machines(50);
    Scene::new(cloud, &shoot, "switched to STACKIT by Gardener", Ending::Complete, Plot::Nothing)
}
