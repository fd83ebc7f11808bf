//! What ends every order: Gardener reconciles until all is turned, and the shoot completes or says why it does not.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use mcm_stand_in::{Event, Mcm};
use rig::objects;
use rig::shoot::Provider;
use serde_json::{Value, json};

use super::order::Obstacle;
use super::play::Play;
use super::write::write;
use crate::side_task_support::{LONG as SHORT, Seed};

/// Nothing takes longer, with many shoots at once on a slow machine.
const LONG: Duration = SHORT.saturating_mul(10);
/// How long Gardener waits between two tries.
const AGAIN: Duration = Duration::from_millis(500);

/// The Deployment and its pod, if they have not been turned yet.
pub async fn switch(play: &mut Play<'_>) -> anyhow::Result<()> {
    if !play.deployed {
        play.deploy().await?;
    }
    // A pod that went before the Deployment was turned has not come again.
    if play.mcms.len() < 2 {
        play.replace_pods().await?;
    }
    Ok(())
}

/// Tries once to turn what is not turned yet; whether all is.
async fn flip_once(play: &mut Play<'_>) -> anyhow::Result<bool> {
    let mut all = true;
    for which in 0..2 {
        let (class, _) = play.stage.class(which, Provider::Stackit);
        let client = &play.stage.seed.client;
        let read =
            write(async || objects::get(client, &class).await).await?.done("a read")?.context("a class is gone")?;
        if read.data["provider"] != "stackit" {
            all &= play.flip(which).await?;
        }
    }
    Ok(all)
}

/// Turns the classes as often as it takes.
pub async fn flip_all(play: &mut Play<'_>) -> anyhow::Result<()> {
    let start = Instant::now();
    while !flip_once(play).await? {
        anyhow::ensure!(start.elapsed() < LONG, "the classes cannot be turned: {}", play.refusal);
        tokio::time::sleep(AGAIN).await;
    }
    Ok(())
}

/// Tries to turn a class back as soon as the guard is proved, which is refused.
pub async fn turn_back_in_vain(play: &mut Play<'_>, class: usize) -> anyhow::Result<()> {
    let start = Instant::now();
    while !write(async || play.stage.holds("Guarded").await).await?.done("a read")? {
        anyhow::ensure!(start.elapsed() < LONG, "the guard is not proved");
        tokio::time::sleep(AGAIN).await;
    }
    play.back(class).await
}

/// Waits until somebody is told what is in the way: by the MachineMigration, or by the refusal of a flip.
pub async fn await_reason(play: &mut Play<'_>, obstacle: Obstacle) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        play.refusal.clear();
        let turned = flip_once(play).await?;
        let migration = play.stage.migration();
        let client = &play.stage.seed.client;
        let read = write(async || objects::get(client, &migration).await).await?.done("a read")?;
        let status = read.map(|one| one.data["status"].clone()).unwrap_or_default();
        let (told, waiting) = (status["conditions"].to_string(), &status["machines"]["waiting"]);
        let told = obstacle.reasons().iter().any(|reason| told.contains(reason) || !waiting[reason].is_null());
        if told || (!turned && play.refusal.contains("machines-unsettled")) {
            return Ok(());
        }
        let so_far = || format!("{obstacle:?} is not told; {} {waiting}; {}", status["reason"], play.refusal);
        anyhow::ensure!(start.elapsed() < LONG, so_far());
        tokio::time::sleep(AGAIN).await;
    }
}

