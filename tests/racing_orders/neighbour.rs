//! A legacy shoot that does not migrate, and what is written there all the time.

use rig::objects;
use rig::shoot::{Provider, Shoot, class, mcm_deployment};
use serde_json::{Value, json};

use super::write::write;
use crate::side_task_support::Seed;

/// Makes the shoots that do not migrate.
pub async fn create(seed: &Seed, count: usize) -> Vec<Shoot> {
    let mut shoots = Vec::new();
    for number in 0..count {
        shoots.push(seed.create(Shoot::new(&format!("n{number}")).before_the_switch().legacy_machines(2)).await);
    }
    shoots
}

/// Whatever Gardener, the MCM and operators write there; none of it is refused, and no ID changes.
pub async fn work(seed: &Seed, shoot: &Shoot, turn: &str) -> anyhow::Result<()> {
    let client = &seed.client;
    let here = |mut object: Value| {
        object["metadata"]["namespace"] = shoot.namespace().into();
        object
    };
    let (name, touched) =
        (format!("{}-{turn}", shoot.machine_deployment()), json!({"metadata": {"annotations": {"by": turn}}}));
    let machine = shoot.machine(&name, &shoot.legacy_id(&name));
    let create = async || match objects::create(client, &machine).await {
        Err(error) if format!("{error:#}").contains("already exists") => Ok(()),
        made => made.map(drop),
    };
    write(create).await?.done("the creation of a legacy Machine")?;
    let worker = here(
        json!({"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker", "metadata": {"name": shoot.worker()}}),
    );
    let objects = [
        machine.clone(),
        here(class(&shoot.class(), Provider::OpenStack)),
        here(mcm_deployment(Provider::OpenStack)),
        worker,
    ];
    for object in &objects {
        let what = format!("a write to the {} of a legacy shoot", object["kind"]);
        let written = write(async || objects::merge(client, object, &touched).await).await?.done(&what)?;
        if object["kind"] == "Machine" {
            anyhow::ensure!(
                written.data["spec"]["providerID"] == machine["spec"]["providerID"],
                "{name} was rewritten"
            );
        }
    }
    let running = json!({"currentStatus": {"phase": "Running"}});
    write(async || objects::patch_status(client, &machine, &running).await).await?.done("a legacy Machine's status")?;
    let free = json!({"metadata": {"finalizers": null}});
    write(async || objects::merge(client, &machine, &free).await).await?.done("its finalizers")?;
    write(async || objects::delete(client, &machine).await).await?.done("the deletion of a legacy Machine")
}
