//! Two replicas of the product that answer and campaign; one of them may be killed, and is replaced.

use std::convert::Infallible;
use std::time::Duration;

use rig::forwarder::{Forwarder, ReplicaId};
use rig::{ApiServer, Product};
use tokio::sync::Mutex;

use crate::side_task_support::{LONG, Seed, ended_itself, leads};

/// As short as it can be borne: each new leader begins every wait anew, and after a restart of the API server a stand-in may renew its Lease some
/// time before its copy is what it would have been.
const FLAGS: [&str; 18] = [
    "--quarantine",
    "2s",
    "--node-ready-for",
    "300ms",
    "--inflight-timeout",
    "2s",
    "--pass-every",
    "2s",
    "--drift-every",
    "10m",
    "--lease-duration",
    "3s",
    "--lease-renew-deadline",
    "2500ms",
    "--lease-retry-period",
    "300ms",
    "--log",
    "info,audit=warn",
];

struct Replica {
    product: Product,
    place: ReplicaId,
}

/// The replicas behind their Service.
pub struct Crew {
    forwarder: Forwarder,
    /// Two, but for the moment in which one is replaced.
    replicas: Mutex<Vec<Replica>>,
}

impl Crew {
    pub async fn start(seed: &Seed) -> Self {
        let crew = Self { forwarder: Forwarder::start().unwrap(), replicas: Mutex::default() };
        for _ in 0..2 {
            let replica = crew.replica(seed).await.unwrap();
            crew.replicas.lock().await.push(replica);
        }
        crew.forwarder.await_ready(2, LONG).await.unwrap();
        seed.webhooks_at(&crew.forwarder.url()).await;
        crew
    }

    async fn replica(&self, seed: &Seed) -> anyhow::Result<Replica> {
        let product = seed.replica(&FLAGS);
        product.ready(LONG).await?;
        let admission = product.address("admission", LONG).await?;
        let place = self.forwarder.add(admission, product.address("admin", LONG).await?)?;
        Ok(Replica { product, place })
    }

    /// Kills the one that leads, or the other one, and waits until the Service has two again. One dies at a time.
    pub async fn kill(&self, seed: &Seed, leader: bool) -> anyhow::Result<()> {
        let mut replicas = self.replicas.lock().await;
        anyhow::ensure!(!replicas.is_empty(), "no replica becomes ready any more");
        let at = replicas.iter().position(|replica| leads(&replica.product) == leader).unwrap_or_default();
        let Replica { product, place } = replicas.remove(at);
        product.kill();
        self.forwarder.remove(place);
        // It may end itself before it is ready; then it is tried again with the next look, as two are wanted.
        replicas.extend(self.replica(seed).await);
        // If one of them has ended meanwhile, it is replaced as soon as this is over.
        let two = self.forwarder.await_ready(2, Duration::from_secs(10)).await;
        two.unwrap_or_else(|error| println!("{error:#}"));
        Ok(())
    }

    /// Starts those again that have ended themselves, as the kubelet does; for ever. A leader that is late ends itself, and on a busy machine
    /// with a short Lease that happens.
    pub async fn tend(&self, seed: &Seed) -> Infallible {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let mut replicas = self.replicas.lock().await;
            for at in (0..replicas.len()).rev() {
                if ended_itself(&replicas[at].product).await {
                    self.forwarder.remove(replicas.remove(at).place);
                }
            }
            for _ in replicas.len()..2 {
                // One that is not ready in time is tried again with the next look.
                replicas.extend(self.replica(seed).await);
            }
        }
    }

    /// Restarts the API server while nobody is replaced.
    pub async fn restart(&self, server: &ApiServer) -> anyhow::Result<()> {
        let _replicas = self.replicas.lock().await;
        server.restart().await
    }
}
