//! A shoot whose switch found two Machines without an ID: OpenStack is still making the server of one, and never began the other's.
//! Gardener may not turn the class to `stackit` before it is clear which is which.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kube::api::PostParams;
use rig::shoot::{Provider, class};
use rig::{Shoot, objects};
use simulator::Cloud;

use super::{Ending, Plot, Scene};
use crate::stage::{Stage, reference};

/// How long the server is still being made.
const IN_CREATION: Duration = Duration::from_secs(3);
/// How often Gardener tries again.
const AGAIN: Duration = Duration::from_secs(1);

pub(super) fn scene(cloud: &Cloud) -> Scene {
    let shoot = Shoot::new("inflight").legacy_machines(4).classes(Provider::OpenStack);
    let story = "two Machines were being created at the switch: one has a server, one has none";
    let mut scene = Scene::new(cloud, &shoot, story, Ending::Complete, Plot::Flip);
    let [in_creation, without] = in_flight(&scene.shoot);
    for machine in scene.objects_mut("Machine").filter(|machine| {
        let name = &machine["metadata"]["name"];
        *name == *in_creation || *name == *without
    }) {
        machine["spec"].as_object_mut().map(|spec| spec.remove("providerID"));
        machine.as_object_mut().map(|machine| machine.remove("status"));
    }
    cloud.change_server(&scene.shoot.server_id(&in_creation), |server| {
        "BUILD".clone_into(&mut server.status);
        // The OpenStack provider lets the pods' network pass once the server is ACTIVE; it is gone by then.
        server.nics.iter_mut().for_each(|nic| nic.allowed_addresses.clear());
    });
    // It was never there.
    cloud.delete_server(&scene.shoot.server_id(&without), "the fixture");
    cloud.clear_journal();
    scene
}

/// The Machines without an ID: that with a server in creation, and that without any server.
pub(crate) fn in_flight(shoot: &Shoot) -> [String; 2] {
    let mut machines = shoot.machines().into_iter().rev();
    let without = machines.next().unwrap_or_default();
    [machines.next().unwrap_or_default(), without]
}

/// Gardener turns the class to `stackit`, and tries again as long as that is refused. The server in creation becomes ACTIVE.
pub(super) async fn play(stage: &Stage, shoot: &Shoot) -> Result<()> {
    let (began, [in_creation, _]) = (Instant::now(), in_flight(shoot));
    let mut refusals = 0;
    loop {
        if began.elapsed() >= IN_CREATION {
            stage.cloud.change_server(&shoot.server_id(&in_creation), |server| "ACTIVE".clone_into(&mut server.status));
        }
        match flip(stage, shoot).await? {
            None => break,
            Some(refusal) => {
                refusals += 1;
                if refusals == 1 {
                    stage.note(shoot.worker(), format!("the gate forward refuses the switch of the class: {refusal}"));
                }
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
    stage.note(shoot.worker(), format!("Gardener has switched the class, at attempt {}", refusals + 1));
    Ok(())
}

/// Updates the class as Gardener does; gives the reason, if the gate forward refuses it.
async fn flip(stage: &Stage, shoot: &Shoot) -> Result<Option<String>> {
    let reference = reference("machine.sapcloud.io", "MachineClass", &shoot.namespace(), &shoot.class());
    let mut object = objects::get(&stage.client, &reference).await?.context("the class is gone")?;
    let wanted = class(&shoot.class(), Provider::Stackit);
    for member in ["provider", "providerSpec"] {
        object.data[member] = wanted[member].clone();
    }
    let api = objects::api_for(stage.client.clone(), &reference)?;
    match api.replace(&shoot.class(), &PostParams::default(), &object).await {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) if status.message.contains("machineclass.mcm-migration.stackit.cloud") => {
            let reason = status.message.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
            Ok(Some(reason.map_or(&*status.message, |(reason, _)| reason).to_owned()))
        }
        Err(error) => Err(error).context("cannot switch the class"),
    }
}
