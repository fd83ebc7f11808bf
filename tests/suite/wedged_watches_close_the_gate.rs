//! A watch that falls silent closes the gate, says which, and heals without a restart. So does an API server that is gone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::support::DEADLINE;
use crate::support::cluster::{self, Asker, SERVICE_ACCOUNT};
use mcm_migration_webhook::world::Resource;
use rig::{ApiProxy, ApiServer, Lent, Product, Shoot};

/// Short, so that the test is; the API server is asked for bookmarks accordingly.
const MAX_AGE: Duration = Duration::from_secs(15);

/// What is promised after it, on a busy machine; without the watch over the watches it would be minutes.
const PROMISED: Duration = MAX_AGE.saturating_add(Duration::from_secs(40));

/// A replica behind a proxy of its own, which alone can be made to misbehave.
struct Replica {
    proxy: ApiProxy,
    product: Product,
    ca: Vec<u8>,
    _tls: tempfile::TempDir,
}

impl Replica {
    async fn start(server: &ApiServer) -> Self {
        let (namespace, name) = SERVICE_ACCOUNT;
        let token = server.service_account_kubeconfig(namespace, name).await.unwrap();
        let proxy = ApiProxy::start(server).unwrap();
        let tls = cluster::certificates();
        let args = ["--tls-cert-dir", tls.path().to_str().unwrap(), "--cache-max-age", "15s"];
        let product = cluster::replica(&proxy.kubeconfig_for(&token).unwrap(), &args);
        product.ready(DEADLINE).await.unwrap();
        let ca = std::fs::read(tls.path().join("ca.crt")).unwrap();
        Self { proxy, product, ca, _tls: tls }
    }

    /// All of it within what is promised from now on.
    async fn turns_stale(&self, shoot: &Shoot, resource: Resource) {
        let asker = Asker::new(&self.product, &self.ca, shoot).await;
        let labels = [("resource", resource.plural())];
        rig::until(&format!("the gate is closed for the {resource}"), PROMISED, || async {
            assert_eq!(self.product.admin_get("/livez").await?.0, 200, "{resource}: it is alive all the while");
            let reason = asker.reason().await?;
            anyhow::ensure!(reason == "cache-stale", "the reason for a Machine is {reason}");
            let (status, body) = self.product.admin_get("/readyz").await?;
            anyhow::ensure!(status == 503 && body.contains(resource.plural()), "/readyz answers {status}: {body}");
            let stale = self.product.metric("mcm_migration_webhook_cache_stale", &labels).await?;
            anyhow::ensure!((stale - 1.0).abs() < 0.1, "the metric of the {resource} is {stale}");
            Ok(Some(()))
        })
        .await
        .unwrap();
    }

    async fn recovers(&self, shoot: &Shoot) {
        self.product.ready(DEADLINE).await.unwrap();
        cluster::knows(&self.product, &self.ca, shoot, "rewritten").await;
    }
}

/// An API server with a shoot that is armed.
async fn armed() -> (Lent, Shoot) {
    let server = cluster::installed().await;
    let shoot = Shoot::new("prod").legacy_machines(1);
    shoot.create(&server).await.unwrap();
    rig::arm_by_hand(&server.admin_client().await.unwrap(), &shoot.namespace()).await.unwrap();
    (server, shoot)
}

#[tokio::test]
async fn each_wedged_watch_closes_the_gate_and_heals() {
    let (server, shoot) = armed().await;
    let each = Resource::ALL.map(|resource| {
        let (server, shoot) = (&server, &shoot);
        async move {
            let replica = Replica::start(server).await;
            replica.recovers(shoot).await;
            replica.proxy.swallow_watch(resource.plural());
            replica.turns_stale(shoot, resource).await;
            replica.proxy.heal();
            replica.recovers(shoot).await;
        }
    });
    futures::future::join_all(each).await;
}

#[tokio::test]
async fn an_api_server_that_is_gone_closes_the_gate_and_heals() {
    let (server, shoot) = armed().await;
    let replica = Replica::start(&server).await;
    replica.recovers(&shoot).await;
    server.stop_api_server().await.unwrap();
    replica.turns_stale(&shoot, Resource::Namespaces).await;
    server.start_api_server().await.unwrap();
    replica.recovers(&shoot).await;
}
