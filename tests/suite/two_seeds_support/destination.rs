//! What Gardener does on the seed that a shoot comes to.

use mcm_stand_in::{Mcm, Options};
use rig::shoot::{Provider, class, mcm_deployment};
use rig::{Shoot, objects};
use serde_json::{Value, json};

use super::DESTINATION;
use super::snapshot::Snapshot;
use super::source::{cluster, worker};
use crate::side_task_support::{LONG, Seed};

/// Brings everything but the Machines: the MCM with 0 replicas, the Worker with the operation restore.
pub async fn prepare(seed: &Seed, shoot: &Shoot, key: &str, provider: Provider) {
    let here = shoot.clone().classes(provider).deployment(Some(provider)).pods(&[]).service_account(key);
    for mut object in here.objects() {
        match object["kind"].as_str().unwrap() {
            "Machine" => continue,
            "Cluster" => {
                object["spec"]["seed"]["metadata"]["name"] = DESTINATION.into();
                let shoot = &mut object["spec"]["shoot"];
                shoot["spec"]["seedName"] = DESTINATION.into();
                shoot["status"]["lastOperation"] = json!({"type": "Restore", "state": "Processing", "progress": 30});
            }
            "Worker" => {
                object["metadata"]["annotations"] = json!({"gardener.cloud/operation": "restore"});
                object["status"]["lastOperation"] = json!({"type": "Restore", "state": "Processing", "progress": 0});
            }
            "Deployment" => object["spec"]["replicas"] = 0.into(),
            _ => {}
        }
        objects::create(&seed.client, &object).await.unwrap();
    }
}

/// Makes the Machines of a snapshot, all at once, and gives the answers in its order.
pub async fn restore(seed: &Seed, snapshot: &Snapshot) -> Vec<anyhow::Result<Value>> {
    let making = snapshot.0.iter().map(async |machine| {
        let made = objects::create(&seed.client, machine).await?;
        Ok(serde_json::to_value(made)?)
    });
    futures::future::join_all(making).await
}

/// The same, where each of them is let in.
pub async fn restore_all(seed: &Seed, snapshot: &Snapshot) -> Vec<Value> {
    restore(seed, snapshot).await.into_iter().map(|made| made.unwrap_or_else(|error| panic!("{error:#}"))).collect()
}

/// The MCM gets its replica.
pub async fn start_mcm(seed: &Seed, shoot: &Shoot, provider: Provider, options: Options) -> Mcm {
    let mut deployment = mcm_deployment(provider);
    deployment["metadata"]["namespace"] = shoot.namespace().into();
    objects::merge(&seed.client, &deployment, &json!({"spec": {"replicas": 1}})).await.unwrap();
    let (namespace, project) = (shoot.namespace(), shoot.project_id());
    Mcm::start(&seed.server, &namespace, provider, seed.cloud(), &project, options).await.unwrap()
}

/// The restore has succeeded.
pub async fn finish(seed: &Seed, shoot: &Shoot) {
    let restored = json!({"type": "Restore", "state": "Succeeded", "progress": 100});
    objects::patch_status(&seed.client, &worker(shoot), &json!({"lastOperation": restored})).await.unwrap();
    let done = json!({"metadata": {"annotations": {"gardener.cloud/operation": null}}});
    objects::merge(&seed.client, &worker(shoot), &done).await.unwrap();
    let status = json!({"seedName": DESTINATION, "lastOperation": restored});
    objects::merge(&seed.client, &cluster(shoot), &json!({"spec": {"shoot": {"status": status}}})).await.unwrap();
}

/// Turns the Deployment and the class of a shoot to STACKIT on the destination, as soon as it is let.
pub async fn switch(seed: &Seed, shoot: &Shoot) {
    let here = |mut object: Value| {
        object["metadata"]["namespace"] = shoot.namespace().into();
        object
    };
    let deployment = here(mcm_deployment(Provider::Stackit));
    let containers = deployment["spec"]["template"]["spec"]["containers"].clone();
    let template = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    objects::merge(&seed.client, &deployment, &template).await.unwrap();
    let class = here(class(&shoot.class(), Provider::Stackit)).to_string();
    rig::until("the class may be flipped", LONG, || async {
        seed.server.kubectl(&["replace", "-f", "-"], Some(&class)).await?.ok().map(Some)
    })
    .await
    .unwrap();
}
