use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::super::issue::{self, IssueError, Issued, Validity};
use super::super::{CertificateStore, ServingMetrics};
use super::SelfManaged;
use super::rotation::{Seen, Step, leaf_validity, next_step};
use super::secret::{Material, MaterialError};

/// The longest that one call to the API server may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Only webhooks of ours are touched, whatever else stands in a configuration.
const OUR_WEBHOOKS: &str = ".mcm-migration.stackit.cloud";

/// Why a round could not be finished; it is tried again.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error("cannot {what}: {message}; check that the API server is there and that the shipped RBAC is applied")]
    Call { what: String, message: String },
    #[error("cannot {what}: the API server gave no answer in time")]
    Silent { what: String },
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error("the certificates just made cannot be read back: {0}; please report this")]
    ReadBack(#[from] MaterialError),
}

/// Another replica was faster; its Secret counts.
enum Written {
    Ours(Box<Material>),
    Theirs,
}

/// Keeps Secret, served certificate and configurations right, for ever.
pub(super) struct Keeper {
    config: SelfManaged,
    secrets: Api<Secret>,
    configurations: Api<MutatingWebhookConfiguration>,
    store: Arc<CertificateStore>,
    metrics: ServingMetrics,
    served: Option<String>,
    leaf_since: Instant,
    published: Option<(String, Instant)>,
}

impl Keeper {
    pub(super) fn new(
        config: SelfManaged,
        client: Client,
        store: Arc<CertificateStore>,
        metrics: ServingMetrics,
    ) -> Self {
        Self {
            secrets: Api::namespaced(client.clone(), &config.namespace),
            configurations: Api::all(client),
            config,
            store,
            metrics,
            served: None,
            leaf_since: Instant::now(),
            published: None,
        }
    }

    pub(super) async fn run(mut self) -> Infallible {
        let mut failed = None;
        loop {
            match self.round().await {
                Ok(again) => {
                    if failed.take().is_some() {
                        tracing::info!("the self-managed certificates are kept again");
                    }
                    if again {
                        continue;
                    }
                }
                Err(error) => {
                    let error = error.to_string();
                    self.metrics.reload_failed();
                    if failed.as_ref() != Some(&error) {
                        tracing::warn!(error, "the self-managed certificates cannot be kept; trying again");
                        failed = Some(error);
                    }
                }
            }
            tokio::time::sleep(self.config.every).await;
        }
    }

    /// Looks once at everything and takes the next step. Whether to look again at once.
    async fn round(&mut self) -> Result<bool, RoundError> {
        let now = jiff::Timestamp::now().as_second();
        let secret = self.call("read the TLS Secret", self.secrets.get_opt(&self.config.secret)).await?;
        let material = match secret.as_ref().map(Material::read) {
            Some(Ok(material)) => material,
            unusable => {
                if let Some(Err(error)) = unusable {
                    tracing::warn!(secret = self.config.secret, %error, "the TLS Secret is of no use; making a new one");
                }
                let fresh = self.start_over(now)?;
                return self.write(secret, fresh).await.map(|_| true);
            }
        };
        self.serve(&material)?;
        self.publish(&material.ca_bundle()).await?;
        let seen = Seen {
            bundle_published_for: self.published.as_ref().map(|(_, since)| since.elapsed()).unwrap_or_default(),
            leaf_in_secret_for: self.leaf_since.elapsed(),
        };
        let Some(step) = next_step(&material.state, seen, self.config.lifetimes, now) else { return Ok(false) };
        let next = self.act(step, &material, now)?;
        tracing::info!(?step, secret = self.config.secret, "rotating the self-managed certificates");
        if let Written::Ours(material) = self.write(secret, next).await? {
            self.serve(&material)?;
        }
        Ok(true)
    }

    /// The Secret after a step.
    fn act(&self, step: Step, material: &Material, now: i64) -> Result<Material, RoundError> {
        let made = match (step, material.signing_ca()) {
            (Step::StartOver, _) | (_, None) => return self.start_over(now),
            (Step::AppendCa, Some(_)) => {
                let ca = issue::ca(now, Validity::starting(now, self.config.lifetimes.ca))?;
                let bundle = [material.bundle.clone(), vec![ca.certificate]].concat();
                Material::new(bundle, ca.key, material.leaf.clone())?
            }
            (Step::RenewLeaf, Some((ca, validity))) => {
                let leaf = self.leaf(&ca, validity, now)?;
                Material::new(material.bundle.clone(), material.ca_key.clone(), leaf)?
            }
            (Step::DropOldCas, Some((ca, _))) => {
                Material::new(vec![ca.certificate], material.ca_key.clone(), material.leaf.clone())?
            }
        };
        Ok(made)
    }

