use std::fmt;
use std::sync::Arc;

use mcm_migration_core::domain::ProjectId;

use super::exchange::Project;
use super::limiter::{Limiter, ProjectLimiters};
use super::{CloudConfig, CloudMetrics, ConfigError, ProjectClient, ServiceAccountKey, transport};

/// What all clients share: the HTTP client, the limiter of the seed and one of each project. Clones share it too.
#[derive(Clone)]
pub struct Clouds(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) config: CloudConfig,
    pub(super) http: reqwest::Client,
    pub(super) seed: Limiter,
    pub(super) projects: ProjectLimiters,
    pub(super) metrics: CloudMetrics,
}

impl Clouds {
    /// Sets up the HTTP client. Nothing is called yet.
    ///
    /// # Errors
    /// [`ConfigError`] when the CA bundle cannot be read, or no certificate authority is there at all.
    pub fn new(config: CloudConfig, metrics: CloudMetrics) -> Result<Self, ConfigError> {
        Ok(Self(Arc::new(Shared {
            http: transport::client(&config)?,
            seed: Limiter::new(config.rate),
            projects: ProjectLimiters::new(config.rate_project),
            metrics,
            config,
        })))
    }

    /// A client for one project with one key. It fetches a token when it first needs one.
    #[must_use]
    pub fn project(&self, project: ProjectId, key: ServiceAccountKey) -> ProjectClient {
        ProjectClient::new(Project::new(Arc::clone(&self.0), project, key))
    }
}

impl fmt::Debug for Clouds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clouds").field("config", &self.0.config).finish_non_exhaustive()
    }
}
