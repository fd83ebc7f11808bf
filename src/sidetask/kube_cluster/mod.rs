//! The API server of the seed, for the side task: every read but [`Cluster::shoots`] and [`Cluster::look`] goes past the caches.

mod credentials;
mod error;
mod event;
mod read;
mod request;
mod status;
mod write;

pub(crate) use credentials::read as read_credentials;

use std::sync::Arc;

use kube::Config;
use mcm_migration_core::decide::{Known, NamespaceFacts};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{LeaseSighting, NodeSighting};
use tokio::sync::Semaphore;

use super::{Cluster, ClusterError, Credentials, MachineNow, Notice, Snapshot, VersionOf, Write, Written};
use crate::seed::{Seed, Unproven, nodes, prove};
use crate::world::World;

/// Whom the fields belong to that are written, and who makes the Events.
const COMPONENT: &str = "mcm-migration-webhook";

/// How many snapshots are read at the same time: each is ten lists, and one of them holds a whole Shoot.
const SNAPSHOTS_AT_ONCE: usize = 8;

/// The API server of the seed. Each call has a deadline of at most 30 s.
pub struct KubeCluster {
    seed: Seed,
    world: Arc<World>,
    snapshots: Semaphore,
}

impl KubeCluster {
    /// Calls nobody yet. `world` is what [`Cluster::shoots`] and [`Cluster::look`] show.
    ///
    /// # Errors
    /// When no client can be made of `config`.
    pub fn new(config: Config, world: Arc<World>) -> Result<Self, kube::Error> {
        let seed = Seed::new(config, COMPONENT)?;
        Ok(Self { seed, world, snapshots: Semaphore::new(SNAPSHOTS_AT_ONCE) })
    }
}

impl Cluster for KubeCluster {
    fn shoots(&self) -> Vec<Box<str>> {
        self.world.shoots()
    }

    fn look<R>(&self, namespace: &str, look: impl FnOnce(Known<'_>) -> R) -> R {
        self.world.consult(namespace, look)
    }

    async fn snapshot(&self, namespace: &str) -> Result<Snapshot, ClusterError> {
        let _place = self.snapshots.acquire().await;
        read::snapshot(&self.seed.client(), namespace).await
    }

    async fn owner(&self, namespace: &str) -> Result<NamespaceFacts, ClusterError> {
        read::owner(&self.seed.client(), namespace).await
    }

    async fn machine(&self, namespace: &str, name: &str) -> Result<Option<MachineNow>, ClusterError> {
        read::machine(&self.seed.client(), namespace, name).await
    }

    async fn version(&self, namespace: &str, of: VersionOf<'_>) -> Result<Option<String>, ClusterError> {
        read::version(&self.seed.client(), namespace, of).await
    }

    async fn lease(&self, namespace: &str) -> Result<Option<LeaseSighting>, ClusterError> {
        read::lease(&self.seed.client(), namespace).await
    }

    async fn credentials(&self, namespace: &str) -> Result<Option<Credentials>, ClusterError> {
        credentials::read(&self.seed.client(), namespace).await
    }

    async fn nodes(&self) -> Result<Vec<NodeSighting>, ClusterError> {
        Ok(nodes(&self.seed.client()).await?)
    }

    #[allow(clippy::disallowed_methods, reason = "a real API server takes its policies up in real time")]
    async fn prove(
        &self,
        namespace: &str,
        facts: &NamespaceFacts,
        rounds: usize,
        just_closed: bool,
    ) -> Result<(), (Reason, String)> {
        let labelled = just_closed.then(std::time::Instant::now);
        let proved = prove(&self.seed, namespace, facts, rounds, labelled).await;
        proved.map_err(|Unproven { reason, text }| (reason, text))
    }

    async fn write(&self, namespace: &str, write: Write<'_>) -> Result<Written, ClusterError> {
        write::write(&self.seed, namespace, write).await
    }

    async fn notify(&self, namespace: &str, notice: Notice) {
        if let Err(error) = event::make(&self.seed, namespace, &notice).await {
            tracing::debug!(namespace, name = &*notice.name, reason = notice.reason.name(), %error, "no Event was made");
        }
    }
}
