use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kube::Client;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::error_chain::chain;

/// How long the API server may take for its first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(15);

/// Which API server to speak to: found as kubectl finds it.
#[derive(Debug, Clone, Args)]
pub struct ClusterFlags {
    /// Kubeconfig file; without it KUBECONFIG, then ~/.kube/config, then the service account of the pod.
    #[arg(long, value_name = "FILE", env = "MCM_MIGRATION_KUBECONFIG")]
    pub kubeconfig: Option<PathBuf>,

    /// Context of the kubeconfig; without it the current one.
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_CONTEXT")]
    pub context: Option<String>,
}

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A file was named and cannot be used.
    #[error("cannot use the kubeconfig {file}: {reason}; check the file named by --kubeconfig and its current context")]
    Kubeconfig {
        /// The file.
        file: PathBuf,
        /// What was wrong; nothing of the file's content.
        reason: String,
    },
    /// Nothing was found.
    #[error(
        "no API server found: {0}; name a kubeconfig with --kubeconfig or KUBECONFIG, or run it in a pod with a service account"
    )]
    NotFound(String),
    /// A context was asked for and the default kubeconfig cannot be used.
    #[error("cannot use the context {context}: {reason}; `kubectl config get-contexts` lists them")]
    Context {
        /// The context.
        context: String,
        /// What was wrong; nothing of the kubeconfig's content.
        reason: String,
    },
    /// The API server does not answer.
    #[error("the API server {url} does not answer: {message}; check the address, and that it can be reached from here")]
    Unreachable {
        /// Its address.
        url: String,
        /// The client's own words.
        message: String,
    },
    /// The client could not be built from what was found.
    #[error("cannot make a client for the API server: {0}; check the certificates and keys of the kubeconfig")]
    Client(#[from] kube::Error),
}

impl ClusterFlags {
    /// The configuration that the flags lead to.
    ///
    /// # Errors
    /// [`ClusterError`], which says what to correct.
    pub async fn config(&self) -> Result<kube::Config, ClusterError> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        match (&self.kubeconfig, &self.context) {
            (Some(file), _) => {
                let broken = |error| ClusterError::Kubeconfig { file: file.clone(), reason: wrong_with(&error) };
                let kubeconfig = Kubeconfig::read_from(file).map_err(broken)?;
                kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(broken)
            }
            (None, Some(context)) => kube::Config::from_kubeconfig(&options)
                .await
                .map_err(|error| ClusterError::Context { context: context.clone(), reason: wrong_with(&error) }),
            (None, None) => kube::Config::infer().await.map_err(|error| ClusterError::NotFound(not_found(&error))),
        }
    }

    /// A client of its own connections for the API server that the flags lead to.
    ///
    /// # Errors
    /// [`ClusterError`], which says what to correct.
    pub async fn client(&self) -> Result<Client, ClusterError> {
        Ok(Client::try_from(self.config().await?)?)
    }

    /// As [`Self::client`], after one call that shows that the API server answers at all.
    ///
    /// # Errors
    /// [`ClusterError`], which says what to correct.
    pub async fn reached_client(&self) -> Result<Client, ClusterError> {
        let config = self.config().await?;
        let url = config.cluster_url.to_string();
        let client = Client::try_from(config)?;
        let unreachable = |message: String| ClusterError::Unreachable { url, message };
        match tokio::time::timeout(FIRST_ANSWER, client.apiserver_version()).await {
            // Any answer of its own will do; what is not permitted shows later, by name.
            Ok(Ok(_) | Err(kube::Error::Api(_))) => Ok(client),
            Ok(Err(error)) => Err(unreachable(chain(&error))),
            Err(_) => Err(unreachable(format!("no answer within {} s", FIRST_ANSWER.as_secs()))),
        }
    }
}

/// What is wrong with a kubeconfig. A parser's own words quote the lines around the fault, and there may be a token in them.
fn wrong_with(error: &KubeconfigError) -> String {
    let KubeconfigError::Parse(error) = error else { return error.to_string() };
    let place = error.location().map(|at| format!(" (line {}, column {})", at.line(), at.column()));
    format!("it is no YAML of a kubeconfig{}", place.unwrap_or_default())
}

/// Why there is neither a pod's account nor a kubeconfig.
fn not_found(error: &InferConfigError) -> String {
    let kubeconfig = std::error::Error::source(error).and_then(|source| source.downcast_ref::<KubeconfigError>());
    let text = error.to_string();
    // What comes first is about the pod, and has nothing of the kubeconfig.
    let pod = text.split_once(", kubeconfig: ").map_or("no kubeconfig and no account of a pod", |(pod, _)| pod);
    kubeconfig.map_or_else(|| pod.to_owned(), |error| format!("{pod}, kubeconfig: ({})", wrong_with(error)))
}
