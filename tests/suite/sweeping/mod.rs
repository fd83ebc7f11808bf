//! A seed with shoots that have migrated, what their gone Machines left behind, and the command `sweep` run against it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::collections::BTreeSet;

use rig::shoot::uuid;
use rig::{Shoot, arm_by_hand, objects};
use serde_json::{Value, json};
use simulator::{Cloud, Nic, Operation, Volume};

use crate::side_task_support::Seed;
use crate::support::binary;

/// How the command ended, and what it said.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The lines about something.
    pub fn about(&self, what: &str) -> Vec<&str> {
        self.stdout.lines().filter(|line| line.contains(what)).collect()
    }

    /// The last line about something.
    pub fn end(&self, what: &str) -> &str {
        self.about(what).pop().unwrap_or_else(|| panic!("nothing is said of {what}: {self:?}"))
    }
}

/// Runs the command as an administrator.
pub async fn sweep(seed: &Seed, args: &[&str]) -> Run {
    let mut command = tokio::process::Command::new(binary());
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").env("HOME", "/nonexistent");
    command.env("STACKIT_IAAS_ENDPOINT", seed.simulator.iaas_url());
    command.env("STACKIT_TOKEN_BASEURL", seed.simulator.token_url());
    command.arg("sweep").args(args).arg("--kubeconfig").arg(seed.server.admin_kubeconfig()).kill_on_drop(true);
    let output = command.output().await.unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A shoot whose Machines have migrated, guarded, with nothing left of OpenStack.
pub async fn migrated(seed: &Seed, name: &str, machines: usize) -> Shoot {
    let shoot = seed.create(Shoot::new(name).legacy_machines(0).migrated_machines(machines)).await;
    arm_by_hand(&seed.client, &shoot.namespace()).await.unwrap();
    shoot
}

/// A Machine's name in the shoot.
pub fn named(shoot: &Shoot, suffix: &str) -> String {
    format!("{}-5f3d1-{suffix}", shoot.machine_deployment())
}

/// The labels that the side task put while the Machine lived.
pub fn labels(namespace: &str, machine: &str) -> Value {
    json!({
        "mcm-migration-machine": machine,
        "mcm-migration-shoot": namespace,
        "mcm-migration-server": uuid(&format!("server of {machine}")),
    })
}

pub fn nic(shoot: &Shoot, machine: &str) -> Nic {
    Nic::new(uuid("network"), machine)
        .with_id(uuid(&format!("nic of {machine}")))
        .with_labels(labels_of(&labels(&shoot.namespace(), machine)))
}

pub fn volume(shoot: &Shoot, machine: &str) -> Volume {
    Volume::new(machine)
        .with_id(uuid(&format!("volume of {machine}")))
        .with_labels(labels_of(&labels(&shoot.namespace(), machine)))
}

pub fn labels_of(labels: &Value) -> simulator::Labels {
    simulator::Labels::Map(labels.as_object().unwrap().clone().into_iter().collect())
}

/// Puts a network interface and a volume there that a gone Machine left behind.
pub fn left_behind(seed: &Seed, shoot: &Shoot, machine: &str) -> (Nic, Volume) {
    let (nic, volume) = (nic(shoot, machine), volume(shoot, machine));
    seed.cloud().add_nic(&shoot.project_id(), "eu01", nic.clone());
    seed.cloud().add_volume(&shoot.project_id(), "eu01", volume.clone());
    (nic, volume)
}

/// The IDs of all network interfaces and volumes of the shoot's project.
pub fn parts(cloud: &Cloud, shoot: &Shoot) -> BTreeSet<String> {
    let project = shoot.project_id();
    let nics = cloud.nics(&project).into_iter().map(|(nic, _)| nic.id);
    nics.chain(cloud.volumes(&project).into_iter().map(|(volume, _)| volume.id)).collect()
}

/// What was deleted, in order.
pub fn deleted(cloud: &Cloud) -> Vec<String> {
    let deletions = cloud.journal().into_iter().filter(|call| {
        matches!(call.operation, Operation::DeleteNic | Operation::DeleteVolume | Operation::DeleteServer)
            && call.applied
            && call.by.is_none()
    });
    deletions.filter_map(|call| call.nic.or(call.volume).or(call.server)).collect()
}

/// Changes an object of the shoot's namespace.
pub async fn merge(seed: &Seed, api_version: &str, kind: &str, namespace: &str, name: &str, patch: Value) {
    let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
    objects::merge(&seed.client, &object, &patch).await.unwrap();
}
