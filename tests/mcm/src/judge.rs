//! The guard against false comfort: whose server is about to be deleted?

use std::time::Duration;

use anyhow::Result;
use kube::api::{Api, DynamicObject, ListParams};

use crate::event::Event;
use crate::killed::Killed;
use crate::model::{Machine, Named, resource};
use crate::shared::Shared;

/// How long it waits before it asks an API server again that did not answer.
const AGAIN: Duration = Duration::from_millis(200);

/// Deletes a server, unless a live Machine names it; then that is recorded. Says whether the server is gone.
pub(crate) async fn delete(shared: &Shared, server: &str, why: String) -> bool {
    let victim = loop {
        match victim(shared, server).await {
            Ok(victim) => break victim,
            // Without the truth nothing may die; with it, what was about to happen still counts.
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    };
    if let Some(machine) = victim {
        let killed = Killed {
            server: server.to_owned(),
            machine: format!("{}/{}", machine.namespace, machine.name),
            machine_id: machine.provider_id,
            by: format!("{} of {} ({:?}, seed {})", shared.pod, shared.namespace, shared.provider, shared.seed),
            why,
        };
        shared.verdicts.record(killed, shared.options.loud);
        return false;
    }
    if shared.cloud.delete_server(server, &shared.pod) {
        shared.note(Event::Deleted { server: server.to_owned(), why });
    }
    true
}

/// The live Machine that names the server in its ID, in either form, in whatever namespace; read past all caches.
async fn victim(shared: &Shared, server: &str) -> Result<Option<Machine>> {
    let machines: Api<DynamicObject> = Api::all_with(shared.access.admin.clone(), &resource(Machine::KIND));
    let machines = machines.list(&ListParams::default()).await?;
    let mut machines = machines.iter().map(Machine::read);
    Ok(machines.find(|machine| !machine.terminating && machine.server() == Some(server)))
}
