//! Everything that runs: the API server with the manifests and the shoots, the simulated cloud, the machine-controller-managers,
//! the forwarder, the replicas.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use mcm_stand_in::{Mcm, Options};
use rig::{ApiServer, ApiServerOptions, Assets, Forwarder, Product, assets, crds, install, objects};
use simulator::Simulator;

use crate::replica::{self, READY, REPLICAS};
use crate::scene::{self, Scene};
use crate::screen::Screen;
use crate::stage::Stage;

/// The ServiceAccount of the manifests: namespace and name.
pub(crate) const SERVICE_ACCOUNT: (&str, &str) = ("mcm-migration-system", "mcm-migration-webhook");

/// The running sandbox; dropping it ends all of it.
pub(crate) struct Sandbox {
    /// In the order in which they have to go.
    pub(crate) replicas: Vec<Product>,
    /// Stands for the Service.
    _forwarder: Forwarder,
    /// The machine-controller-manager of each shoot, in the order of the scenes.
    pub(crate) mcms: Vec<Mcm>,
    pub(crate) scenes: Vec<Scene>,
    pub(crate) stage: Stage,
    pub(crate) simulator: Simulator,
    pub(crate) server: ApiServer,
    pub(crate) assets: Assets,
}

impl Sandbox {
    /// Starts everything. The shoots are there before the replicas, as on a real seed.
    pub(crate) async fn start(binary: &Path, screen: &Screen) -> Result<Self> {
        let step = screen.noisy_step(
            "looking for kube-apiserver, etcd and kubectl; a first start builds them, which takes about 8 minutes",
        )?;
        let assets = assets::ensure().await?;
        screen.done(step, "kube-apiserver, etcd and kubectl are there")?;

        let step = screen.step("starting the API server and the simulator of the STACKIT API")?;
        let server = ApiServer::start(ApiServerOptions::default()).await?;
        let client = server.admin_client().await?;
        let version = client.apiserver_version().await.context("cannot ask for the API server's version")?;
        let simulator = Simulator::start()?;
        let urls = format!("{} at {}, the cloud at {}", version.git_version, server.url(), simulator.iaas_url());
        screen.done(step, &format!("API server {urls}"))?;

        let step = screen.step("installing manifests/guard")?;
        crds::apply(&server).await?;
        install::apply_folder(&server, &repository("manifests/guard")).await?;
        screen.done(step, "manifests/guard is installed")?;

        let step = screen.step("creating a seed with shoots")?;
        let stage = Stage::new(client, simulator.cloud());
        objects::create(&stage.client, &rig::shoot::node("seed-node-1", true)).await?;
        let scenes = scene::all(&stage.cloud);
        let mut mcms = Vec::new();
        for scene in &scenes {
            for object in &scene.objects {
                stage.create(object).await?;
            }
            mcms.push(Mcm::for_shoot(&server, &scene.shoot, simulator.cloud(), mcm()).await?);
        }
        screen.done(step, &format!("a seed with {} shoots:", scenes.len()))?;
        for Scene { shoot, story, .. } in &scenes {
            let count = stage.machines(&shoot.namespace()).await?.len();
            screen.line(&format!("               {:8} {count:2} Machines, {story}", shoot.worker()))?;
        }

        let step = screen.step("installing manifests/overlays/self-managed")?;
        let forwarder = Forwarder::start()?;
        let overlay = repository("manifests/overlays/self-managed");
        install::apply_webhooks(&server, &overlay, &forwarder.url(), None).await?;
        screen.done(step, "manifests/overlays/self-managed is installed")?;

        let step = screen.step("starting two replicas")?;
        let (namespace, name) = SERVICE_ACCOUNT;
        let kubeconfig = server.service_account_kubeconfig(namespace, name).await?;
        let mut replicas = Vec::new();
        for _ in 0..REPLICAS {
            replicas.push(replica::start(binary, &kubeconfig, &simulator)?);
        }
        for replica in &replicas {
            replica.ready(READY).await?;
            forwarder.add(replica.address("admission", READY).await?, replica.address("admin", READY).await?)?;
        }
        forwarder.await_ready(REPLICAS, READY).await?;
        screen.done(step, &format!("{REPLICAS} replicas, with a token of the shipped ServiceAccount"))?;
        Ok(Self { replicas, _forwarder: forwarder, mcms, scenes, stage, simulator, server, assets })
    }
}

/// A machine-controller-manager that makes servers quickly and renews its Lease often.
fn mcm() -> Options {
    let (soon, seconds) = (Duration::from_millis(500), Duration::from_secs);
    Options::default().creates(soon).lease(seconds(15), seconds(10), seconds(1)).seed(1)
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}
