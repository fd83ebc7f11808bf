//! The orphan collector.

use std::sync::Arc;

use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom as _;
use rig::shoot::Provider;

use crate::copy::Copy;
use crate::judge;
use crate::model::{Class, Machine};
use crate::shared::Shared;

/// What a provider says a server is.
struct Listed {
    /// The ID that a Machine has to have, byte by byte.
    provider_id: String,
    server: String,
    machine: String,
}

/// Collects at the start, at each deletion of a Machine, and every so often; for ever.
pub(crate) async fn run(shared: &Shared, copy: &Arc<Copy>) {
    copy.machines.synced().await;
    copy.classes.synced().await;
    let mut order = SmallRng::seed_from_u64(shared.seed);
    loop {
        shared.frost.thawed().await;
        shared.runs.send_modify(|runs| runs.begun += 1);
        collect(shared, copy, &mut order).await;
        shared.runs.send_modify(|runs| runs.finished = runs.begun);
        tokio::select! {
            () = tokio::time::sleep(shared.options.orphan_period) => {}
            () = copy.machines.deleted.notified() => {}
        }
    }
}

async fn collect(shared: &Shared, copy: &Copy, order: &mut SmallRng) {
    let mut classes = copy.classes.all();
    // MCM takes them in the order of a Go map.
    classes.shuffle(order);
    for class in classes {
        if shared.provider == Provider::OpenStack && !class.is_for(Provider::OpenStack) {
            // The provider answers InvalidArgument, and an error ends the run.
            return;
        }
        for listed in list(shared, &class) {
            shared.frost.thawed().await;
            let machine = copy.machines.get(&listed.machine);
            if let Some(why) = condemns(&listed, machine.as_ref()) {
                judge::delete(shared, &listed.server, why).await;
            }
        }
    }
}

fn list(shared: &Shared, class: &Class) -> Vec<Listed> {
    match shared.provider {
        Provider::OpenStack => {
            let region = class.text("/spec/region");
            let servers = shared.servers_of_the_shoot().into_iter();
            let listed = servers.map(|server| Listed {
                provider_id: format!("openstack:///{region}/{}", server.id),
                server: server.id,
                machine: server.name,
            });
            listed.collect()
        }
        // With a class of the other format its LIST fails, which ends the real run as well. Going on kills no less.
        Provider::Stackit if !class.is_for(Provider::Stackit) => Vec::new(),
        Provider::Stackit => {
            let (of_class, of_machine) = (shared.label("machineclass"), shared.label("machine"));
            let mut servers = shared.cloud.servers(&shared.project);
            servers.retain(|server| server.labels.text(&of_class) == Some(&*class.name));
            let listed = servers.into_iter().map(|server| Listed {
                provider_id: format!("stackit://{}/{}", shared.project, server.id),
                machine: server.labels.text(&of_machine).unwrap_or(&server.name).to_owned(),
                server: server.id,
            });
            listed.collect()
        }
    }
}

/// Why the server is an orphan by the copy, if it is.
fn condemns(listed: &Listed, machine: Option<&Machine>) -> Option<String> {
    let Some(machine) = machine else {
        return Some(format!("its copy has no Machine {}", listed.machine));
    };
    if machine.provider_id == listed.provider_id || matches!(&*machine.phase, "" | "CrashLoopBackOff") {
        return None;
    }
    let Machine { name, provider_id, phase, .. } = machine;
    Some(format!(
        "in its copy the {phase} Machine {name} has the ID {provider_id:?}, the server {}",
        listed.provider_id
    ))
}
