use std::sync::Arc;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{ProjectId, Reason};
use secrecy::ExposeSecret;

use super::Shoot;
use crate::cloud::ServiceAccountKey;
use crate::sidetask::projects::Project;
use crate::sidetask::{Clock, Clouds, Cluster, Fence, Owners};

/// The shoot's own client of its project: it exists only while the shoot has work, and a bad key hurts only its shoot.
pub(super) struct Session<P> {
    pub(super) id: ProjectId,
    key: ServiceAccountKey,
    pub(super) client: Arc<P>,
    pub(super) project: Arc<Project>,
}

impl<P> Clone for Session<P> {
    fn clone(&self) -> Self {
        Self {
            id: self.id,
            key: self.key.clone(),
            client: Arc::clone(&self.client),
            project: Arc::clone(&self.project),
        }
    }
}

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    /// Reads the Secret and keeps the client as long as project and key stay the same.
    pub(super) async fn open_session(&mut self) -> Result<Session<P::Project>, Because> {
        let read = self.context.cluster.credentials(&self.namespace).await;
        let read = read.map_err(|error| Because::about(Reason::ReadFailed, error.to_string()))?;
        let invalid = |why: String| Because::about(Reason::CredentialsInvalid, why);
        let credentials = read.ok_or_else(|| invalid("the Secret is absent".to_owned()))?;
        let id = credentials.project.ok_or_else(|| Because::of(Reason::ProjectUnknown))?;
        let key = credentials.key.ok_or_else(|| invalid("it has no serviceaccount.json".to_owned()))?;
        let key =
            ServiceAccountKey::parse(key.expose_secret().as_bytes()).map_err(|error| invalid(error.to_string()))?;
        if let Some(session) = self.session.as_ref().filter(|session| session.id == id && session.key == key) {
            return Ok(session.clone());
        }
        let client = Arc::new(self.context.clouds.project(id, key.clone()));
        let session = Session { id, key, client, project: self.context.projects.of(id) };
        self.session = Some(session.clone());
        Ok(session)
    }
}
