//! The API server of the commands that people run with their own credentials.

use super::{ClusterError, ClusterFlags, Exit, fail};
use crate::seed::{CallError, Seed};

/// A seed that answers, whose fields belong to `manager`.
///
/// # Errors
/// The exit code, after standard error has said why.
pub(super) async fn reach(cluster: &ClusterFlags, manager: &'static str) -> Result<Seed, Exit> {
    let config = cluster.config().await.map_err(|error| fail(Exit::Usage, &error))?;
    let seed = Seed::new(config, manager).map_err(|error| fail(Exit::Usage, &ClusterError::from(error)))?;
    match seed.greet().await {
        Ok(()) => Ok(seed),
        Err(CallError::Refused { code, message, .. }) => {
            let (url, advice) = (seed.url(), "check the user of the kubeconfig");
            Err(fail(Exit::Failed, &format_args!("the API server {url} answered {code}: {message}; {advice}")))
        }
        Err(CallError::NoAnswer { message, .. }) => {
            Err(fail(Exit::Restart, &ClusterError::Unreachable { url: seed.url(), message }))
        }
    }
}
