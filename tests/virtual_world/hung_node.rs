//! A Node that hangs with the OpenStack machine-controller-manager on it, whose pod is then gone from the API, and that comes back.

use std::time::Duration;

use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::domain::{Provider, ServerStatus};

use crate::cloud::server;
use crate::gardener::pause;
use crate::journal::Kind;
use crate::mischief::change;
use crate::shoots;
use crate::world::{Shared, lock};

/// While the Node hangs a Machine is made, whose class is OpenStack's. What wakes up there asks for its server, and ends before it can write the ID.
pub async fn run(world: Shared, namespace: Box<str>) {
    lock(&world).nodes_ready = false;
    while lock(&world).shoots[&namespace].facts.openstack_mcm_pod().is_some() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    pause(&world, 10..60).await;
    let machine: Box<str> = format!("{namespace}-late").into();
    let Some(class) = lock(&world).shoots[&namespace].facts.openstack_class().map(Box::from) else { return };
    change(&world, &namespace, &format!("machine/{machine}"), |objects| {
        objects.facts.machines.insert(machine.clone(), MachineFacts { class, ..MachineFacts::default() });
    });
    // All of them at the same time: the Nodes are those of every shoot.
    let wakes_up = Duration::from_secs(420);
    let left = wakes_up.saturating_sub(lock(&world).now());
    tokio::time::sleep(left).await;
    let now = lock(&world).now();
    {
        let mut world = lock(&world);
        (world.nodes_ready, world.calm_since) = (true, now);
    }
    pause(&world, 1..9).await;
    let mut world = lock(&world);
    let facts = &world.shoots[&namespace].facts;
    let asked =
        facts.machines.get(&machine).is_some_and(|late| facts.classes.get(&late.class) == Some(&Provider::OpenStack));
    if asked {
        let id = shoots::server_id(0x800, &namespace);
        world.servers.insert(id, server(id, &machine, ServerStatus::Creating));
        world.step(Kind::Change, format_args!("server {id} of {machine} is asked for by what wakes up"));
    }
}
