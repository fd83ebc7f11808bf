use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;

use super::ServeError;
use crate::commands::ClusterFlags;
use crate::world::{World, folder, watch};

/// Where what is known comes from.
pub(super) enum Source {
    Cluster(Client),
    Folder(PathBuf),
}

impl Source {
    /// A folder where one is named; else the cluster, which must answer: a program that cannot reach its API server at the start is
    /// configured wrongly.
    pub(super) async fn open(cluster: &ClusterFlags, objects: Option<PathBuf>) -> Result<Self, ServeError> {
        if let Some(folder) = objects {
            // A first look, so that a wrong name is told at once.
            folder::load(&folder).map_err(ServeError::configuration)?;
            return Ok(Self::Folder(folder));
        }
        Ok(Self::Cluster(cluster.reached_client().await?))
    }

    pub(super) fn client(&self) -> Option<&Client> {
        match self {
            Self::Cluster(client) => Some(client),
            Self::Folder(_) => None,
        }
    }

    /// Keeps the world as the source has it. Returns only when it cannot; the sentence says why.
    pub(super) async fn follow(self, world: Arc<World>) -> String {
        match self {
            Self::Cluster(client) => match watch::follow(client, world).await {
                Ok(never) => match never {},
                Err(error) => error.to_string(),
            },
            Self::Folder(folder) => match folder::follow(&folder, &world).await {
                Ok(never) => match never {},
                Err(error) => error.to_string(),
            },
        }
    }
}
