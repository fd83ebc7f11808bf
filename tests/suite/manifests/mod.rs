//! What the tests of the manifests share: kubectl against a real API server, and the objects that the guard is about.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "each test file uses its part of this one, and a test fails by panicking"
)]

mod cluster;

use serde_json::{Value, json};

pub use cluster::Cluster;

/// A kustomization of the repository.
pub fn folder(name: &str) -> String {
    format!("{}/manifests/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The folders below `manifests` that can be applied, each with a `kustomization.yaml`; the guard is the first.
pub fn kustomizations() -> Vec<String> {
    let manifests = std::path::PathBuf::from(folder(""));
    let (mut found, mut open) = (Vec::new(), vec![manifests.clone()]);
    while let Some(next) = open.pop() {
        if next.join("kustomization.yaml").is_file() {
            found.push(next.strip_prefix(&manifests).unwrap().to_str().unwrap().to_owned());
        }
        let entries = std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path());
        open.extend(entries.filter(|path| path.is_dir()));
    }
    found.sort_by_key(|name| (name != "guard", name.clone()));
    assert!(found.len() > 3 && found[0] == "guard", "{found:?}");
    found
}

/// The kinds of cert-manager that the overlay uses, as far as they have to be known to be applied.
pub const CERT_MANAGER_CRDS: &str = include_str!("cert-manager-crds.yaml");

/// The label of a namespace that the guard goes by.
pub const GUARD: &str = "mcm-migration.stackit.cloud/guard";

/// What every refusal of the guard says first.
pub const PREFIX: &str = "mcm-migration guard: ";

/// A STACKIT provider ID, and the OpenStack one of the same server.
pub const STACKIT_ID: &str = "stackit://0b9c1e34-5d6f-4a7b-8c9d-0e1f2a3b4c5d/6f1d2c3b-4a59-4868-9776-85940312a1b0";
pub const OPENSTACK_ID: &str = "openstack:///RegionOne/6f1d2c3b-4a59-4868-9776-85940312a1b0";

pub fn class(namespace: &str, name: &str, provider: &str) -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineClass",
        "metadata": {"namespace": namespace, "name": name},
        "provider": provider,
        "providerSpec": {"region": "eu01"},
    })
}

pub fn machine(namespace: &str, name: &str, id: Option<&str>) -> Value {
    let mut machine = json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"class": {"kind": "MachineClass", "name": "pool"}},
    });
    if let Some(id) = id {
        machine["spec"]["providerID"] = json!(id);
    }
    machine
}

pub fn migration(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {},
    })
}
