//! The writes that make Machines migrate.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kube::api::{Patch, PatchParams};
use rig::objects;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use crate::observe::provider_id;
use crate::scene::Scene;
use crate::screen::Screen;
use crate::setup::Sandbox;
use crate::{observe, row};

/// The label that is written.
pub(crate) const LABEL: &str = "sandbox.example/written";
const FAIL_OPEN: &str = "apiserver_admission_webhook_fail_open_count";

/// What the writes were.
#[derive(Debug)]
pub(crate) struct Written {
    /// The first Machine that migrated, before and after.
    pub(crate) example: Option<(Value, Value)>,
    /// How many writes there were.
    pub(crate) count: usize,
    /// How many calls of a webhook failed meanwhile, so that the API server passed it over.
    pub(crate) failed_open: f64,
}

/// Waits until a write to an armed shoot would migrate, by dry runs: an API server takes up a webhook configuration, and a
/// replica a condition, a moment after it was written.
pub(crate) async fn until_in_force(sandbox: &Sandbox, deadline: Duration) -> Result<()> {
    for scene in sandbox.scenes.iter().filter(|scene| scene.migrates) {
        let name = scene.shoot.machines().into_iter().next().context("a shoot without Machines migrates nothing")?;
        let machine = machine(scene, &name);
        let dry_run = PatchParams { dry_run: true, ..PatchParams::default() };
        rig::until(&format!("Machines of {} migrate", scene.name()), deadline, || async {
            let api = objects::api_for(sandbox.client.clone(), &machine)?;
            let answer = api.patch(&name, &dry_run, &Patch::Merge(&label())).await?;
            ensure!(provider_id(&answer).starts_with("stackit:"), "its ID is still {}", provider_id(&answer));
            Ok(Some(()))
        })
        .await?;
    }
    Ok(())
}

/// Writes to each Machine, then to each Worker, spread over `spread`, and shows the table after each write.
pub(crate) async fn all(sandbox: &Sandbox, spread: Duration, screen: &mut Screen) -> Result<Written> {
    let mut objects: Vec<(&Scene, Value)> =
        in_turn(&sandbox.scenes).into_iter().map(|(scene, name)| (scene, machine(scene, &name))).collect();
    objects.extend(sandbox.scenes.iter().map(|scene| (scene, worker(scene))));
    let count = objects.len();
    let failed_open = sandbox.server.metric(FAIL_OPEN, &[]).await?;
    let pace = spread / u32::try_from(count).unwrap_or(u32::MAX);
    let mut ticks = interval(pace.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);

    let mut example = None;
    screen.table(row::lines(&observe::rows(sandbox).await?, screen), "")?;
    for (number, (scene, object)) in objects.iter().enumerate() {
        ticks.tick().await;
        let before = if example.is_none() { objects::get(&sandbox.client, object).await? } else { None };
        let after = objects::merge(&sandbox.client, object, &label()).await?;
        if let Some(before) = before.filter(|before| provider_id(before) != provider_id(&after)) {
            example = Some((serde_json::to_value(before)?, serde_json::to_value(&after)?));
        }
        let footer = format!("  write {} of {count}: a {} of {}", number + 1, text(object, "/kind"), scene.name());
        screen.table(row::lines(&observe::rows(sandbox).await?, screen), &footer)?;
    }
    screen.table(row::lines(&observe::rows(sandbox).await?, screen), "")?;
    let failed_open = sandbox.server.metric(FAIL_OPEN, &[]).await? - failed_open;
    Ok(Written { example, count, failed_open })
}

/// The Machines of all shoots in an order in which all shoots are done at about the same time.
fn in_turn(scenes: &[Scene]) -> Vec<(&Scene, String)> {
    let mut machines: Vec<(usize, &Scene, String)> = Vec::new();
    for scene in scenes {
        let names = scene.shoot.machines();
        let count = names.len();
        // The middle of its share of the time, in thousandths.
        let at = |number: usize| (2 * number + 1) * 500 / count.max(1);
        machines.extend(names.into_iter().enumerate().map(|(number, name)| (at(number), scene, name)));
    }
    machines.sort_by_key(|(at, ..)| *at);
    machines.into_iter().map(|(_, scene, name)| (scene, name)).collect()
}

fn label() -> Value {
    json!({ "metadata": { "labels": { LABEL: "yes" } } })
}

fn machine(scene: &Scene, name: &str) -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
        "metadata": { "namespace": scene.shoot.namespace(), "name": name },
    })
}

fn worker(scene: &Scene) -> Value {
    json!({
        "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker",
        "metadata": { "namespace": scene.shoot.namespace(), "name": scene.shoot.worker() },
    })
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
