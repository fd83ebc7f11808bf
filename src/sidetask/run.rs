//! The leader's work: follows the Nodes and every shoot, for one term.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::NodeBook;
use tokio::sync::{Semaphore, watch};
use tokio_util::task::AbortOnDropHandle;

use super::context::{Config, Context, Nodes};
use super::projects::Projects;
use super::shoot::Shoot;
use super::{Clock, Clouds, Cluster, Fence, Owners, SideTaskMetrics};

/// How often the Nodes are listed: within the gap that still counts as having watched them.
const NODES_EVERY: Duration = Duration::from_secs(3);
/// How many steps speak to the API server at the same time. What waits for its turn is next within seconds.
const STEPS_AT_ONCE: usize = 16;
/// How often it is looked for new shoots.
const SHOOTS_EVERY: Duration = Duration::from_secs(1);

/// Everything that the side task works with.
pub struct SideTask<C, P, K, O> {
    /// The API server.
    pub cluster: Arc<C>,
    /// The cloud.
    pub clouds: Arc<P>,
    /// The time.
    pub clock: K,
    /// Who else is asked whose a shoot is.
    pub owners: O,
    /// How it is run.
    pub config: Config,
    /// What is counted.
    pub metrics: SideTaskMetrics,
}

impl<C: Cluster, P: Clouds, K: Clock, O: Owners> SideTask<C, P, K, O> {
    /// Works for as long as `fence` holds. Starts from nothing, so that nothing depends on an earlier term. Dropping it cancels whatever is under
    /// way.
    pub async fn lead<F: Fence>(&self, fence: F) {
        self.metrics.leads(true);
        let _led = Led(&self.metrics);
        let (sender, nodes) = watch::channel(Nodes::default());
        let context = Arc::new(Context {
            cluster: Arc::clone(&self.cluster),
            clouds: Arc::clone(&self.clouds),
            clock: self.clock.clone(),
            fence: fence.clone(),
            owners: self.owners.clone(),
            config: self.config.clone(),
            metrics: self.metrics.clone(),
            nodes,
            projects: Projects::default(),
            steps: Semaphore::new(STEPS_AT_ONCE),
            labelling: Arc::new(Semaphore::new(self.config.labelling_at_once.max(1))),
        });
        let follow_nodes = follow_nodes(Arc::clone(&self.cluster), self.clock.clone(), sender, &self.metrics);
        let follow_shoots = follow_shoots(context);
        let until_lost = async {
            while fence.holds() {
                self.clock.sleep(SHOOTS_EVERY).await;
            }
        };
        tokio::select! {
            // Nothing here is left to chance: the same events give the same steps.
            biased;
            () = until_lost => {}
            () = follow_nodes => {}
            () = follow_shoots => {}
        }
    }
}

struct Led<'a>(&'a SideTaskMetrics);

impl Drop for Led<'_> {
    fn drop(&mut self) {
        self.0.leads(false);
    }
}

async fn follow_nodes<C: Cluster>(
    cluster: Arc<C>,
    clock: impl Clock,
    nodes: watch::Sender<Nodes>,
    metrics: &SideTaskMetrics,
) {
    let mut book = NodeBook::default();
    loop {
        let asked = clock.now();
        match cluster.nodes().await {
            Ok(list) => {
                book.take_up(list, asked, clock.now());
                nodes.send_replace(Nodes { seen: book.nodes(), until: book.known_until() });
            }
            Err(error) => {
                metrics.step("nodes", "failed");
                let reason = Reason::ReadFailed.name();
                tracing::warn!(reason, %error, "the Nodes of the seed are not known; no shoot is passed over");
            }
        }
        clock.sleep(NODES_EVERY).await;
    }
}

/// One task a shoot: none waits for another.
async fn follow_shoots<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners>(context: Arc<Context<C, P, K, F, O>>) {
    let mut shoots: BTreeMap<Box<str>, AbortOnDropHandle<()>> = BTreeMap::new();
    loop {
        let there = context.cluster.shoots();
        shoots.retain(|namespace, task| {
            let ended = task.is_finished();
            if ended {
                // It never ends by itself, so it panicked.
                tracing::error!(namespace = &**namespace, "the work on a shoot broke off and is begun again");
            }
            !ended && there.contains(namespace)
        });
        for namespace in there {
            let context = &context;
            shoots.entry(namespace).or_insert_with_key(|namespace| {
                AbortOnDropHandle::new(tokio::spawn(Shoot::new(Arc::clone(context), namespace).follow()))
            });
        }
        context.clock.sleep(SHOOTS_EVERY).await;
    }
}
