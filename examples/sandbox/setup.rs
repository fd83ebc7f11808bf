//! Everything that runs: the API server with the shoots and the manifests, the forwarder, the replicas.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kube::Client;
use rig::{ApiServer, ApiServerOptions, Assets, Forwarder, Product, assets, crds, install, objects};
use serde_json::json;

use crate::scene::{self, Scene};
use crate::screen::{Screen, Style};

/// The ServiceAccount of the manifests: namespace and name.
const SERVICE_ACCOUNT: (&str, &str) = ("mcm-migration-system", "mcm-migration-webhook");
/// The user who arms, bound to the shipped role.
const OPERATOR: &str = "operator";
/// How long a replica may take to be ready.
const READY: Duration = Duration::from_secs(60);
/// How many replicas, as in the manifests.
const REPLICAS: usize = 2;

/// The running sandbox; dropping it ends all of it.
pub(crate) struct Sandbox {
    /// In the order in which they have to go.
    pub(crate) replicas: Vec<Product>,
    /// Stands for the Service.
    _forwarder: Forwarder,
    pub(crate) scenes: Vec<Scene>,
    pub(crate) client: Client,
    /// The kubeconfig of the operator.
    pub(crate) operator: PathBuf,
    pub(crate) server: ApiServer,
    assets: Assets,
}

impl Sandbox {
    /// Starts everything. The shoots are there before the webhook, as on a real seed.
    pub(crate) async fn start(binary: &Path, screen: &Screen) -> Result<Self> {
        let step = screen.noisy_step(
            "looking for kube-apiserver, etcd and kubectl; a first start builds them, which takes about 8 minutes",
        )?;
        let assets = assets::ensure().await?;
        screen.done(step, "kube-apiserver, etcd and kubectl are there")?;

        let step = screen.step("starting the API server")?;
        let server = ApiServer::start(ApiServerOptions::default()).await?;
        let client = server.admin_client().await?;
        let version = client.apiserver_version().await.context("cannot ask for the API server's version")?;
        screen.done(step, &format!("API server {} at {}", version.git_version, server.url()))?;

        let step = screen.step("creating a seed with shoots")?;
        crds::apply(&server).await?;
        objects::create(&client, &rig::shoot::node("seed-node-1", true)).await?;
        let scenes = scene::all();
        for scene in &scenes {
            scene.shoot.create(&server).await?;
        }
        screen.done(step, &format!("a seed with {} shoots:", scenes.len()))?;
        for Scene { shoot, story, .. } in &scenes {
            let count = shoot.machines().len();
            screen.line(&format!("               {:8} {count:2} Machines, {story}", shoot.worker()))?;
        }

        let step = screen.step("installing manifests/guard and manifests/overlays/self-managed")?;
        install::apply_folder(&server, &repository("manifests/guard")).await?;
        let forwarder = Forwarder::start()?;
        let overlay = repository("manifests/overlays/self-managed");
        install::apply_webhooks(&server, &overlay, &forwarder.url(), None).await?;
        let operator = operator(&server, &client).await?;
        screen.done(step, "manifests/guard and manifests/overlays/self-managed are installed")?;

        let step = screen.step("starting two replicas of the webhook")?;
        let (namespace, name) = SERVICE_ACCOUNT;
        let kubeconfig = server.service_account_kubeconfig(namespace, name).await?;
        let mut replicas = Vec::new();
        for _ in 0..REPLICAS {
            replicas.push(replica(binary, &kubeconfig)?);
        }
        for replica in &replicas {
            replica.ready(READY).await?;
            forwarder.add(replica.address("admission", READY).await?, replica.address("admin", READY).await?)?;
        }
        forwarder.await_ready(REPLICAS, READY).await?;
        screen
            .done(step, &format!("{REPLICAS} replicas of the webhook, with a token of the shipped ServiceAccount"))?;
        Ok(Self { replicas, _forwarder: forwarder, scenes, client, operator, server, assets })
    }
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn replica(binary: &Path, kubeconfig: &Path) -> Result<Product> {
    let kubeconfig = kubeconfig.to_str().context("a path that is not UTF-8")?;
    let mut args = vec!["serve", "--kubeconfig", kubeconfig];
    args.extend(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    // The API server calls loopback, not the Service that the certificate is for.
    args.extend(["--tls-self-managed", "--tls-extra-san", "127.0.0.1"]);
    Product::start(binary, &args, &[])
}

async fn operator(server: &ApiServer, client: &Client) -> Result<PathBuf> {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": OPERATOR },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mcm-migration-operator" },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": OPERATOR }],
    });
    objects::create(client, &binding).await?;
    server.user_kubeconfig(OPERATOR, &[])
}

/// Says how to look around, and waits for Enter (at a terminal) or Ctrl-C.
pub(crate) async fn keep(sandbox: &Sandbox, screen: &Screen) -> Result<()> {
    screen.title("Everything keeps running. In another terminal:")?;
    let (kubectl, kubeconfig) = (sandbox.assets.kubectl.display(), sandbox.server.admin_kubeconfig().display());
    screen.line(&format!("  export KUBECONFIG={kubeconfig}"))?;
    screen.line(&format!("  k={kubectl}"))?;
    let explain = |what: &str| screen.styled(Style::Dim, &format!("# {what}"));
    let migrating = sandbox.scenes.iter().find(|scene| scene.migrates).context("no shoot migrates")?;
    let (namespace, class) = (migrating.shoot.namespace(), migrating.shoot.class());
    let back = format!("$k -n {namespace} patch machineclass {class} --type=merge -p '{{\"provider\":\"OpenStack\"}}'");
    for (what, commands) in [
        ("the shoots that are on their way", &["$k get mmig -A -w"][..]),
        ("all Machines", &["$k get machines -A -o custom-columns=NAME:.metadata.name,ID:.spec.providerID"]),
        (
            "lift the pause of lab, and write to its Machines: they migrate",
            &[
                "$k -n shoot--garden--lab patch mmig openstack-to-stackit --type=merge -p '{\"spec\":{\"paused\":false}}'",
                "$k -n shoot--garden--lab label --overwrite machines --all written=again",
            ],
        ),
        (
            "write to the Machines of dev: they are held, and a warning says why",
            &["$k -n shoot--garden--dev label --overwrite machines --all written=again"],
        ),
        ("try the way back to OpenStack: the guard refuses it", &[&back]),
    ] {
        screen.line(&format!("  {}", explain(what)))?;
        commands.iter().try_for_each(|command| screen.line(&format!("  {command}")))?;
    }
    screen.line(&format!("  {}", explain("the replicas' metrics")))?;
    for replica in &sandbox.replicas {
        screen.line(&format!("  curl -s http://{}/metrics", replica.address("admin", READY).await?))?;
    }
    let at_terminal = std::io::stdin().is_terminal();
    screen.line(if at_terminal { "\nEnter or Ctrl-C ends it all." } else { "\nCtrl-C ends it all." })?;
    tokio::select! {
        () = enter(), if at_terminal => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted.context("cannot listen for Ctrl-C"),
    }
}

/// Waits for a line of standard input, or its end.
async fn enter() {
    let (ended, wait) = tokio::sync::oneshot::channel();
    // A thread of its own: the runtime would wait for a read that never ends.
    std::thread::spawn(move || {
        // An error ends the wait as well, and whoever waited may be gone.
        let _ = std::io::stdin().read_line(&mut String::new());
        let _ = ended.send(());
    });
    // The sender goes only after it has sent.
    let _ = wait.await;
}
