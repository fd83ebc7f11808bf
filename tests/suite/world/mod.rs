//! What the tests of the caches need: an API server with the kinds, and a world that follows it with the rights that are shipped.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use mcm_migration_core::decide::{Known, NamespaceFacts};
use mcm_migration_webhook::world::{Resource, World, watch};
use rig::{ApiServer, Lent, install, objects, until};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// For how long a watch may be silent in these tests.
pub const MAX_AGE: Duration = Duration::from_secs(12);

/// Long enough for anything that happens at all.
pub const DEADLINE: Duration = Duration::from_secs(120);

const SERVICE_ACCOUNT: (&str, &str) = ("mcm-migration-system", "mcm-migration-webhook");

/// A folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// An API server with the kinds of Gardener and the machine-controller-manager, and the shipped RBAC.
pub struct Seed {
    pub server: Lent,
    /// With a token of the shipped service account.
    pub kubeconfig: PathBuf,
}

impl Seed {
    /// Without the CRD of the MachineMigration.
    pub async fn start() -> Self {
        Self::of(Lent::take("world", Self::set_up).await.unwrap()).await
    }

    async fn set_up(server: &ApiServer) -> anyhow::Result<()> {
        rig::crds::apply(server).await?;
        for manifest in ["manifests/base/namespace.yaml", "manifests/base/rbac.yaml"] {
            install::apply_manifests(server, &std::fs::read_to_string(repository(manifest))?).await?;
        }
        Ok(())
    }

    async fn of(server: Lent) -> Self {
        let (namespace, name) = SERVICE_ACCOUNT;
        let kubeconfig = server.service_account_kubeconfig(namespace, name).await.unwrap();
        Self { server, kubeconfig }
    }

    /// A client of this test's own: one that is shared ends with the test that made it.
    pub async fn admin(&self) -> Client {
        self.server.admin_client().await.unwrap()
    }

    /// One that knows the kind MachineMigration as well.
    pub async fn with_the_machine_migration() -> Self {
        let set_up = async |server: &ApiServer| {
            Self::set_up(server).await?;
            install::apply_manifests(server, &definition()).await
        };
        Self::of(Lent::take("world with MachineMigrations", set_up).await.unwrap()).await
    }

    pub async fn install_the_machine_migration(&self) {
        install::apply_manifests(&self.server, &definition()).await.unwrap();
    }

    /// Applies objects, with their status.
    pub async fn apply(&self, them: &[Value]) {
        let admin = self.admin().await;
        for object in them {
            objects::apply(&admin, object).await.unwrap();
            if let Some(status) = object.get("status") {
                objects::patch_status(&admin, object, status).await.unwrap();
            }
        }
    }
}

/// The CRD of the MachineMigration.
fn definition() -> String {
    std::fs::read_to_string(repository("manifests/guard/machinemigrations.yaml")).unwrap()
}

/// A world that is kept, until it is dropped.
pub struct Kept {
    pub world: Arc<World>,
    task: JoinHandle<()>,
}

impl Kept {
    /// Follows the API server of `kubeconfig`.
    pub async fn follow(kubeconfig: &Path) -> Self {
        let world = Arc::new(World::new(MAX_AGE));
        let client = rig::api_server::client(kubeconfig).await.unwrap();
        let task = tokio::spawn({
            let world = Arc::clone(&world);
            async move {
                let Err(error) = watch::follow(client, world).await;
                panic!("{error}");
            }
        });
        Self { world, task }
    }

    /// Follows, and waits until everything is filled.
    pub async fn filled(kubeconfig: &Path) -> Self {
        let kept = Self::follow(kubeconfig).await;
        tokio::time::timeout(DEADLINE, kept.world.filled()).await.expect("the world is not filled");
        kept
    }

    /// Waits until `look` finds what it looks for among fresh facts of `namespace`.
    pub async fn knows(&self, what: &str, namespace: &str, look: impl Fn(&NamespaceFacts) -> bool) {
        until(what, DEADLINE, || async {
            let found = self.world.consult(namespace, |known| match known {
                Known::Fresh(facts) => Ok(look(facts)),
                Known::Stale(resource) => Err(resource.to_owned()),
            });
            found.map(|found| found.then_some(())).map_err(|stale| anyhow::anyhow!("{stale} are stale"))
        })
        .await
        .unwrap_or_else(|error| panic!("{error}\n{:#?}", self.world));
    }

    /// Waits until this resource is stale, or none is.
    pub async fn stale(&self, resource: Option<Resource>, deadline: Duration) {
        until(&format!("stale: {resource:?}"), deadline, || async {
            Ok((self.world.stale() == resource).then_some(()))
        })
        .await
        .unwrap_or_else(|error| panic!("{error}\n{:#?}", self.world.ages()));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A Namespace with the guard's label.
pub fn guarded(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": namespace, "labels": {"mcm-migration.stackit.cloud/guard": "closed"}},
    })
}

pub fn class(namespace: &str, name: &str, provider: &str) -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineClass",
        "metadata": {"name": name, "namespace": namespace}, "provider": provider, "providerSpec": {},
    })
}

/// A Secret; `data` is plain text.
pub fn secret(namespace: &str, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "stringData": data,
    })
}
