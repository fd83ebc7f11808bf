//! Two seeds before one cloud, and what Gardener does with a shoot that moves from one to the other.
#![allow(dead_code, unreachable_pub, reason = "shared by the test files that name this folder; none uses all of it")]

pub mod destination;
pub mod snapshot;
pub mod source;

use std::sync::Arc;
use std::time::Duration;

use mcm_stand_in::{Killed, Mcm};
use rig::{Product, Shoot, TxtZone, objects};
use serde_json::{Value, json};
use simulator::{Call, Cloud, Operation, Simulator};

use crate::side_task_support::{LONG, Seed, assert_harmless};

/// The name of the seed that shoots are restored on; the other one's is [`rig::shoot::SEED`].
pub const DESTINATION: &str = "seed-two";

/// Both seeds, and the records outside of them that say whose a shoot is.
pub struct Seeds {
    pub source: Seed,
    pub destination: Seed,
    pub records: TxtZone,
}

impl Seeds {
    pub async fn start() -> Self {
        let simulator = Arc::new(Simulator::start().unwrap());
        let seed = || Seed::start_before(Arc::clone(&simulator));
        let (source, destination) = tokio::join!(seed(), seed());
        Self { source, destination, records: TxtZone::start().unwrap() }
    }

    pub fn cloud(&self) -> Arc<Cloud> {
        self.source.cloud()
    }

    /// The product on the seed that a shoot leaves.
    pub async fn product_on_source(&self, more: &[&str]) -> Product {
        self.source.one_replica_called("source", more).await
    }

    /// The product on the seed that a shoot comes to.
    pub async fn product_on_destination(&self, more: &[&str]) -> Product {
        self.destination.one_replica_called("destination", more).await
    }

    /// The flags with which a seed asks the owner records.
    pub fn owner_record<'a>(&self, address: &'a mut String, id: &'a str) -> [&'a str; 6] {
        *address = self.records.address().to_string();
        ["--owner-record", "owner.{name}.{project}.example.org", "--owner-id", id, "--owner-record-server", address]
    }

    /// Writes the owner record of a shoot.
    pub fn owns(&self, shoot: &Shoot, seed: &str) {
        self.records.set(&format!("owner.{}.garden.example.org", shoot.worker()), seed);
    }

    /// What the product of one seed wrote to the cloud for a shoot.
    pub fn writes(&self, seed: &str, shoot: &Shoot) -> Vec<Call> {
        let prefix = format!("/caller/{seed}/");
        let project = Some(shoot.project_id());
        self.writes_under(&prefix).filter(|call| call.project == project).collect()
    }

    fn writes_under(&self, prefix: &str) -> impl Iterator<Item = Call> {
        let is_write = |call: &Call| call.operation.is_write() && call.operation != Operation::Token;
        self.cloud().journal().into_iter().filter(move |call| call.path.starts_with(prefix) && is_write(call))
    }

    /// The product wrote to the cloud for these shoots and for nobody else, on either seed.
    pub fn assert_writes_are_for<const N: usize>(&self, names: [&str; N]) {
        let projects = names.map(|name| Some(Shoot::new(name).project_id()));
        let foreign: Vec<Call> =
            self.writes_under("/caller/").filter(|call| !projects.contains(&call.project)).collect();
        assert!(foreign.is_empty(), "written in other projects: {foreign:#?}");
    }

    /// No server was deleted by anybody, only our labels were sent, and every Machine of the destination has its server.
    pub async fn assert_no_server_lost(&self, shoot: &Shoot) {
        let cloud = self.cloud();
        let deleted = cloud.calls(Operation::DeleteServer);
        assert!(deleted.is_empty(), "{deleted:#?}");
        assert_harmless(&cloud.journal());
        for machine in self.destination.machines(&shoot.namespace()).await {
            let id = machine["spec"]["providerID"].as_str().unwrap().rsplit('/').next().unwrap();
            assert!(cloud.server(id).is_some(), "{} lost its server", machine["metadata"]["name"]);
        }
    }
}

/// The key of the shoot's service account, as both seeds have it.
pub async fn key(seed: &Seed, shoot: &Shoot) -> String {
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "cloudprovider", "namespace": shoot.namespace()}});
    let secret = objects::get(&seed.client, &secret).await.unwrap().unwrap();
    let data: std::collections::BTreeMap<String, k8s_openapi::ByteString> =
        serde_json::from_value(secret.data["data"].clone()).unwrap();
    String::from_utf8(data["serviceaccount.json"].0.clone()).unwrap()
}

/// The provider IDs of a shoot's Machines on a seed, by name.
pub async fn ids(seed: &Seed, shoot: &Shoot) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let machines = seed.machines(&shoot.namespace()).await.into_iter();
    machines.map(|machine| (text(&machine["metadata"]["name"]), text(&machine["spec"]["providerID"]))).collect()
}

/// Waits until each Machine of a shoot has an ID with this beginning on a seed.
pub async fn await_ids(seed: &Seed, shoot: &Shoot, beginning: &str) {
    rig::until(&format!("the IDs begin with {beginning}"), LONG, || async {
        let ids = ids(seed, shoot).await;
        anyhow::ensure!(!ids.is_empty() && ids.iter().all(|(_, id)| id.starts_with(beginning)), "{ids:?}");
        Ok(Some(()))
    })
    .await
    .unwrap();
}

/// Waits until the product on a seed says in its log that it stays away from a shoot for this reason.
pub async fn await_reason(product: &Product, shoot: &Shoot, reason: &str, within: Duration) {
    let namespace = shoot.namespace();
    let says = |line: &Value| line["namespace"] == namespace && line.to_string().contains(reason);
    let said = product.await_log(says, within).await;
    said.unwrap_or_else(|error| panic!("nothing is said of {reason}: {error:#}"));
}

/// Waits until an MCM would kill, which is what the test is about, and ends it.
pub async fn kills(mcm: &Mcm) -> Killed {
    let killed = tokio::time::timeout(LONG, mcm.would_kill()).await.expect("this is where servers die");
    mcm.stop().await.unwrap();
    // What it would have killed besides is no surprise either.
    drop(mcm.killed());
    killed
}
