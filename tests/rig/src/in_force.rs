//! Waiting until the API server acts on what was installed: it takes CRDs, admission policies and webhook configurations
//! up a moment after it has stored them, and says of none of the latter whether it has.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::{ApiServer, objects, wait};

/// How long it may take.
const IN_FORCE: Duration = Duration::from_secs(120);

/// Waits until this API server acts on `objects` (kinds other than those above need no waiting). Others over the same
/// etcd may be behind; call this for each.
pub async fn await_objects(server: &ApiServer, objects: &[Value]) -> Result<()> {
    for object in objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition") {
        await_crd(server, object).await?;
    }
    let any = |kind: &str| objects.iter().any(|object| object["kind"] == kind);
    if any("ValidatingAdmissionPolicy") {
        await_policies(server).await?;
    }
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        if any(kind) {
            await_webhooks(server, kind).await?;
        }
    }
    Ok(())
}

/// Waits until the objects of a CRD can be listed.
async fn await_crd(server: &ApiServer, crd: &Value) -> Result<()> {
    let client = server.admin_client().await?;
    let what = format!("{} are served", text(&crd["metadata"]["name"]));
    for version in served(crd) {
        let path = format!("{version}/{}?limit=1", text(&crd["spec"]["names"]["plural"]));
        wait::until(&what, IN_FORCE, || found(&client, &path)).await?;
    }
    Ok(())
}

/// Waits until the objects of a CRD that is gone are neither served nor spoken of.
pub(crate) async fn await_end_of_crd(server: &ApiServer, crd: &Value) -> Result<()> {
    let client = server.admin_client().await?;
    let what = format!("{} are no longer served", text(&crd["metadata"]["name"]));
    let plural = text(&crd["spec"]["names"]["plural"]);
    for version in served(crd) {
        wait::until(&what, IN_FORCE, || async {
            if found(&client, &format!("{version}/{plural}?limit=1")).await?.is_some() {
                return Ok(None);
            }
            // Without the version, or with it for the sake of other kinds.
            let known = found(&client, &version).await?.unwrap_or_default();
            let named = |kind: &Value| kind["name"] == plural;
            Ok((!known["resources"].as_array().into_iter().flatten().any(named)).then_some(()))
        })
        .await?;
    }
    Ok(())
}

/// What is at a path; nothing if there is none (404). Any other refusal is an error.
async fn found(client: &kube::Client, path: &str) -> Result<Option<Value>> {
    match client.request(http::Request::get(path).body(Vec::new())?).await {
        Ok(there) => Ok(Some(there)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The paths of the versions of a CRD that are served.
fn served(crd: &Value) -> impl Iterator<Item = String> {
    let group = text(&crd["spec"]["group"]);
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    versions
        .filter(|version| version["served"] == true)
        .map(move |version| format!("/apis/{group}/{}", text(&version["name"])))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Waits until this API server enforces all admission policies that exist now.
///
/// It takes them up in the order of their creation; so one that is made last, and whose refusal can be seen, vouches for
/// the ones before it. Not for a policy's parameters, whose kind the API server has to find first; see [`await_refusal`].
pub async fn await_policies(server: &ApiServer) -> Result<()> {
    let name = canary_name();
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
                "resourceNames": [name],
            }] },
            "validations": [{ "expression": "false", "message": "canary of the rig" }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": name },
        "spec": { "policyName": name, "validationActions": ["Deny"] },
    });
    await_canary(server, &name, &[policy, binding], "canary of the rig").await
}

/// The same for webhook configurations of `kind`; its canary calls a port where nobody is.
pub async fn await_webhooks(server: &ApiServer, kind: &str) -> Result<()> {
    let name = canary_name();
    let webhook = format!("{name}.rig.test");
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
        "metadata": { "name": name },
        "webhooks": [{
            "name": webhook, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
            "timeoutSeconds": 1, "clientConfig": { "url": "https://127.0.0.1:1/" },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"] }],
            "matchConditions": [{ "name": "canary", "expression": format!("object.metadata.name == '{name}'") }],
        }],
    });
    await_canary(server, &name, &[configuration], &webhook).await
}

/// A name unlike that of every other process that uses the same API server.
fn canary_name() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("rig-canary-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Makes `objects`, waits until a `ConfigMap` called `name` is refused with `message`, and takes them away again.
async fn await_canary(server: &ApiServer, name: &str, objects: &[Value], message: &str) -> Result<()> {
    let client = server.admin_client().await?;
    for object in objects {
        objects::create(&client, object).await?;
    }
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let refused = wait::until("the API server acts on what was installed", IN_FORCE, || async {
        match maps.create(&dry_run, &map).await {
            Err(kube::Error::Api(status)) if status.message.contains(message) => Ok(Some(())),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(None),
        }
    })
    .await;
    for object in objects.iter().rev() {
        objects::delete(&client, object).await?;
    }
    refused
}

/// Runs kubectl, which should be a dry run, until it is refused with a message that contains `message`; gives the message.
pub async fn await_refusal(server: &ApiServer, args: &[&str], stdin: Option<&str>, message: &str) -> Result<String> {
    wait::until(&format!("the refusal '{message}'"), IN_FORCE, || async {
        let output = server.kubectl(args, stdin).await?;
        match output.success() {
            true => Ok(None),
            false if output.stderr.contains(message) => Ok(Some(output.stderr)),
            false => bail!("refused for another reason: {}", output.stderr.trim()),
        }
    })
    .await
}