/// Waits until the shoot is through: the condition, and what has to be true with it.
pub async fn complete(play: &Play<'_>) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let holds = write(async || play.stage.holds("Complete").await).await?.done("a read")?;
        let left = if holds { left(play).await? } else { Some("the condition Complete does not hold".to_owned()) };
        let Some(left) = left else { return Ok(()) };
        if start.elapsed() > LONG {
            let migration = objects::get(&play.stage.seed.client, &play.stage.migration()).await?;
            anyhow::bail!(
                "{left}; {}",
                migration.map(|one| one.data["status"]["reason"].to_string()).unwrap_or_default()
            );
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// A server that was left behind, or a second one.
fn is_bad(event: &Event) -> bool {
    matches!(event, Event::Leaked { .. } | Event::Created { second: true, .. })
}

/// What is not as it has to be in the end.
async fn left(play: &Play<'_>) -> anyhow::Result<Option<String>> {
    let stage = &play.stage;
    let machines = write(async || list(play).await).await?.done("a read")?;
    let mut servers: BTreeSet<String> =
        stage.cloud().servers(&stage.shoot.project_id()).into_iter().map(|server| server.id).collect();
    for machine in machines {
        let (metadata, id) = (&machine["metadata"], machine["spec"]["providerID"].as_str().unwrap_or_default());
        let name = metadata["name"].as_str().unwrap_or_default();
        if !metadata["deletionTimestamp"].is_null() {
            return Ok(Some(format!("{name} is still there")));
        }
        let Some(server) = id.strip_prefix(&format!("stackit://{}/", stage.shoot.project_id())) else {
            return Ok(Some(format!("{name} has the ID {id:?}")));
        };
        servers.remove(server);
        let Some(server) = stage.cloud().server(server) else { anyhow::bail!("{name} has lost its server") };
        let labels = [
            ("kubernetes.io/machine", name),
            ("kubernetes.io/machineclass", machine["spec"]["class"]["name"].as_str().unwrap_or_default()),
        ];
        if let Some((key, _)) = labels.iter().find(|(key, value)| server.labels.text(key) != Some(value)) {
            return Ok(Some(format!("the server of {name} has no label {key}")));
        }
        if !metadata["annotations"]["stackit.cloud/machine-should-be-migrated"].is_null() {
            return Ok(Some(format!("{name} has the marker")));
        }
    }
    if let Some(event) = play.mcms.iter().flat_map(Mcm::events).find(is_bad) {
        anyhow::bail!("{event:?}");
    }
    Ok(servers.pop_first().map(|server| format!("the server {server} is nobody's")))
}

async fn list(play: &Play<'_>) -> anyhow::Result<Vec<Value>> {
    let api = objects::api_for(play.stage.seed.client.clone(), &play.stage.machine(0, ""))?;
    let list = api.list(&kube::api::ListParams::default()).await?;
    list.items.into_iter().map(|one| Ok(serde_json::to_value(one)?)).collect()
}

/// Takes away what costs time in later orders: Machines, then the Cluster, so that the shoot is nobody's.
pub async fn clean_up(play: &Play<'_>) -> anyhow::Result<()> {
    let client = &play.stage.seed.client;
    for mcm in &play.mcms {
        write(async || mcm.stop().await).await?.done("the end of a pod")?;
    }
    let namespace = play.stage.shoot.namespace();
    let cluster =
        json!({"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Cluster", "metadata": {"name": namespace}});
    write(async || objects::delete(client, &cluster).await).await?.done("the end of a Cluster")?;
    for machine in write(async || list(play).await).await?.done("a read")? {
        let (machine, free) = (
            json!({"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": machine["metadata"]["name"], "namespace": namespace}}),
            json!({"metadata": {"finalizers": null}}),
        );
        write(async || objects::merge(client, &machine, &free).await).await?.done("its finalizers")?;
        write(async || objects::delete(client, &machine).await).await?.done("the end of a Machine")?;
    }
    Ok(())
}

/// What the API server's audit log says of a shoot's Machines and classes, one line a write, for the message of a failure.
pub fn history(seed: &Seed, number: u64) -> String {
    let namespace = format!("shoot--garden--r{number}");
    let events = seed.server.audit_events_about(&namespace).unwrap_or_default();
    let ours = events.iter().filter(|event| {
        let about = &event["objectRef"];
        about["namespace"] == *namespace
            && matches!(about["resource"].as_str(), Some("machines" | "machineclasses" | "pods"))
            && !matches!(event["verb"].as_str(), Some("get" | "list" | "watch"))
    });
    let line = |event: &Value| {
        let (about, object) = (&event["objectRef"], &event["responseObject"]);
        let user = event["user"]["username"].as_str().unwrap_or_default().rsplit(':').next().unwrap_or_default();
        let annotations = &object["metadata"]["annotations"];
        format!(
            "{} {} {} {}/{} {} {} {} {} {}",
            event["stageTimestamp"],
            event["verb"],
            user,
            about["resource"],
            about["name"],
            event["responseStatus"]["code"],
            object["spec"]["providerID"],
            object["provider"],
            object["metadata"]["deletionTimestamp"],
            annotations,
        )
    };
    ours.map(line).collect::<Vec<_>>().join("\n")
}
