//! Installing kustomizations the way an operator does, with kubectl, and waiting until they are in force.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{ApiServer, namespaces, objects, wait};

/// How long CRDs and policies may take until they are in force.
const IN_FORCE: Duration = Duration::from_secs(30);

/// Renders a kustomization to its objects, in its order.
pub async fn render(server: &ApiServer, folder: &Path) -> Result<Vec<Value>> {
    let folder = folder.to_str().context("a path that is not UTF-8")?;
    let output = server.kubectl(&["kustomize", folder], None).await?;
    parse(&output.ok().with_context(|| format!("cannot render {folder}"))?)
}

/// Reads the documents of a YAML file; a `List` counts as its items.
pub fn parse(yaml: &str) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(yaml) {
        match Value::deserialize(document).context("no YAML")? {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind").is_some_and(|kind| kind == "List") => {
                match list.remove("items") {
                    Some(Value::Array(items)) => objects.extend(items),
                    _ => bail!("a List without items"),
                }
            }
            object => objects.push(object),
        }
    }
    Ok(objects)
}

/// Installs a kustomization as it is, with server-side apply.
pub async fn apply_folder(server: &ApiServer, folder: &Path) -> Result<()> {
    apply_objects(server, &render(server, folder).await?).await
}

/// Installs a kustomization; the only change is the `clientConfig` of its webhooks, which gets `url_base`
/// (`https://127.0.0.1:4711`) with the path of the service reference, and `ca_pem` unless the product signs itself.
pub async fn apply_webhooks(server: &ApiServer, folder: &Path, url_base: &str, ca_pem: Option<&str>) -> Result<()> {
    let mut rendered = render(server, folder).await?;
    redirect_webhooks(&mut rendered, url_base, ca_pem)?;
    apply_objects(server, &rendered).await
}

/// Installs a kustomization without its webhook configurations.
pub async fn apply_without_webhooks(server: &ApiServer, folder: &Path) -> Result<()> {
    let mut rendered = render(server, folder).await?;
    rendered.retain(|object| !is_webhook_configuration(object));
    apply_objects(server, &rendered).await
}

/// Points the webhooks among `objects` at a URL.
pub fn redirect_webhooks(objects: &mut [Value], url_base: &str, ca_pem: Option<&str>) -> Result<()> {
    for object in objects.iter_mut().filter(|object| is_webhook_configuration(object)) {
        for webhook in object["webhooks"].as_array_mut().context("a webhook configuration without webhooks")? {
            let path = webhook.pointer("/clientConfig/service/path").and_then(Value::as_str).unwrap_or("/");
            let mut config = json!({ "url": format!("{url_base}{path}") });
            if let Some(ca) = ca_pem {
                config["caBundle"] = base64::engine::general_purpose::STANDARD.encode(ca).into();
            }
            webhook["clientConfig"] = config;
        }
    }
    Ok(())
}

fn is_webhook_configuration(object: &Value) -> bool {
    let kind = object["kind"].as_str();
    matches!(kind, Some("MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration"))
}

/// Installs manifests, given as YAML.
pub async fn apply_manifests(server: &ApiServer, yaml: &str) -> Result<()> {
    apply_objects(server, &parse(yaml)?).await
}

/// Installs objects with `kubectl apply --server-side`, and waits until CRDs are served and admission policies enforced.
pub async fn apply_objects(server: &ApiServer, objects: &[Value]) -> Result<()> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
    server.kubectl(&["apply", "--server-side", "-f", "-"], Some(&list)).await?.ok()?;
    for object in objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition") {
        await_crd(server, object).await?;
    }
    if objects.iter().any(|object| object["kind"] == "ValidatingAdmissionPolicy") {
        await_policies(server).await?;
    }
    Ok(())
}

/// Waits until the objects of a CRD can be listed.
async fn await_crd(server: &ApiServer, crd: &Value) -> Result<()> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
    let client = server.admin_client().await?;
    for version in crd["spec"]["versions"].as_array().into_iter().flatten().filter(|version| version["served"] == true)
    {
        let path = format!("/apis/{group}/{}/{plural}?limit=1", text(&version["name"]));
        wait::until(&format!("{plural}.{group} are served"), IN_FORCE, || async {
            let request = http::Request::get(&path).body(Vec::new())?;
            Ok(Some(client.request_text(request).await?))
        })
        .await?;
    }
    Ok(())
}

/// Waits until this API server enforces all admission policies that exist now. (Others over the same etcd may be behind.)
///
/// The API server says of none whether it enforces it, but takes them up in the order of their creation; so a policy that
/// is made last, and whose refusal can be seen, vouches for the ones before it. Not for a policy's parameters, whose kind
/// the API server has to find first; see [`await_refusal`].
pub async fn await_policies(server: &ApiServer) -> Result<()> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // Unlike that of every other process that uses the same API server.
    let name = format!("rig-canary-{}-{number}", std::process::id());
    let client = server.admin_client().await?;
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
    objects::create(&client, &policy).await?;
    objects::create(&client, &binding).await?;

    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.clone());
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    let refused = wait::until("the API server enforces its admission policies", IN_FORCE, || async {
        match maps.create(&dry_run, &map).await {
            Err(kube::Error::Api(status)) if status.message.contains("canary of the rig") => Ok(Some(())),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(None),
        }
    })
    .await;
    for object in [&binding, &policy] {
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

/// `kubectl delete -k folder` until it has ended, with somebody who empties and ends terminating namespaces meanwhile.
pub async fn delete_folder(server: &ApiServer, folder: &Path) -> Result<()> {
    let folder = folder.to_str().context("a path that is not UTF-8")?;
    let args = ["delete", "-k", folder, "--ignore-not-found", "--timeout=60s"];
    let delete = server.kubectl(&args, None);
    let controller = async {
        loop {
            // What fails now, as objects come and go, is tried again.
            let _ = namespaces::end_terminating(server).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        output = delete => output?.ok().map(drop),
        () = controller => Ok(()),
    }
}
