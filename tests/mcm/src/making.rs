//! Servers for Machines that have none.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use kube::api::{Patch, PatchParams};
use rig::shoot::Provider;
use serde_json::{Value, json};
use simulator::{Nic, Server, Volume};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::event::Event;
use crate::machines::set_phase;
use crate::model::{Class, Machine, Named as _};
use crate::shared::{CLUSTER_KEY, Shared};

/// What is being made; it ends with the process.
#[derive(Default)]
pub(crate) struct Making {
    tasks: JoinSet<String>,
    busy: HashSet<String>,
}

impl Making {
    /// Makes the server of a Machine, unless that is under way.
    pub(crate) fn begin(&mut self, shared: &Arc<Shared>, machine: &Machine, class: &Class, id_after: Duration) {
        while let Some(done) = self.tasks.try_join_next() {
            if let Ok(name) = done {
                self.busy.remove(&name);
            }
        }
        if self.busy.insert(machine.name.clone()) {
            let (shared, machine, class) = (Arc::clone(shared), machine.clone(), class.clone());
            self.tasks.spawn(async move {
                // What fails is tried again at the next look.
                let _ = make(&shared, &machine, &class, id_after).await;
                machine.name
            });
        }
    }
}

async fn make(shared: &Shared, machine: &Machine, class: &Class, id_after: Duration) -> Result<()> {
    // The copy may be older than what this process has written itself.
    let is_without_id = async || -> Result<bool> {
        let read = shared.machines().get_opt(&machine.name).await?;
        Ok(read.is_some_and(|read| Machine::read(&read).provider_id.is_empty()))
    };
    if !is_without_id().await? {
        return Ok(());
    }
    let server = existing(shared, &machine.name).unwrap_or_else(|| create(shared, &machine.name, class));
    tokio::time::sleep(id_after).await;
    shared.frost.thawed().await;
    let id = match shared.provider {
        Provider::OpenStack => {
            // Only now: the server has to be ACTIVE first.
            shared.cloud.change_server(&server, |server| open_pod_networks(server, class));
            format!("openstack:///{}/{server}", class.text("/spec/region"))
        }
        Provider::Stackit => format!("stackit://{}/{server}", shared.project),
    };
    let Some(read) = shared.machines().get_opt(&machine.name).await?.map(|read| Machine::read(&read)) else {
        return Ok(());
    };
    if read.provider_id.is_empty() {
        let patch = json!({ "metadata": { "resourceVersion": read.resource_version }, "spec": { "providerID": id } });
        shared.machines().patch(&machine.name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        set_phase(shared, &machine.name, "Running").await?;
    }
    Ok(())
}

/// A server that the provider takes for one that it made before: OpenStack's by name, STACKIT's by label.
fn existing(shared: &Shared, machine: &str) -> Option<String> {
    let label = shared.label("machine");
    let mut servers = shared.cloud.servers(&shared.project).into_iter();
    let found = servers.find(|server| match shared.provider {
        Provider::OpenStack => server.name == machine,
        Provider::Stackit => server.labels.text(&label) == Some(machine),
    });
    found.map(|server| server.id)
}

fn create(shared: &Shared, machine: &str, class: &Class) -> String {
    let id = Uuid::new_v4().to_string();
    let second = shared.cloud.servers(&shared.project).iter().any(|server| server.name == machine);
    let mut server = Server::new(&*id, machine).with_volume(Volume::boot(machine));
    let (server, region) = match shared.provider {
        Provider::OpenStack => {
            server.metadata.insert(format!("{CLUSTER_KEY}{}", shared.namespace), "1".to_owned());
            (server.with_nic(Nic::new(class.text("/spec/networkID"), machine)), shared.options.region.clone())
        }
        Provider::Stackit => {
            let nic = Nic::new(class.text("/networking/networkId"), machine);
            let nic = nic.with_allowed_addresses(texts(&class.spec, "/allowedAddresses"));
            (server.with_nic(nic).with_labels(labels(shared, machine, class)), class.text("/region"))
        }
    };
    shared.cloud.add_server(&shared.project, &region, server);
    shared.note(Event::Created { machine: machine.to_owned(), server: id.clone(), second });
    id
}

fn labels(shared: &Shared, machine: &str, class: &Class) -> BTreeMap<String, Value> {
    let of_class = class.spec.get("labels").and_then(Value::as_object);
    let mut labels: BTreeMap<String, Value> =
        of_class.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
    labels.insert(shared.label("machine"), machine.into());
    labels.insert(shared.label("machineclass"), class.name.clone().into());
    labels
}

fn open_pod_networks(server: &mut Server, class: &Class) {
    let wanted = texts(&class.spec, "/spec/podNetworkCIDRs");
    for nic in &mut server.nics {
        for network in &wanted {
            if !nic.allowed_addresses.contains(network) {
                nic.allowed_addresses.push(network.clone());
            }
        }
    }
}

fn texts(value: &Value, pointer: &str) -> Vec<String> {
    let values = value.pointer(pointer).and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned).collect()
}
