//! A shoot that is complete.

use anyhow::{Context as _, Result, ensure};
use rig::Shoot;
use serde_json::Value;
use simulator::{Operation, Server};

use crate::observe::{MARKED, Seen};
use crate::scene::{POD_NETWORK, Scene};
use crate::stage::{Stage, annotation, name, provider_id};

const MIGRATED: &str = "stackit.cloud/migrated-machine";
const MARKER: &str = "stackit.cloud/machine-should-be-migrated";

/// What is not as it should be.
pub(super) fn check(stage: &Stage, scene: &Scene, seen: &Seen) -> Vec<String> {
    let (namespace, project) = (scene.shoot.namespace(), scene.shoot.project_id());
    let machines = seen.machines(&namespace);
    let mut wrong: Vec<String> = machines
        .iter()
        .filter_map(|machine| check_machine(stage, &scene.shoot, seen, machine).err())
        .map(|error| format!("{error:#}"))
        .collect();
    let mut expect = |holds: bool, otherwise: String| {
        if !holds {
            wrong.push(otherwise);
        }
    };
    let servers = stage.cloud.server_count(&project);
    expect(servers == machines.len(), format!("{servers} servers for {} Machines", machines.len()));
    let worker = seen.worker(&namespace).and_then(|worker| annotation(worker, MARKED));
    expect(worker == Some("true"), "its Worker is not marked".to_owned());
    for class in seen.classes(&namespace) {
        expect(class["provider"] == "stackit", format!("MachineClass {} is not switched", name(class)));
    }
    let migrated = machines.iter().filter(|machine| annotation(machine, MIGRATED).is_some()).count();
    let status = seen.migration(&namespace).map(|migration| migration["status"].clone()).unwrap_or_default();
    expect(status["phase"] == "Complete", format!("its MachineMigration is {}", status["phase"]));
    let labelled = status["machines"]["labelled"].as_u64().unwrap_or_default();
    expect(
        usize::try_from(labelled) == Ok(migrated),
        format!("its MachineMigration counts {labelled} labelled servers, and {migrated} Machines are migrated"),
    );
    if let Some(released) = scene.labels_wait_for(stage) {
        let early = seen.calls(&project).filter(|call| call.operation == Operation::PatchServer && call.at < released);
        expect(early.count() == 0, "a server was labelled before the restore had succeeded".to_owned());
    }
    wrong
}

fn check_machine(stage: &Stage, shoot: &Shoot, seen: &Seen, machine: &Value) -> Result<()> {
    let machine_name = name(machine);
    let prefix = format!("stackit://{}/", shoot.project_id());
    let id = provider_id(machine).strip_prefix(&prefix);
    let id = id.with_context(|| format!("Machine {machine_name} has the ID {:?}", provider_id(machine)))?;
    let server = stage.cloud.server(id).with_context(|| format!("Machine {machine_name} has no server"))?;
    ensure!(server.name == machine_name, "the server of Machine {machine_name} is named {}", server.name);
    let class = machine["spec"]["class"]["name"].as_str().unwrap_or_default();
    let wanted = [("machine", machine_name), ("machineclass", class), ("cluster", "shoot"), ("role", "node")];
    for (key, value) in wanted {
        let label = server.labels.text(&format!("kubernetes.io/{key}"));
        ensure!(label == Some(value), "the server of Machine {machine_name} has the {key} label {label:?}");
    }
    ensure!(annotation(machine, MARKER).is_none(), "Machine {machine_name} still has the marker");
    // One that the STACKIT provider made has its labels from there.
    let migrated = annotation(machine, MIGRATED) == Some("true");
    let patches = seen.calls(&shoot.project_id());
    let patches = patches.filter(|call| call.operation == Operation::PatchServer && call.server.as_deref() == Some(id));
    let (patches, wanted) = (patches.count(), usize::from(migrated));
    ensure!(patches == wanted, "the server of Machine {machine_name} got {patches} PATCHes, not {wanted}");
    ensure!(!migrated || passes_pods(&server), "the server of Machine {machine_name} lets no pods' packets pass");
    Ok(())
}

fn passes_pods(server: &Server) -> bool {
    server.nics.iter().all(|nic| nic.allowed_addresses.iter().any(|address| address == POD_NETWORK))
}
