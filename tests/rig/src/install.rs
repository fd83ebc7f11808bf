//! Installing kustomizations the way an operator does, with kubectl, and waiting until they are in force.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use base64::Engine as _;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{ApiServer, in_force, namespaces};

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

/// Installs objects with `kubectl apply --server-side`, and waits until CRDs are served and admission policies and webhook
/// configurations in force.
pub async fn apply_objects(server: &ApiServer, objects: &[Value]) -> Result<()> {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
    server.kubectl(&["apply", "--server-side", "-f", "-"], Some(&list)).await?.ok()?;
    in_force::await_objects(server, objects).await
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
