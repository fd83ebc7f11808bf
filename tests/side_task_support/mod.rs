//! A seed on a real API server and a simulated cloud, with the binary as webhook and side task.
#![allow(dead_code, unreachable_pub, reason = "shared by the test files that name this folder; none uses all of it")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use rig::shoot::{Shoot, node};
use rig::{Lent, Product, install, objects};
use serde_json::{Value, json};
use simulator::{Call, Cloud, Nic, Operation, Server, Simulator};

use crate::support::cluster::{self, SERVICE_ACCOUNT};
use crate::support::{binary, repository};

/// Nothing here takes longer, however slow the machine is.
pub const LONG: Duration = Duration::from_secs(180);

/// For how long an ID must have been seen, with [`QUICK`].
pub const QUARANTINE: Duration = Duration::from_secs(3);

/// Times as short as a test can bear. None of them is safe where servers are real.
pub const QUICK: [&str; 24] = [
    "--shutdown-delay",
    "0s",
    "--quarantine",
    "3s",
    "--allow-unsafe-quarantine",
    "--node-ready-for",
    "1s",
    "--allow-unsafe-node-ready-for",
    "--inflight-timeout",
    "5s",
    "--pass-every",
    "1s",
    "--drift-every",
    "8s",
    "--cloud-rate",
    "unlimited",
    "--cloud-rate-project",
    "unlimited",
    "--lease-duration",
    "3s",
    "--lease-renew-deadline",
    "2s",
    "--lease-retry-period",
    "500ms",
];

/// How the program ends when it wants to be started again: `Exit::Restart`.
const START_AGAIN: i32 = 75;

/// Whether a replica has ended itself in order to be started again, as a leader does that is late.
///
/// # Panics
/// If it ended in any other way.
pub async fn ended_itself(replica: &Product) -> bool {
    let Some(code) = replica.exit_code().unwrap() else { return false };
    replica.all_read(LONG).await.unwrap();
    // A panic of the work ends with the same code.
    let panicked = replica.logs().iter().any(|line| line.to_string().contains("panicked"));
    assert!(code == START_AGAIN && !panicked, "a replica ended with {code}; its last lines:\n{}", replica.tail());
    true
}

/// Whether a replica leads, by what it logged last about it.
pub fn leads(replica: &Product) -> bool {
    let lines = replica.logs();
    let mut said = lines.iter().rev().filter_map(|line| match line["message"].as_str()? {
        "leading" => Some(true),
        message => message.starts_with("no longer leading").then_some(false),
    });
    said.next() == Some(true)
}

/// The Lease of a replica that leads for long: where others keep the machine busy it renews late, and only tests of the election are about that.
pub const PATIENT: [&str; 6] =
    ["--lease-duration", "30s", "--lease-renew-deadline", "20s", "--lease-retry-period", "1s"];

/// These times without those that `more` says otherwise.
fn but_for<'a>(times: &[&'a str], more: &[&str]) -> Vec<&'a str> {
    let mut left: Vec<&str> = Vec::new();
    let mut words = times.iter().peekable();
    while let Some(flag) = words.next() {
        let value = words.next_if(|word| !word.starts_with("--"));
        if !more.contains(flag) {
            left.push(flag);
            left.extend(value);
        }
    }
    left
}

/// The seed.
pub struct Seed {
    pub server: Lent,
    pub simulator: Arc<Simulator>,
    pub client: Client,
    pub kubeconfig: PathBuf,
    tls: tempfile::TempDir,
}

impl Seed {
    /// Everything is installed but the webhook configurations; one Node, Ready; the Lease of the side task is given back.
    pub async fn start() -> Self {
        Self::start_before(Arc::new(Simulator::start().unwrap())).await
    }

