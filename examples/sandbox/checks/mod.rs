//! Whether the shoots are as they should be: Machines, Workers, MachineMigrations, servers and the simulator's journal agree.

mod complete;
mod writers;

use anyhow::Result;
use mcm_stand_in::{Event, Mcm};
use serde_json::Value;
use simulator::Operation;

use crate::observe::{MARKED, Seen};
use crate::scene::{Ending, Scene};
use crate::setup::Sandbox;
use crate::stage::{annotation, provider_id};

pub(crate) use writers::writers;

/// A metric of the API server.
const FAIL_OPEN: &str = "apiserver_admission_webhook_fail_open_count";

/// What is not as it should be.
pub(crate) async fn all(sandbox: &Sandbox, seen: &Seen) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (scene, mcm) in sandbox.scenes.iter().zip(&sandbox.mcms) {
        let mut found = match scene.ending {
            Ending::Complete => complete::check(&sandbox.stage, scene, seen),
            Ending::Gone => gone(sandbox, scene, seen),
            Ending::Held(reason) => held(scene, seen, reason),
        };
        found.extend(only_labels(scene, seen));
        found.extend(no_server_lost(mcm));
        wrong.extend(found.into_iter().map(|text| format!("{}: {text}", scene.name())));
    }
    let failed_open = sandbox.server.metric(FAIL_OPEN, &[]).await?;
    if failed_open > 0.0 {
        wrong.push(format!("{failed_open} calls of the webhook failed, and the API server passed it over"));
    }
    Ok(wrong)
}

fn gone(sandbox: &Sandbox, scene: &Scene, seen: &Seen) -> Vec<String> {
    let (namespace, project) = (scene.shoot.namespace(), scene.shoot.project_id());
    let mut wrong = Vec::new();
    let machines = seen.machines(&namespace).len();
    if machines > 0 {
        wrong.push(format!("{machines} Machines are still there"));
    }
    let servers = sandbox.stage.cloud.server_count(&project);
    if servers > 0 {
        wrong.push(format!("{servers} servers are left behind"));
    }
    if seen.worker(&namespace).is_some() {
        wrong.push("its Worker is still there".to_owned());
    }
    if seen.calls(&project).any(|call| call.operation == Operation::PatchServer) {
        wrong.push("a server of a shoot that is being deleted was labelled".to_owned());
    }
    wrong
}

fn held(scene: &Scene, seen: &Seen, reason: &str) -> Vec<String> {
    let namespace = scene.shoot.namespace();
    let mut wrong = Vec::new();
    for name in scene.shoot.machines() {
        let machine = seen.machines(&namespace).iter().find(|machine| machine["metadata"]["name"] == *name);
        if machine.map(provider_id) != Some(&*scene.shoot.legacy_id(&name)) {
            wrong.push(format!("Machine {name} is not as it was"));
        }
    }
    if seen.worker(&namespace).and_then(|worker| annotation(worker, MARKED)).is_some() {
        wrong.push("its Worker is marked".to_owned());
    }
    let given = seen.migration(&namespace).and_then(|migration| migration["status"]["reason"].as_str());
    if given != Some(reason) {
        wrong.push(format!("its MachineMigration says {given:?}, not {reason}"));
    }
    let calls = seen.calls(&scene.shoot.project_id()).count();
    if calls > 0 {
        wrong.push(format!("its project got {calls} calls"));
    }
    wrong
}

/// Nothing but labels of ours was ever sent to a server.
fn only_labels(scene: &Scene, seen: &Seen) -> Vec<String> {
    let calls = seen.calls(&scene.shoot.project_id()).filter(|call| call.operation == Operation::PatchServer);
    let ours = |body: &Value| {
        let members = body.as_object().map(|body| body.keys().map(String::as_str).collect::<Vec<_>>());
        let labels = body["labels"].as_object().into_iter().flatten();
        members == Some(vec!["labels"])
            && labels.into_iter().all(|(key, value)| key.starts_with("kubernetes.io/") && value.is_string())
    };
    let odd = calls.filter(|call| !call.body.as_ref().is_some_and(ours));
    odd.map(|call| format!("{} {} carried {:?}", call.method, call.path, call.body)).collect()
}

/// The machine-controller-manager would have deleted no server of a live Machine, and has left none behind.
fn no_server_lost(mcm: &Mcm) -> Vec<String> {
    let mut wrong: Vec<String> = mcm.killed().iter().map(ToString::to_string).collect();
    for event in mcm.events() {
        match event {
            Event::Leaked { machine, server } => {
                wrong.push(format!("Machine {machine} left its server {server} behind"));
            }
            Event::Created { machine, second: true, .. } => {
                wrong.push(format!("Machine {machine} got a second server"));
            }
            _ => {}
        }
    }
    wrong
}
