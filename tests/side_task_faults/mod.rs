//! What the tests of faults share: shoots with all that a step may need, and what holds at the end of each.
#![allow(dead_code, unreachable_pub, reason = "shared by the test files that name this folder; none uses all of it")]
#![allow(clippy::print_stderr, reason = "a long test says how far it is")]

pub mod gardener;
pub mod pairs;
pub mod proof;
pub mod steps;
pub mod troubles;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use rig::shoot::{Provider, Shoot, class, uuid};
use rig::{Product, objects};
use serde_json::{Value, json};
use simulator::{Nic, Server, ServiceAccountKey, Volume};

use crate::side_task_support::Seed;

/// The networks of pods that the fixture's OpenStack classes name.
pub const PODS: &str = "100.64.0.0/12";

/// A shoot with servers behind it: each with a network interface and a boot volume that outlives it.
#[derive(Debug, Clone)]
pub struct Stage {
    pub shoot: Shoot,
    pub key: ServiceAccountKey,
    /// The Machine that OpenStack had not given its ID yet.
    pub in_flight: Option<String>,
}

impl Stage {
    /// A shoot that Gardener has switched, without any pod of the machine-controller-manager: nobody holds a cache, so no Lease is asked for.
    pub async fn switched(seed: &Seed, name: &str, machines: usize) -> Self {
        Self::of(seed, Shoot::new(name).legacy_machines(machines).pods(&[])).await
    }

    /// Any shoot.
    pub async fn of(seed: &Seed, shoot: Shoot) -> Self {
        Self::with(seed, shoot, &[]).await
    }

    /// Any shoot, with objects of its namespace that are there before its Machines are.
    pub async fn with(seed: &Seed, shoot: Shoot, more: &[Value]) -> Self {
        let key = seed.cloud().add_project(&shoot.project_id());
        let shoot = shoot.service_account(&key.json());
        for machine in shoot.machines() {
            seed.cloud().add_server(&shoot.project_id(), "eu01", server(&shoot, &machine, &[PODS]));
        }
        let (mut machines, others): (Vec<_>, Vec<_>) =
            shoot.objects().into_iter().partition(|object| object["kind"] == "Machine");
        for machine in &mut machines {
            // It can be too long for a label, and nothing here asks for it.
            machine["metadata"]["labels"]["node"] = "node".into();
        }
        for object in others.iter().chain(more).chain(&machines) {
            objects::create(&seed.client, object).await.unwrap();
        }
        Self { shoot, key, in_flight: None }
    }

    /// A switched shoot with a class that was left behind and that nothing wants.
    pub async fn with_a_class_left(seed: &Seed, name: &str) -> Self {
        let shoot = Shoot::new(name).legacy_machines(1).pods(&[]);
        let mut left = class(&format!("{}-0ld00", shoot.machine_deployment()), Provider::OpenStack);
        left["metadata"]["namespace"] = shoot.namespace().into();
        Self::with(seed, shoot, &[left]).await
    }

    /// A shoot in the middle of its switch: the Deployment is STACKIT's, the class OpenStack's still, and one Machine has no ID although its
    /// server is there, without the addresses of pods.
    pub async fn switching(seed: &Seed, name: &str) -> Self {
        let shoot = Shoot::new(name).legacy_machines(1).before_the_switch().pods(&[]);
        let mut stage = Self::of(seed, shoot).await;
        let machine = format!("{}-5f3d1-fresh", stage.shoot.machine_deployment());
        seed.cloud().add_server(&stage.shoot.project_id(), "eu01", server(&stage.shoot, &machine, &[]));
        let mut object = stage.shoot.machine(&machine, "");
        object["status"] = json!({"currentStatus": {"phase": "Pending"}});
        objects::create(&seed.client, &object).await.unwrap();
        // Only now, or the Machine counts as one that came later.
        gardener::switch_deployment(seed, &stage).await;
        stage.in_flight = Some(machine);
        stage
    }

    pub fn namespace(&self) -> String {
        self.shoot.namespace()
    }

    pub fn project(&self) -> String {
        self.shoot.project_id()
    }
}

/// The server behind a Machine, as the OpenStack provider left it.
pub fn server(shoot: &Shoot, machine: &str, addresses: &[&str]) -> Server {
    let nic = Nic::new(uuid("network"), machine).with_allowed_addresses(addresses.iter().copied());
    Server::new(shoot.server_id(machine), machine).with_nic(nic).with_volume(Volume::boot(machine))
}

