//! A real API server with the shipped manifests, and the binary as its webhook.

use rig::shoot::Shoot;
use rig::{Lent, Product, crds, install};
use serde_json::{Value, json};

use super::{DEADLINE, binary, repository};

/// An API server, and one replica that runs with a token of the shipped ServiceAccount under the shipped RBAC.
pub struct Cluster {
    // Ends before the API server goes to another test.
    pub product: Product,
    pub server: Lent,
    pub tls: tempfile::TempDir,
}

/// The ServiceAccount of the manifests.
pub const SERVICE_ACCOUNT: (&str, &str) = ("mcm-migration-system", "mcm-migration-webhook");

/// An API server with everything installed but the webhook configuration.
pub async fn installed() -> Lent {
    rig::install_tls_provider();
    Lent::take("installed", async |server| {
        crds::apply(server).await?;
        install::apply_folder(server, &repository("manifests/guard")).await?;
        install::apply_without_webhooks(server, &repository("manifests/overlays/self-managed")).await
    })
    .await
    .unwrap()
}

/// A folder with a development certificate for loopback.
pub fn certificates() -> tempfile::TempDir {
    let tls = tempfile::tempdir().unwrap();
    let made = std::process::Command::new(binary()).args(["certs", "--out"]).arg(tls.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    tls
}

/// Starts one replica that only answers: these tests write to the Machines themselves. `more` comes after the flags that every replica has.
pub fn replica(kubeconfig: &std::path::Path, more: &[&str]) -> Product {
    let mut args = vec!["serve", "--kubeconfig", kubeconfig.to_str().unwrap()];
    args.extend(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--side-task=false"]);
    args.extend(more);
    Product::start(binary(), &args, &[]).unwrap()
}

impl Cluster {
    /// Starts everything and waits until the replica is ready and the webhooks point at it.
    pub async fn start() -> Self {
        let server = installed().await;
        let (namespace, name) = SERVICE_ACCOUNT;
        let kubeconfig = server.service_account_kubeconfig(namespace, name).await.unwrap();
        let tls = certificates();
        let product = replica(&kubeconfig, &["--tls-cert-dir", tls.path().to_str().unwrap()]);
        product.ready(DEADLINE).await.unwrap();
        let ca = std::fs::read_to_string(tls.path().join("ca.crt")).unwrap();
        let port = product.address("admission", DEADLINE).await.unwrap().port();
        let url = format!("https://127.0.0.1:{port}");
        install::apply_webhooks(&server, &repository("manifests/overlays/self-managed"), &url, Some(&ca))
            .await
            .unwrap();
        let cluster = Self { product, server, tls };
        cluster.webhooks_in_force().await;
        cluster
    }

    /// An API server takes up a webhook configuration a moment after it was written.
    async fn webhooks_in_force(&self) {
        let shoot = Shoot::new("canary").legacy_machines(1);
        self.armed(&shoot).await;
        let (namespace, [name]) = (shoot.namespace(), shoot.machines().try_into().unwrap());
        rig::until("the webhooks are called", DEADLINE, || async {
            // `kubectl label` prints what it sent; `patch` prints the answer.
            let patch = r#"{"metadata":{"labels":{"touched":"yes"}}}"#;
            let what = ["patch", "machine", &name, "--type=merge", "-p", patch, "--dry-run=server", "-o", "json"];
            let output = self.server.kubectl(&[&["-n", &namespace], &what[..]].concat(), None).await?.ok()?;
            anyhow::ensure!(output.contains("stackit.cloud/migrated-machine"), "{output}");
            Ok(Some(()))
        })
        .await
        .unwrap();
    }

    /// Creates a shoot, arms it, and waits until the replica knows.
    pub async fn armed(&self, shoot: &Shoot) {
        shoot.create(&self.server).await.unwrap();
        self.arm(shoot).await;
    }

    /// Arms a shoot that is there, and waits until the replica knows.
    pub async fn arm(&self, shoot: &Shoot) {
        rig::arm_by_hand(&self.server.admin_client().await.unwrap(), &shoot.namespace()).await.unwrap();
        let ca = std::fs::read(self.tls.path().join("ca.crt")).unwrap();
        knows(&self.product, &ca, shoot, "rewritten").await;
    }
}

/// Waits until a replica gives `reason` for a legacy Machine of a shoot; asked directly, so nothing is written.
pub async fn knows(product: &Product, ca: &[u8], shoot: &Shoot, reason: &str) {
    let asker = Asker::new(product, ca, shoot).await;
    rig::until(&format!("the replica gives the reason {reason}"), DEADLINE, || async {
        let given = asker.reason().await?;
        anyhow::ensure!(given == reason, "it gives {given}");
        Ok(Some(()))
    })
    .await
    .unwrap();
}

/// Asks a replica directly about a legacy Machine of a shoot.
pub struct Asker {
    client: reqwest::Client,
    url: String,
    review: Value,
}

impl Asker {
    pub async fn new(product: &Product, ca: &[u8], shoot: &Shoot) -> Self {
        let port = product.address("admission", DEADLINE).await.unwrap().port();
        let mut request = super::request("UPDATE", shoot.machine("asked", &shoot.legacy_id("asked")));
        request["namespace"] = shoot.namespace().into();
        let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        Self { client: super::client(ca), url: format!("https://127.0.0.1:{port}/mutate/machine"), review }
    }

    /// The reason that it gives now.
    pub async fn reason(&self) -> anyhow::Result<Value> {
        let answer: Value = self.client.post(&self.url).json(&self.review).send().await?.json().await?;
        Ok(answer["response"]["auditAnnotations"]["reason"].clone())
    }
}
