//! Certificates that the program keeps by itself: CA and leaf in a Secret that all replicas share, and the `caBundle` of the webhook
//! configurations. Both are replaced long before they end, without one failed call.

mod keeper;
pub mod rotation;
mod secret;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use super::{CertificateStore, ServingMetrics};
use rotation::Lifetimes;

/// Where the certificates are kept, and for whom.
#[derive(Debug, Clone)]
pub struct SelfManaged {
    /// The namespace of the Secret and of the Service.
    pub namespace: String,
    /// The Secret.
    pub secret: String,
    /// The Service whose DNS names stand in the leaf.
    pub service: String,
    /// Further DNS names and IP addresses for the leaf.
    pub extra_names: Vec<String>,
    /// The `MutatingWebhookConfiguration`s whose `caBundle` is kept.
    pub configurations: Vec<String>,
    /// How long CA and leaf live.
    pub lifetimes: Lifetimes,
    /// How often everything is looked at.
    pub every: Duration,
}

impl SelfManaged {
    fn names(&self) -> Vec<String> {
        let Self { namespace, service, extra_names, .. } = self;
        let mut names = vec![format!("{service}.{namespace}.svc"), format!("{service}.{namespace}.svc.cluster.local")];
        names.extend(extra_names.iter().cloned());
        names
    }

    /// Keeps them, for ever. While the API server is gone the last certificate is served on.
    pub async fn keep(self, client: Client, store: Arc<CertificateStore>, metrics: ServingMetrics) -> Infallible {
        keeper::Keeper::new(self, client, store, metrics).run().await
    }
}