/// Waits until every one of these namespaces' MachineMigration is `Complete`. One LIST a second, however many there are.
pub async fn await_complete<'a>(seed: &Seed, stages: impl IntoIterator<Item = &'a Stage>, within: Duration) {
    let all: Vec<String> = stages.into_iter().map(Stage::namespace).collect();
    let start = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let there = migrations(seed).await.unwrap_or_default();
        let is_left = |namespace: &&String| !there.get(*namespace).is_some_and(is_complete);
        let left: Vec<_> = all.iter().filter(is_left).collect();
        if left.is_empty() {
            return;
        }
        let examples: Vec<_> = left.iter().take(5).map(|name| there.get(*name).map(|it| &it["status"])).collect();
        assert!(
            start.elapsed() < within,
            "{} of {} are not Complete: {left:?}, such as {examples:#?}",
            left.len(),
            all.len()
        );
    }
}

/// All MachineMigrations, by namespace.
pub async fn migrations(seed: &Seed) -> anyhow::Result<BTreeMap<String, Value>> {
    let gvk = GroupVersionKind::gvk("mcm-migration.stackit.cloud", "v1alpha1", "MachineMigration");
    let api: Api<DynamicObject> = Api::all_with(seed.client.clone(), &ApiResource::from_gvk(&gvk));
    let list = api.list(&ListParams::default()).await?;
    list.items
        .into_iter()
        .map(|object| Ok((object.metadata.namespace.clone().unwrap_or_default(), serde_json::to_value(object)?)))
        .collect()
}

pub fn is_complete(migration: &Value) -> bool {
    let conditions = migration["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|it| it["type"] == "Complete" && it["status"] == "True")
}

/// Waits until the status says that a Machine of the shoot waits for `reason` (as written in conditions).
pub async fn await_waiting(seed: &Seed, stage: &Stage, reason: &str, within: Duration) {
    let namespace = stage.namespace();
    rig::until(&format!("a Machine of {namespace} waits for {reason}"), within, || async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let status = seed.migration(&namespace).await?["status"].take();
        anyhow::ensure!(status["machines"]["waiting"][reason].as_i64() >= Some(1), "its status is {status}");
        Ok(Some(()))
    })
    .await
    .unwrap();
}

/// Waits until the status gives `reason`, for the shoot as a whole or for a Machine.
pub async fn await_reason(seed: &Seed, stage: &Stage, reason: &str, within: Duration) {
    let namespace = stage.namespace();
    rig::until(&format!("{namespace} waits for {reason}"), within, || async {
        let status = seed.migration(&namespace).await?["status"].take();
        let of_machines = status["machines"]["waiting"][reason].as_i64() >= Some(1);
        anyhow::ensure!(status["reason"] == reason || of_machines, "its status is {status}");
        Ok(Some(()))
    })
    .await
    .unwrap();
}

/// The Events of a namespace.
pub async fn events_of(seed: &Seed, namespace: &str) -> anyhow::Result<Vec<Value>> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Event"));
    let api: Api<DynamicObject> = Api::namespaced_with(seed.client.clone(), namespace, &resource);
    let list = api.list(&ListParams::default()).await?;
    list.items.into_iter().map(|event| Ok(serde_json::to_value(event)?)).collect()
}

/// Waits until the metric says that something waits for a reason (in kebab-case).
pub async fn await_metric(product: &Product, reason: &str, within: Duration) {
    rig::until(&format!("the metric tells of {reason}"), within, || async {
        let count = product.metric("mcm_migration_webhook_sidetask_waiting", &[("reason", reason)]).await?;
        if count >= 1.0 {
            return Ok(Some(()));
        }
        let metrics = product.metrics().await?;
        let told: Vec<_> = metrics.lines().filter(|line| line.contains("sidetask_waiting{")).collect();
        anyhow::bail!("it tells of {told:#?}");
    })
    .await
    .unwrap();
}

/// What a namespace's failed steps gave as reasons, by step; without those that the API server was too slow for.
pub fn failures(lines: &[Value], namespace: &str) -> BTreeSet<(String, String)> {
    let text = |line: &Value, field: &str| line[field].as_str().unwrap_or_default().to_owned();
    lines
        .iter()
        .filter(|line| line["message"] == "side task" && line["namespace"] == namespace && line["outcome"] == "failed")
        .map(|line| (text(line, "step"), text(line, "reason")))
        .filter(|(_, reason)| !matches!(reason.as_str(), "read-failed" | "write-failed"))
        .collect()
}
