use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::SharedTls;
use super::shared::SharedTlsError;

/// How long one call to the API server may take, repetitions of the client included.
const CALL: Duration = Duration::from_secs(10);

/// Webhooks of ours, among the webhooks of a configuration.
const WEBHOOK_SUFFIX: &str = ".mcm-migration.stackit.cloud";

const MANAGER: &str = "mcm-migration-webhook";

/// Why the API server did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// Somebody else wrote in between: read again.
    #[error("{0} was changed by somebody else in between")]
    Conflict(String),
    /// A call failed.
    #[error("cannot {what}: {source}; check the rights of this program's ServiceAccount and the API server")]
    Call {
        /// The call and the object.
        what: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
    /// A call took too long.
    #[error("cannot {0}: no answer within {CALL:?}; check the API server")]
    Silent(String),
    /// The Secret holds something else.
    #[error("the Secret {name} was not made by this program: {source}; delete it, or name another one")]
    Foreign {
        /// Namespace and name.
        name: String,
        /// What is wrong.
        source: SharedTlsError,
    },
}

/// The Secret as it was read: its content, and what a write has to present.
#[derive(Debug)]
pub struct Stored<Version> {
    /// `None` when there is no Secret, or an empty one.
    pub state: Option<SharedTls>,
    /// What the write's condition is.
    pub version: Version,
}

/// A webhook configuration as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookBundles {
    /// Which one.
    pub configuration: String,
    /// Its version at that time.
    pub version: String,
    /// The bundle (PEM) of each webhook of ours, by the webhook's name.
    pub bundles: BTreeMap<String, String>,
}

/// Where the shared Secret and the webhook configurations are. Every write is refused with [`ShelfError::Conflict`] when the
/// object is no longer what was read.
pub trait Shelf: Send + Sync {
    /// Of the Secret.
    type Version: Send;

    /// Reads the webhook configurations that exist.
    fn configurations(&self) -> impl Future<Output = Result<Vec<WebhookBundles>, ShelfError>> + Send;
    /// Reads the Secret.
    fn read(&self) -> impl Future<Output = Result<Stored<Self::Version>, ShelfError>> + Send;
    /// Writes the Secret.
    fn write(&self, state: &SharedTls, version: Self::Version) -> impl Future<Output = Result<(), ShelfError>> + Send;
    /// Writes `bundle` into every webhook of ours of a configuration.
    fn publish(&self, to: &WebhookBundles, bundle: &str) -> impl Future<Output = Result<(), ShelfError>> + Send;
}

/// The API server.
#[derive(Clone)]
pub struct KubeShelf {
    client: Client,
    namespace: String,
    secret: String,
    configurations: Vec<(ApiResource, String)>,
}

impl KubeShelf {
    /// The Secret `secret` of `namespace`, and the webhook configurations of these names; one that does not exist is looked for
    /// again and again.
    #[must_use]
    pub fn new(client: Client, namespace: &str, secret: &str, mutating: &[String], validating: &[String]) -> Self {
        let mutating = mutating.iter().map(|name| (ApiResource::erase::<MutatingWebhookConfiguration>(&()), name));
        let validating =
            validating.iter().map(|name| (ApiResource::erase::<ValidatingWebhookConfiguration>(&()), name));
        let configurations = mutating.chain(validating).map(|(kind, name)| (kind, name.clone())).collect();
        Self { client, namespace: namespace.to_owned(), secret: secret.to_owned(), configurations }
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn secret_name(&self) -> String {
        format!("{}/{}", self.namespace, self.secret)
    }
}

impl Shelf for KubeShelf {
    /// The metadata of the Secret that exists, and its type.
    type Version = Option<(ObjectMeta, Option<String>)>;

