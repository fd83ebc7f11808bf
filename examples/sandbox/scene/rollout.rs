//! A roll-out that came together with the switch: the old MachineClass is left `OpenStack`, so the STACKIT provider cannot delete
//! the old Machines, until the side task retires the class.

use std::time::Duration;

use anyhow::Result;
use rig::shoot::{Provider, class, legacy_id, machine};
use rig::{Shoot, objects};
use serde_json::{Value, json};
use simulator::{Cloud, Nic, Server};

use super::{Ending, POD_NETWORK, Plot, REGION, Scene};
use crate::stage::{LOOK_EVERY, Stage, is_terminating, name, provider_id, reference};

/// How many Machines the MachineDeployment wants.
const REPLICAS: usize = 4;
/// How long it waits after each new Machine; MCM calls that `minReadySeconds`.
const READY_FOR: Duration = Duration::from_secs(2);
const MACHINES: &str = "machine.sapcloud.io";

pub(super) fn scene(cloud: &Cloud) -> Scene {
    let shoot = Shoot::new("rollout").legacy_machines(0);
    let story = "a roll-out came with the switch: the old class is left OpenStack, two Machines cannot go";
    let mut scene = Scene::new(cloud, &shoot, story, Ending::Complete, Plot::RollOut);
    let (shoot, old) = (scene.shoot.clone(), old_class(&scene.shoot));
    scene.objects.push(of(&shoot, class(&old, Provider::OpenStack)));
    for (number, suffix) in ["b7k2x", "c4m9w", "d1p6v", "f8r3t"].into_iter().enumerate() {
        let name = format!("{old}-{suffix}");
        let id = shoot.server_id(&name);
        let nic = Nic::new(rig::shoot::uuid("network"), &*name).with_allowed_addresses([POD_NETWORK]);
        cloud.add_server(&shoot.project_id(), REGION, Server::new(&*id, &*name).with_nic(nic));
        let mut machine = of(&shoot, machine(&name, &old, &legacy_id(&id)));
        if number < 2 {
            machine["metadata"]["deletionTimestamp"] = "now".into();
        }
        scene.objects.push(machine);
    }
    scene.objects.extend((0..2).map(|number| new_machine(&shoot, number)));
    scene
}

/// The controller of MachineDeployments replaces one Machine after the other; then Gardener deletes the old class.
pub(super) async fn play(stage: &Stage, shoot: &Shoot) -> Result<()> {
    let (namespace, old_class) = (shoot.namespace(), old_class(shoot));
    let mut first = true;
    loop {
        let machines = stage.machines(&namespace).await?;
        let (old, new): (Vec<_>, Vec<_>) =
            machines.iter().partition(|machine| machine["spec"]["class"]["name"] == *old_class);
        let Some(next) = old.first() else { break };
        let busy = old.iter().any(|machine| is_terminating(machine))
            || new.iter().any(|machine| provider_id(machine).is_empty());
        if busy {
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        }
        if std::mem::take(&mut first) {
            stage.note(
                shoot.worker(),
                "the old class is retired, its terminating Machines are gone, the roll-out goes on",
            );
        }
        if new.len() < REPLICAS {
            stage.create(&new_machine(shoot, new.len())).await?;
        }
        tokio::time::sleep(READY_FOR).await;
        objects::delete(&stage.client, &reference(MACHINES, "Machine", &namespace, name(next))).await?;
    }
    objects::delete(&stage.client, &reference(MACHINES, "MachineClass", &namespace, &old_class)).await?;
    stage.note(shoot.worker(), "the roll-out is through, and Gardener deletes the old class");
    Ok(())
}

/// The same pool and zone with another hash.
pub(crate) fn old_class(shoot: &Shoot) -> String {
    format!("{}-2ac91", shoot.machine_deployment())
}

/// A Machine of the new class that has no server yet.
fn new_machine(shoot: &Shoot, number: usize) -> Value {
    let suffix = ["h5q7z", "j2n4s", "l9x8c", "w3k5d"].get(number).copied().unwrap_or("zzzzz");
    let mut machine = of(shoot, machine(&format!("{}-{suffix}", shoot.class()), &shoot.class(), ""));
    machine["spec"]["nodeTemplate"]["spec"] = json!({});
    for (place, member) in [("spec", "providerID"), ("", "status")] {
        let object = if place.is_empty() { &mut machine } else { &mut machine[place] };
        object.as_object_mut().map(|object| object.remove(member));
    }
    machine
}

fn of(shoot: &Shoot, mut object: Value) -> Value {
    object["metadata"]["namespace"] = shoot.namespace().into();
    object["metadata"]["labels"]["name"] = shoot.machine_deployment().into();
    object
}
