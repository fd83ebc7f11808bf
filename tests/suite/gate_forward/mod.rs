//! What the tests of the gate forward share: a shoot just before Gardener turns its class, and ways to turn it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use rig::shoot::{Provider, Shoot, class};
use rig::{ApiServer, Output, objects};
use serde_json::{Value, json};

use crate::support::DEADLINE;

/// The webhook's name, as refusals and metrics have it.
pub const WEBHOOK: &str = "machineclass.mcm-migration.stackit.cloud";

/// A shoot whose MCM Deployment Gardener has switched, and whose class not yet.
pub struct Switching<'a> {
    pub server: &'a ApiServer,
    pub shoot: Shoot,
    pub namespace: String,
}

impl<'a> Switching<'a> {
    /// With two Machines that have their IDs, and pods of the machine-controller-manager with these providers.
    pub async fn new(server: &'a ApiServer, name: &str, pods: &[Provider]) -> Self {
        let shoot = Shoot::new(name).legacy_machines(2).classes(Provider::OpenStack).pods(pods);
        shoot.create(server).await.unwrap();
        let namespace = shoot.namespace();
        Self { server, shoot, namespace }
    }

    /// A Machine of the class that has no provider ID.
    pub async fn without_id(&self, name: &str) {
        let mut machine = self.shoot.machine(name, "");
        machine["spec"].as_object_mut().unwrap().remove("providerID");
        objects::create(&self.server.admin_client().await.unwrap(), &machine).await.unwrap();
    }

    /// What Gardener's Worker controller does: replaces the class as a whole, by PUT. The HTTP status and the message of a refusal.
    pub async fn replace(&self) -> Result<(), (u16, String)> {
        let client = self.server.admin_client().await.unwrap();
        let mut turned = class(&self.shoot.class(), Provider::Stackit);
        turned["metadata"]["namespace"] = json!(self.namespace);
        let api = objects::api_for(client.clone(), &turned).unwrap();
        let now = objects::get(&client, &turned).await.unwrap().unwrap();
        turned["metadata"]["resourceVersion"] = json!(now.metadata.resource_version);
        let turned = serde_json::from_value(turned).unwrap();
        match api.replace(&self.shoot.class(), &kube::api::PostParams::default(), &turned).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
            Err(error) => panic!("{error}"),
        }
    }

    /// The same by kubectl, as a merge patch; `more` is for example `--dry-run=server`.
    pub async fn patch(&self, patch: Value, more: &[&str]) -> Output {
        let (class, patch) = (self.shoot.class(), patch.to_string());
        self.kubectl(&[&["patch", "machineclass", &class, "--type=merge", "-p", &patch], more].concat()).await
    }

    pub async fn kubectl(&self, args: &[&str]) -> Output {
        self.server.kubectl(&[&["-n", &self.namespace], args].concat(), None).await.unwrap()
    }

    /// Tries to turn the class, as dry runs, until the answer is a refusal with `words`; the whole answer.
    pub async fn refused_with(&self, words: &str) -> String {
        rig::until(&format!("the refusal with {words}"), DEADLINE, || async {
            let output = self.patch(turned(), &["--dry-run=server"]).await;
            anyhow::ensure!(!output.success() && output.stderr.contains(words), "{output:?}");
            Ok(Some(output.stderr))
        })
        .await
        .unwrap()
    }

    /// Tries to turn the class, as dry runs, until it is let in.
    pub async fn let_in(&self) -> Output {
        rig::until("the class may turn", DEADLINE, || async {
            let output = self.patch(turned(), &["--dry-run=server"]).await;
            anyhow::ensure!(output.success(), "{output:?}");
            Ok(Some(output))
        })
        .await
        .unwrap()
    }

    pub async fn provider(&self) -> String {
        let class = self.shoot.class();
        self.kubectl(&["get", "machineclass", &class, "-o", "jsonpath={.provider}"]).await.ok().unwrap()
    }
}

/// The patch that turns a class.
pub fn turned() -> Value {
    json!({"provider": "stackit", "providerSpec": {"region": "eu01"}})
}
