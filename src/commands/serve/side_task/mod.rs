//! The side task, wired: its parts from the flags, and its terms from the Lease.

mod flags;

use std::sync::Arc;

use prometheus_client::registry::Registry;

use super::ServeError;
use crate::cloud::{CloudMetrics, Clouds};
use crate::serving::Shutdown;
use crate::sidetask::election::{Election, ElectionConfig};
use crate::sidetask::owner_record::DnsResolver;
use crate::sidetask::{KubeCluster, MaybeOwnerRecord, SideTask, SideTaskMetrics, SystemClock};
use crate::world::World;

pub(in crate::commands) use flags::{SideTaskFlags, domain as label_domain};

/// The side task, ready to take part in the election.
pub(super) struct SideTaskPart {
    task: Arc<SideTask<KubeCluster, Clouds, SystemClock, MaybeOwnerRecord<DnsResolver>>>,
    client: kube::Client,
    election: ElectionConfig,
}

impl SideTaskPart {
    /// Makes it ready; calls nobody yet.
    pub(super) fn new(
        flags: &SideTaskFlags,
        config: kube::Config,
        world: &Arc<World>,
        namespace: &str,
        dry_run: bool,
        registry: &mut Registry,
    ) -> Result<Self, ServeError> {
        let cloud = flags.cloud().map_err(ServeError::configuration)?;
        let clouds = Clouds::new(cloud, CloudMetrics::register(registry)).map_err(ServeError::configuration)?;
        let task = SideTask {
            cluster: Arc::new(KubeCluster::new(config.clone(), Arc::clone(world)).map_err(ServeError::configuration)?),
            clouds: Arc::new(clouds),
            clock: SystemClock::start(),
            owners: flags.owners().map_err(ServeError::configuration)?,
            config: flags.config(dry_run).map_err(ServeError::configuration)?,
            metrics: SideTaskMetrics::register(registry),
        };
        Ok(Self {
            task: Arc::new(task),
            // Connections of its own: a renewal waits behind no list.
            client: kube::Client::try_from(config).map_err(ServeError::configuration)?,
            election: flags.election(namespace).map_err(ServeError::configuration)?,
        })
    }

    /// Leads whenever it is its turn, until the end is asked for; then the work is ended and the Lease released.
    pub(super) async fn run(self, world: Arc<World>, shutdown: Shutdown) -> Result<(), String> {
        // Without filled caches there is nothing to lead with.
        tokio::select! {
            () = world.filled() => {}
            () = shutdown.stopped() => return Ok(()),
        }
        let Self { task, client, election } = self;
        let work = |leadership: crate::sidetask::election::Leadership| {
            let task = Arc::clone(&task);
            async move { task.lead(leadership).await }
        };
        let ended = Election::new(client, election).run(shutdown.stopped(), work).await;
        ended.map_err(|error| format!("the side task ended: {error}"))
    }
}
