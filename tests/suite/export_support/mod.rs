//! `export` and `restore`, run by an operator with the shipped roles.
#![allow(dead_code, unreachable_pub, reason = "shared by the test files that name this folder; none uses all of it")]

use std::path::{Path, PathBuf};
use std::process::Output;

use rig::arm_by_hand;
use rig::objects;
use rig::shoot::Shoot;
use serde_json::{Value, json};

use crate::rollback_support::{Back, GUARD, MARKER, MIGRATED, OURS, PREVIOUS, WORKER_MARK, worker};
use crate::support::binary;

/// How a command ended, and what it said.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// The line about an object.
    pub fn about(&self, object: &str) -> &str {
        let line = self.out.lines().find(|line| line.contains(&format!("{object} ")));
        line.unwrap_or_else(|| panic!("nothing about {object}: {self:#?}"))
    }
}

impl Back {
    pub async fn command(&self, args: &[&str]) -> Ended {
        let mut command = tokio::process::Command::new(binary());
        command.args(args).args(["--kubeconfig", self.operator.to_str().unwrap(), "--cloud-rate-project", "unlimited"]);
        command.env("STACKIT_IAAS_ENDPOINT", self.seed.simulator.iaas_url());
        command.env("STACKIT_TOKEN_BASEURL", self.seed.simulator.token_url());
        Ended::of(&command.output().await.unwrap())
    }

    pub async fn export(&self, shoot: &Shoot, file: &Path) -> String {
        let (namespace, file) = (shoot.namespace(), file.to_str().unwrap());
        let ended = self.command(&["export", "--namespace", &namespace, "--output", file]).await;
        assert_eq!(ended.code, 0, "{ended:#?}");
        std::fs::read_to_string(file).unwrap()
    }

    pub async fn restore(&self, file: &Path, more: &[&str]) -> Ended {
        self.command(&[&["restore", file.to_str().unwrap()], more].concat()).await
    }

    /// A restore that ends with `code` and writes nothing.
    pub async fn restore_writes_nothing(&self, shoot: &Shoot, file: &Path, more: &[&str], code: i32) -> Ended {
        let (before, written) = (self.versions(shoot).await, self.written());
        let ended = self.restore(file, more).await;
        assert_eq!(ended.code, code, "{ended:#?}");
        assert_eq!(self.versions(shoot).await, before, "{ended:#?}");
        assert_eq!(self.written(), written, "{ended:#?}");
        ended
    }

    /// What was asked of the API server to write for the restore, refused or not.
    pub fn written(&self) -> Vec<String> {
        let events = self.seed.server.audit_events().unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let writes = events.iter().filter(|event| {
            let verb = ["create", "update", "patch", "delete"].contains(&event["verb"].as_str().unwrap_or_default());
            let reviews = text(&event["objectRef"]["apiGroup"]).starts_with("authorization");
            verb && !reviews && event["user"]["username"] == "olga" && event["stage"] == "ResponseComplete"
        });
        writes.map(|event| format!("{} {}", text(&event["verb"]), text(&event["requestURI"]))).collect()
    }

    /// The shoot goes forward, as the webhook and the side task leave it behind.
    pub async fn migrate(&self, shoot: &Shoot) {
        arm_by_hand(&self.seed.client, &shoot.namespace()).await.unwrap();
        for machine in shoot.machines() {
            let object = shoot.machine(&machine, "");
            let annotations = json!({MIGRATED: "true", PREVIOUS: shoot.legacy_id(&machine), MARKER: "true"});
            let patch =
                json!({"metadata": {"annotations": annotations}, "spec": {"providerID": shoot.stackit_id(&machine)}});
            objects::merge(&self.seed.client, &object, &patch).await.unwrap();
            self.label_server(shoot, &machine);
        }
        self.annotate(&worker(shoot), &json!({WORKER_MARK: "true"})).await;
    }

    pub async fn set_guard(&self, shoot: &Shoot, value: &str) {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shoot.namespace()}});
        let patch = json!({"metadata": {"labels": {GUARD: value}}});
        objects::merge(&self.seed.client, &namespace, &patch).await.unwrap();
    }

    pub fn take_labels_off(&self, shoot: &Shoot) {
        for machine in shoot.machines() {
            self.seed.cloud().change_server(&shoot.server_id(&machine), |server| {
                for key in OURS {
                    server.labels.remove(key);
                }
            });
        }
    }

    pub async fn machine(&self, shoot: &Shoot, name: &str) -> Value {
        let machines = self.seed.machines(&shoot.namespace()).await;
        machines.into_iter().find(|machine| machine["metadata"]["name"] == name).unwrap()
    }
}

/// A file of its own in a folder that goes with it.
pub fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("export.jsonl");
    (folder, file)
}