    async fn configurations(&self) -> Result<Vec<WebhookBundles>, ShelfError> {
        let mut found = Vec::new();
        for (kind, name) in &self.configurations {
            let configuration = format!("{} {name}", kind.kind);
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), kind);
            if let Some(object) = call("read", &configuration, api.get_opt(name)).await? {
                let version = object.metadata.resource_version.unwrap_or_default();
                found.push(WebhookBundles { configuration, version, bundles: bundles(&object.data) });
            }
        }
        Ok(found)
    }

    async fn read(&self) -> Result<Stored<Self::Version>, ShelfError> {
        let name = format!("Secret {}", self.secret_name());
        let Some(secret) = call("read", &name, self.secrets().get_opt(&self.secret)).await? else {
            return Ok(Stored { state: None, version: None });
        };
        let state = SharedTls::parse(&secret.data.unwrap_or_default())
            .map_err(|source| ShelfError::Foreign { name: self.secret_name(), source })?;
        Ok(Stored { state, version: Some((secret.metadata, secret.type_)) })
    }

    async fn write(&self, state: &SharedTls, version: Self::Version) -> Result<(), ShelfError> {
        let name = format!("Secret {}", self.secret_name());
        let data = Some(state.data());
        let secrets = self.secrets();
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        match version {
            None => {
                let metadata = ObjectMeta { name: Some(self.secret.clone()), ..ObjectMeta::default() };
                let type_ = Some("kubernetes.io/tls".to_owned());
                let secret = Secret { metadata, data, type_, ..Secret::default() };
                call("create", &name, secrets.create(&params, &secret)).await?;
            }
            Some((metadata, type_)) => {
                let secret = Secret { metadata, data, type_, ..Secret::default() };
                call("update", &name, secrets.replace(&self.secret, &params, &secret)).await?;
            }
        }
        Ok(())
    }

    async fn publish(&self, to: &WebhookBundles, bundle: &str) -> Result<(), ShelfError> {
        let Some((kind, name)) =
            self.configurations.iter().find(|(kind, name)| to.configuration == format!("{} {name}", kind.kind))
        else {
            return Ok(());
        };
        let bundle = BASE64_STANDARD.encode(bundle);
        let webhooks = to.bundles.keys().map(|webhook| json!({"name": webhook, "clientConfig": {"caBundle": bundle}}));
        // A strategic merge: the webhooks are merged by name, and all of them but the bundle stays as it is.
        let patch = json!({
            "metadata": {"resourceVersion": to.version},
            "webhooks": webhooks.collect::<Vec<_>>(),
        });
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), kind);
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        call("patch", &to.configuration, api.patch(name, &params, &Patch::Strategic(&patch))).await?;
        Ok(())
    }
}

/// The bundle of each webhook of ours; empty where there is none or it cannot be read.
fn bundles(configuration: &Value) -> BTreeMap<String, String> {
    let webhooks = configuration["webhooks"].as_array().into_iter().flatten();
    let ours = webhooks.filter_map(|webhook| Some((webhook, webhook["name"].as_str()?)));
    ours.filter(|(_, name)| name.ends_with(WEBHOOK_SUFFIX))
        .map(|(webhook, name)| {
            let bundle = webhook["clientConfig"]["caBundle"].as_str().unwrap_or_default();
            let bundle = BASE64_STANDARD.decode(bundle).ok().and_then(|bundle| String::from_utf8(bundle).ok());
            (name.to_owned(), bundle.unwrap_or_default())
        })
        .collect()
}

async fn call<T>(verb: &str, object: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, ShelfError> {
    let what = || format!("{verb} the {object}");
    match timeout(CALL, call).await {
        Ok(Ok(value)) => Ok(value),
        // 409 is a stale resourceVersion, or a create that came second; a Secret deleted in between is gone. On create 404 is the
        // namespace's.
        Ok(Err(kube::Error::Api(status))) if status.code == 409 || (status.code == 404 && verb != "create") => {
            Err(ShelfError::Conflict(object.to_owned()))
        }
        Ok(Err(source)) => Err(ShelfError::Call { what: what(), source: Box::new(source) }),
        Err(_) => Err(ShelfError::Silent(what())),
    }
}
