//! What the tests of the side task's API server share: a real one, and the rights that are shipped.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test file uses its part of this one, and a test fails by panicking"
)]

pub(crate) use crate::world;

use std::path::Path;
use std::sync::Arc;

use kube::config::{KubeConfigOptions, Kubeconfig};
use mcm_migration_webhook::sidetask::KubeCluster;
use mcm_migration_webhook::world::World;
use rig::{Shared, Shoot, install, objects};
use serde_json::{Value, json};

pub use world::Seed;
use world::{MAX_AGE, repository};

pub const GUARD: &str = "mcm-migration.stackit.cloud/guard";
pub const MARKER: &str = "stackit.cloud/machine-should-be-migrated";
/// 2^53 + 1: no floating-point number.
pub const BIG: u64 = 9_007_199_254_740_993;

/// One for all tests of a file, with the guard in force; each test has shoots of its own.
pub async fn seed() -> Arc<Seed> {
    static SEED: Shared<Seed> = Shared::new();
    SEED.get(async || {
        let seed = Seed::start().await;
        install::apply_folder(&seed.server, &repository("manifests/guard")).await.unwrap();
        seed
    })
    .await
}

/// The API server as the program has it, by the shipped service account. Belongs to the test that makes it.
pub async fn cluster(seed: &Seed) -> KubeCluster {
    cluster_of(&seed.kubeconfig, Arc::new(World::new(MAX_AGE))).await
}

pub async fn cluster_of(kubeconfig: &Path, world: Arc<World>) -> KubeCluster {
    rig::install_tls_provider();
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    KubeCluster::new(config, world).unwrap()
}

/// Makes a shoot, and gives its namespace.
pub async fn make(seed: &Seed, shoot: &Shoot) -> String {
    shoot.create(&seed.server).await.unwrap();
    shoot.namespace()
}

/// An object by kind and name, without what every write changes. Panics where there is none.
pub async fn object(seed: &Seed, id: &Value) -> Value {
    let found = objects::get(&seed.admin().await, id).await.unwrap().unwrap_or_else(|| panic!("no {id}"));
    let mut found = serde_json::to_value(found).unwrap();
    let metadata = found["metadata"].as_object_mut().unwrap();
    for changing in ["resourceVersion", "managedFields", "generation"] {
        metadata.remove(changing);
    }
    found
}

/// The resourceVersion of an object.
pub async fn version(seed: &Seed, id: &Value) -> String {
    let found = objects::get(&seed.admin().await, id).await.unwrap().unwrap_or_else(|| panic!("no {id}"));
    found.metadata.resource_version.unwrap()
}

/// What differs, as `op path value`, in order.
pub fn difference(before: &Value, after: &Value) -> Vec<String> {
    let value = |operation: &Value| match &operation["value"] {
        Value::Null => String::new(),
        value => format!(" {value}"),
    };
    let operations = serde_json::to_value(json_patch::diff(before, after)).unwrap();
    let mut operations: Vec<String> = operations
        .as_array()
        .unwrap()
        .iter()
        .map(|operation| {
            let text = |key: &str| operation[key].as_str().unwrap().to_owned();
            format!("{} {}{}", text("op"), text("path").replace("~1", "/"), value(operation))
        })
        .collect();
    operations.sort();
    operations
}

pub fn machine(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine", "metadata": {"namespace": namespace, "name": name}})
}

pub fn class(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineClass", "metadata": {"namespace": namespace, "name": name}})
}

pub fn worker(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker", "metadata": {"namespace": namespace, "name": name}})
}

pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub fn migration(namespace: &str) -> Value {
    json!({
        "apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
        "metadata": {"namespace": namespace, "name": "openstack-to-stackit"}, "spec": {},
    })
}
