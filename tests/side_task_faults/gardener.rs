//! What Gardener and the machine-controller-manager do meanwhile.

use std::time::Duration;

use kube::Client;
use rig::objects;
use rig::shoot::{Provider, class, mcm_deployment};
use serde_json::{Value, json};

use super::Stage;
use crate::side_task_support::Seed;

/// Turns the Deployment of the machine-controller-manager to STACKIT.
pub async fn switch_deployment(seed: &Seed, stage: &Stage) {
    let mut deployment = mcm_deployment(Provider::Stackit);
    deployment["metadata"]["namespace"] = stage.namespace().into();
    let patch = json!({"spec": {"template": deployment["spec"]["template"]}});
    objects::merge(&seed.client, &deployment, &patch).await.unwrap();
}

/// Turns the class of a shoot to STACKIT, as often as it takes: the gate forward refuses it until every Machine is settled.
pub async fn switch_class(client: &Client, stage: &Stage, within: Duration) -> anyhow::Result<()> {
    let (namespace, name) = (stage.namespace(), stage.shoot.class());
    let mut class = class(&name, Provider::Stackit);
    class["metadata"]["namespace"] = namespace.clone().into();
    let mut spec = class["providerSpec"].clone();
    for gone in ["apiVersion", "kind", "spec"] {
        spec[gone] = Value::Null;
    }
    let patch = json!({"provider": class["provider"], "providerSpec": spec});
    rig::until(&format!("the class of {namespace} is switched"), within, || async {
        let switched = objects::merge(client, &class, &patch).await;
        if switched.is_err() {
            // Gardener waits longer between two tries.
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        switched.map(|_| Some(()))
    })
    .await
}

/// A Machine whose server is lost goes, with its finalizers.
pub async fn drop_machine(seed: &Seed, stage: &Stage, machine: &str) {
    let object = stage.shoot.machine(machine, "");
    objects::merge(&seed.client, &object, &json!({"metadata": {"finalizers": null}})).await.unwrap();
    objects::delete(&seed.client, &object).await.unwrap();
}