    /// One more seed before the same cloud.
    pub async fn start_before(simulator: Arc<Simulator>) -> Self {
        let server = cluster::installed().await;
        let (namespace, name) = SERVICE_ACCOUNT;
        let kubeconfig = server.service_account_kubeconfig(namespace, name).await.unwrap();
        let client = server.admin_client().await.unwrap();
        objects::create(&client, &node("seed-node-1", true)).await.unwrap();
        objects::create(&client, &given_back()).await.unwrap();
        Self { server, simulator, client, kubeconfig, tls: cluster::certificates() }
    }

    pub fn cloud(&self) -> Arc<Cloud> {
        self.simulator.cloud()
    }

    /// Starts a replica with the short times, except those that `more` says otherwise.
    pub fn replica(&self, more: &[&str]) -> Product {
        self.replica_of(&self.kubeconfig, more)
    }

    /// The same, with another way to the API server.
    pub fn replica_of(&self, kubeconfig: &std::path::Path, more: &[&str]) -> Product {
        self.replica_called("", kubeconfig, more)
    }

    /// The same, with a name that stands in the path of its calls to the cloud.
    pub fn replica_called(&self, caller: &str, kubeconfig: &std::path::Path, more: &[&str]) -> Product {
        let mut args = vec!["serve", "--kubeconfig", kubeconfig.to_str().unwrap()];
        args.extend(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        args.extend(["--tls-cert-dir", self.tls.path().to_str().unwrap()]);
        args.extend(but_for(&QUICK, more));
        args.extend(more);
        let iaas = if caller.is_empty() { self.simulator.iaas_url() } else { self.simulator.iaas_url_for(caller) };
        let token = self.simulator.token_url();
        let env = [("STACKIT_IAAS_ENDPOINT", iaas.as_str()), ("STACKIT_TOKEN_BASEURL", token.as_str())];
        Product::start(binary(), &args, &env).unwrap()
    }

    /// Lets the API server call a URL: that of a replica, or of a forwarder before several.
    pub async fn webhooks_at(&self, url: &str) {
        let ca = self.ca();
        install::apply_webhooks(&self.server, &repository("manifests/overlays/self-managed"), url, Some(&ca))
            .await
            .unwrap();
    }

    /// The certificate authority of every replica.
    pub fn ca(&self) -> String {
        std::fs::read_to_string(self.tls.path().join("ca.crt")).unwrap()
    }

    /// One replica that answers, and that leads for long.
    pub async fn one_replica(&self, more: &[&str]) -> Product {
        self.one_replica_called("", more).await
    }

    /// The same, with a name that stands in the path of its calls to the cloud.
    pub async fn one_replica_called(&self, caller: &str, more: &[&str]) -> Product {
        let product = self.replica_called(caller, &self.kubeconfig, &[&but_for(&PATIENT, more)[..], more].concat());
        product.ready(LONG).await.unwrap();
        let port = product.address("admission", LONG).await.unwrap().port();
        self.webhooks_at(&format!("https://127.0.0.1:{port}")).await;
        product
    }

    /// Makes the shoot's project with a key, its servers, and then the shoot.
    pub async fn create(&self, shoot: Shoot) -> Shoot {
        let key = self.cloud().add_project(&shoot.project_id());
        let shoot = shoot.service_account(&key.json());
        for machine in shoot.machines() {
            self.cloud().add_server(&shoot.project_id(), "eu01", server_of(&shoot, &machine));
        }
        shoot.create(&self.server).await.unwrap();
        shoot
    }

    /// Waits until the shoot's MachineMigration has a condition.
    pub async fn await_condition(&self, shoot: &Shoot, type_: &str, within: Duration) {
        let namespace = shoot.namespace();
        rig::until(&format!("{namespace} is {type_}"), within, || async {
            let migration = self.migration(&namespace).await?;
            let status = &migration["status"];
            let mut conditions = status["conditions"].as_array().into_iter().flatten();
            let holds = conditions.any(|condition| condition["type"] == type_ && condition["status"] == "True");
            anyhow::ensure!(holds, "its status is {status}");
            Ok(Some(()))
        })
        .await
        .unwrap();
    }

    pub async fn migration(&self, namespace: &str) -> anyhow::Result<Value> {
        let api = objects::api_for(
            self.client.clone(),
            &json!({"apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
                "metadata": {"name": "openstack-to-stackit", "namespace": namespace}}),
        )?;
        Ok(serde_json::to_value(api.get("openstack-to-stackit").await?)?)
    }

    pub async fn machines(&self, namespace: &str) -> Vec<Value> {
        self.list("machine.sapcloud.io", "Machine", "machines", namespace).await
    }

    pub async fn worker(&self, shoot: &Shoot) -> Value {
        self.list("extensions.gardener.cloud", "Worker", "workers", &shoot.namespace()).await.remove(0)
    }

    async fn list(&self, group: &str, kind: &str, plural: &str, namespace: &str) -> Vec<Value> {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, "v1alpha1", kind), plural);
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource);
        let list = api.list(&ListParams::default()).await.unwrap();
        list.items.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    /// Checks a shoot that is through: IDs, annotations, labels, the Worker.
    pub async fn assert_complete(&self, shoot: &Shoot) {
        let namespace = shoot.namespace();
        for machine in self.machines(&namespace).await {
            let name = machine["metadata"]["name"].as_str().unwrap();
            let annotations = &machine["metadata"]["annotations"];
            assert_eq!(machine["spec"]["providerID"], shoot.stackit_id(name), "{name}");
            assert_eq!(annotations["stackit.cloud/migrated-machine"], "true", "{name}");
            assert!(
                annotations["stackit.cloud/machine-should-be-migrated"].is_null(),
                "{name}: the marker is still there"
            );
            let server =
                self.cloud().server(&shoot.server_id(name)).unwrap_or_else(|| panic!("{name} lost its server"));
            assert_eq!(server.labels.text("kubernetes.io/machine"), Some(name));
            let class = machine["spec"]["class"]["name"].as_str();
            assert_eq!(server.labels.text("kubernetes.io/machineclass"), class, "{name}");
            assert_eq!(server.labels.text("kubernetes.io/cluster"), Some("shoot"), "{name}");
        }
        let worker = self.worker(shoot).await;
        let marked = &worker["metadata"]["annotations"]["stackit.cloud/machine-controller-manager-migrated"];
        assert_eq!(marked, "true", "the Worker of {namespace}");
    }
}