    fn start_over(&self, now: i64) -> Result<Material, RoundError> {
        let validity = Validity::starting(now, self.config.lifetimes.ca);
        let ca = issue::ca(now, validity)?;
        let leaf = self.leaf(&ca, validity, now)?;
        Ok(Material::new(vec![ca.certificate], ca.key, leaf)?)
    }

    fn leaf(&self, ca: &Issued, ca_validity: Validity, now: i64) -> Result<Issued, IssueError> {
        issue::leaf(ca, &self.config.names(), leaf_validity(ca_validity, self.config.lifetimes, now))
    }

    /// Writes the Secret if nobody else has in the meantime.
    async fn write(&self, before: Option<Secret>, material: Material) -> Result<Written, RoundError> {
        let name = &self.config.secret;
        let written = match before {
            None => {
                let mut secret = Secret { data: Some(material.data()), ..Secret::default() };
                secret.metadata.name = Some(name.clone());
                self.call_raw("create the TLS Secret", async {
                    self.secrets.create(&PostParams::default(), &secret).await
                })
                .await?
            }
            Some(before) => {
                // With its resourceVersion, so that a second writer is refused.
                let secret = Secret { data: Some(material.data()), ..before };
                self.call_raw("write the TLS Secret", async {
                    self.secrets.replace(name, &PostParams::default(), &secret).await
                })
                .await?
            }
        };
        match written {
            Ok(_) => Ok(Written::Ours(Box::new(material))),
            Err(status) if status.code == 409 => Ok(Written::Theirs),
            Err(status) => Err(RoundError::Call { what: format!("write the Secret {name}"), message: status.message }),
        }
    }

    /// Serves the Secret's leaf from now on.
    fn serve(&mut self, material: &Material) -> Result<(), RoundError> {
        if self.served.as_ref() == Some(&material.leaf.certificate) {
            return Ok(());
        }
        self.store.set(material.pair()?);
        if let Some(ca) = material.state.cas.last() {
            self.metrics.ca_ends(ca.not_after);
        }
        self.served = Some(material.leaf.certificate.clone());
        self.leaf_since = Instant::now();
        tracing::info!(secret = self.config.secret, "took up a new certificate");
        Ok(())
    }

    /// Writes the bundle wherever it differs, and remembers since when it has stood everywhere.
    async fn publish(&mut self, bundle: &str) -> Result<(), RoundError> {
        let mut healed = false;
        for name in &self.config.configurations {
            let what = "read the webhook configuration";
            // An absent one calls nobody.
            let Some(found) = self.call(what, self.configurations.get_opt(name)).await? else { continue };
            let wrong: Vec<_> = found
                .webhooks
                .into_iter()
                .flatten()
                .filter(|webhook| webhook.name.ends_with(OUR_WEBHOOKS))
                .filter(|webhook| webhook.client_config.ca_bundle.as_ref().map(|is| &*is.0) != Some(bundle.as_bytes()))
                .map(|webhook| json!({"name": webhook.name, "clientConfig": {"caBundle": ByteString(bundle.as_bytes().to_vec())}}))
                .collect();
            if wrong.is_empty() {
                continue;
            }
            healed = true;
            let patch = Patch::Strategic(json!({ "webhooks": wrong }));
            self.call("write the caBundle", self.configurations.patch(name, &PatchParams::default(), &patch)).await?;
            tracing::info!(configuration = name, "wrote the caBundle");
        }
        if healed || self.published.as_ref().is_none_or(|(is, _)| is != bundle) {
            self.published = Some((bundle.to_owned(), Instant::now()));
        }
        Ok(())
    }

    async fn call<T>(&self, what: &str, call: impl Future<Output = Result<T, kube::Error>>) -> Result<T, RoundError> {
        self.call_raw(what, call)
            .await?
            .map_err(|status| RoundError::Call { what: what.to_owned(), message: status.message })
    }

    /// A call within its deadline; the API server's own refusal is a value.
    async fn call_raw<T>(
        &self,
        what: &str,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<Result<T, Box<kube::core::Status>>, RoundError> {
        match tokio::time::timeout(DEADLINE, call).await {
            Ok(Ok(answer)) => Ok(Ok(answer)),
            Ok(Err(kube::Error::Api(status))) => Ok(Err(status)),
            Ok(Err(error)) => Err(RoundError::Call { what: what.to_owned(), message: error.to_string() }),
            Err(_) => Err(RoundError::Silent { what: what.to_owned() }),
        }
    }
}
