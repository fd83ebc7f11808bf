//! The machine controller: Machines that go away, and those that have not come up.

use std::sync::Arc;

use anyhow::Result;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use rig::shoot::Provider;
use serde_json::json;
use simulator::Server;

use crate::copy::Copy;
use crate::event::Event;
use crate::judge;
use crate::making::Making;
use crate::model::{Class, FINALIZER, Machine};
use crate::shared::Shared;

/// Looks at every Machine of the copy whenever one changes, and every so often; for ever.
pub(crate) async fn run(shared: &Arc<Shared>, copy: &Arc<Copy>) {
    copy.machines.synced().await;
    copy.classes.synced().await;
    let mut making = Making::default();
    loop {
        for machine in copy.machines.all() {
            shared.frost.thawed().await;
            let Some(class) = copy.classes.get(&machine.class) else { continue };
            if machine.terminating {
                if machine.finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
                    // What fails is tried again, with what the copy has then.
                    let _ = delete(shared, &machine, &class).await;
                }
            } else if matches!(&*machine.phase, "" | "CrashLoopBackOff") {
                let _ = bring_up(shared, &mut making, &machine, &class).await;
            }
        }
        tokio::select! {
            () = copy.machines.changed.notified() => {}
            () = tokio::time::sleep(shared.options.retry) => {}
        }
    }
}

async fn bring_up(shared: &Arc<Shared>, making: &mut Making, machine: &Machine, class: &Class) -> Result<()> {
    let own = match shared.provider {
        Provider::OpenStack => "openstack:///",
        Provider::Stackit => "stackit://",
    };
    if machine.provider_id.is_empty() && class.is_for(shared.provider) {
        if let Some(id_after) = shared.options.creates {
            making.begin(shared, machine, class, id_after);
        }
        return Ok(());
    }
    let phase = if machine.provider_id.starts_with(own) && class.is_for(shared.provider) {
        "Running"
    } else if shared.waiting_for(machine) >= shared.options.creation_timeout {
        "Failed"
    } else {
        "CrashLoopBackOff"
    };
    if phase == machine.phase { Ok(()) } else { set_phase(shared, &machine.name, phase).await }
}

pub(crate) async fn set_phase(shared: &Shared, machine: &str, phase: &str) -> Result<()> {
    let now = Timestamp::now().to_string();
    let status = json!({ "status": { "currentStatus": { "phase": phase, "lastUpdateTime": now } } });
    shared.machines().patch_status(machine, &PatchParams::default(), &Patch::Merge(&status)).await?;
    Ok(())
}

async fn delete(shared: &Shared, machine: &Machine, class: &Class) -> Result<()> {
    let servers = match doomed(shared, machine, class) {
        Ok(servers) => servers,
        Err(why) => {
            shared.note_once(Event::Hangs { machine: machine.name.clone(), why });
            return Ok(());
        }
    };
    for server in servers {
        if !judge::delete(shared, &server, format!("the Machine {} goes away", machine.name)).await {
            return Ok(());
        }
    }
    let left = |server: &Server| Some(&*server.id) == machine.server() || server.name == machine.name;
    let leaked = shared.cloud.servers(&shared.project).into_iter().find(left);
    let finalizers: Vec<&String> = machine.finalizers.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
    let patch = json!({ "metadata": { "resourceVersion": machine.resource_version, "finalizers": finalizers } });
    shared.machines().patch(&machine.name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    if let Some(server) = leaked {
        shared.note_once(Event::Leaked { machine: machine.name.clone(), server: server.id });
    }
    shared.note_once(Event::Finished { machine: machine.name.clone() });
    Ok(())
}

/// The servers that the provider deletes for a Machine, or why it refuses.
fn doomed(shared: &Shared, machine: &Machine, class: &Class) -> Result<Vec<String>, String> {
    match shared.provider {
        Provider::OpenStack => {
            if !class.is_for(Provider::OpenStack) {
                return Err(format!("InvalidArgument: provider {:?} is not supported", class.provider));
            }
            let servers = shared.servers_of_the_shoot().into_iter();
            let doomed = servers.filter(|server| match machine.server() {
                Some(id) => server.id == id,
                None => server.name == machine.name,
            });
            Ok(doomed.map(|server| server.id).collect())
        }
        Provider::Stackit => stackit_doomed(shared, machine, class),
    }
}

fn stackit_doomed(shared: &Shared, machine: &Machine, class: &Class) -> Result<Vec<String>, String> {
    if !machine.provider_id.is_empty() && !machine.provider_id.starts_with("stackit://") {
        return Err("InvalidArgument: providerID is not empty and does not start with stackit://".to_owned());
    }
    // A class in the other's format: no region in the URL. The 404 to a DELETE counts as "already deleted", that to a LIST does not.
    let without_region = class.text("/region").is_empty();
    let named = machine.provider_id.strip_prefix("stackit://").and_then(|rest| rest.split_once('/'));
    if let Some((project, id)) =
        named.filter(|(project, id)| !project.is_empty() && !id.is_empty() && !id.contains('/'))
    {
        let servers = shared.cloud.servers(project).into_iter().filter(|_| !without_region);
        return Ok(servers.map(|server| server.id).filter(|server| server == id).collect());
    }
    if without_region {
        return Err("Internal: failed to find server by name".to_owned());
    }
    let label = shared.label("machine");
    let servers = shared.cloud.servers(&shared.project).into_iter();
    let labelled = |server: &Server| server.name == machine.name && server.labels.text(&label) == Some(&*machine.name);
    Ok(servers.filter(labelled).map(|server| server.id).collect())
}