/// The Lease of the side task as one that was given back; a new one would be waited out first.
fn given_back() -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "mcm-migration-webhook", "namespace": "mcm-migration-system"},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 1},
    })
}

/// The server behind a Machine, as the OpenStack provider left it.
pub fn server_of(shoot: &Shoot, machine: &str) -> Server {
    let nic = Nic::new(rig::shoot::uuid("network"), machine).with_allowed_addresses(["100.64.0.0/12"]);
    Server::new(shoot.server_id(machine), machine).with_nic(nic)
}

/// What holds of every journal: only our labels were ever sent, and never to a server of nobody.
pub fn assert_harmless(journal: &[Call]) {
    // What the test itself did stands there too.
    for call in journal.iter().filter(|call| call.by.is_none()) {
        match call.operation {
            Operation::PatchServer => {
                let body = call.body.as_ref().unwrap();
                assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["labels"], "{call:?}");
                for (key, value) in body["labels"].as_object().unwrap() {
                    assert!(key.starts_with("kubernetes.io/") && value.is_string(), "{call:?}");
                }
            }
            Operation::PatchNic | Operation::PatchVolume => {
                let body = call.body.as_ref().unwrap();
                let members: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
                assert!(matches!(members[..], ["labels" | "allowedAddresses"]), "{call:?}");
                for (key, value) in body["labels"].as_object().into_iter().flatten() {
                    assert!(key.starts_with("mcm-migration-") && value.is_string(), "{call:?}");
                }
            }
            operation if operation.is_write() && operation != Operation::Token => {
                assert_eq!(operation, Operation::PatchAttachment, "{call:?}");
            }
            _ => {}
        }
    }
}
