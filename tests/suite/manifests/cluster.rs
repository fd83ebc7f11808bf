use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use rig::{ApiServer, Lent, until};
use serde_json::{Value, json};

use super::{GUARD, PREFIX, STACKIT_ID, class, folder, machine};

/// How long a policy may take to be in force, or to be gone, after it was written.
const POLICIES: Duration = Duration::from_secs(60);

/// An API server with the kinds of Gardener and the machine-controller-manager, and kubectl as its admin.
pub struct Cluster(pub Lent);

impl Cluster {
    /// Without the guard.
    pub async fn bare() -> Self {
        Self(Lent::take("kinds", apply_kinds).await.unwrap())
    }

    /// With the guard in force.
    pub async fn guarded() -> Self {
        let set_up = async |server: &ApiServer| {
            apply_kinds(server).await?;
            apply(server, &["-k", &folder("guard")]).await
        };
        let cluster = Self(Lent::take("kinds and guard", set_up).await.unwrap());
        cluster.await_guard().await;
        cluster
    }

    /// Waits until each of the four policies has refused something.
    pub async fn await_guard(&self) {
        self.namespace("in-force", Some("closed")).await;
        self.create(&class("in-force", "pool", "stackit")).await.passed();
        self.create(&machine("in-force", "migrated", Some(STACKIT_ID))).await.passed();
        self.namespace("in-force-mixed", None).await;
        self.create(&class("in-force-mixed", "pool", "OpenStack")).await.passed();
        self.all_refuse(POLICIES).await;
    }

    /// Waits until the server knows each of the four policies, by the objects that [`Self::await_guard`] made.
    pub async fn all_refuse(&self, deadline: Duration) {
        for policy in ["no-way-back", "keep-ids", "keep-guard", "no-mixed"] {
            until(policy, deadline, || async {
                let answer = self.probe(policy).await;
                Ok((!answer.success && answer.stderr.contains(policy)).then_some(()))
            })
            .await
            .unwrap();
        }
    }

    /// Tries what `policy` refuses, as a dry run.
    pub async fn probe(&self, policy: &str) -> Answer {
        match policy {
            "no-way-back" => self.dry_create(&class("in-force", "back", "OpenStack")).await,
            "keep-ids" => {
                let patch = r#"{"spec":{"providerID":"openstack:///r/1"}}"#;
                let args = ["-n", "in-force", "patch", "machine", "migrated", "--type=merge", "-p", patch];
                self.kubectl(&[&args[..], &["--dry-run=server"]].concat(), None).await
            }
            "keep-guard" => self.label("in-force", &format!("{GUARD}-"), &["--dry-run=server"]).await,
            "no-mixed" => self.dry_create(&machine("in-force-mixed", "restored", Some(STACKIT_ID))).await,
            other => panic!("{other} is no policy of the guard"),
        }
    }

    pub async fn kubectl(&self, args: &[&str], stdin: Option<&str>) -> Answer {
        let output = self.0.kubectl(args, stdin).await.unwrap();
        Answer {
            what: format!("kubectl {}", args.join(" ")),
            success: output.success(),
            stdout: output.stdout,
            stderr: output.stderr,
        }
    }

    /// kubectl that has to succeed; its output.
    pub async fn ok(&self, args: &[&str]) -> String {
        self.kubectl(args, None).await.passed().stdout
    }

    /// What kubectl shows of something, as JSON.
    pub async fn json(&self, args: &[&str]) -> Value {
        let text = self.ok(&[args, &["-o", "json"]].concat()).await;
        serde_json::from_str(&text).unwrap()
    }

    pub async fn create(&self, object: &Value) -> Answer {
        self.kubectl(&["create", "-f", "-"], Some(&object.to_string())).await
    }

    pub async fn dry_create(&self, object: &Value) -> Answer {
        self.kubectl(&["create", "--dry-run=server", "-f", "-"], Some(&object.to_string())).await
    }

    pub async fn replace(&self, object: &Value) -> Answer {
        self.kubectl(&["replace", "-f", "-"], Some(&object.to_string())).await
    }

    pub async fn apply(&self, object: &Value) -> Answer {
        self.kubectl(&["apply", "-f", "-"], Some(&object.to_string())).await
    }

    /// A merge patch on `kind/name` of a namespace.
    pub async fn patch(&self, namespace: &str, what: &str, patch: &Value) -> Answer {
        self.kubectl(&["-n", namespace, "patch", what, "--type=merge", "-p", &patch.to_string()], None).await
    }

    /// A namespace with the value of the guard's label, which it has from the start.
    pub async fn namespace(&self, name: &str, guard: Option<&str>) {
        let mut namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {}}});
        if let Some(guard) = guard {
            namespace["metadata"]["labels"][GUARD] = json!(guard);
        }
        self.create(&namespace).await.passed();
    }

    /// Lets a terminating namespace go, as the namespace controller does; what is in it stays.
    pub async fn finalize(&self, name: &str) {
        let mut namespace = self.json(&["get", "namespace", name]).await;
        namespace["spec"]["finalizers"] = json!([]);
        let path = format!("/api/v1/namespaces/{name}/finalize");
        self.kubectl(&["replace", "--raw", &path, "-f", "-"], Some(&namespace.to_string())).await.passed();
        self.ok(&["wait", "--for=delete", &format!("namespace/{name}"), "--timeout=30s"]).await;
    }

    /// Lets every namespace go that is terminating.
    pub async fn finalize_all(&self) {
        let terminating =
            ["get", "namespaces", "-o=jsonpath={.items[?(@.status.phase==\"Terminating\")].metadata.name}"];
        for name in self.ok(&terminating).await.split_whitespace() {
            self.finalize(name).await;
        }
    }

    /// `kubectl label namespace`, overwriting.
    pub async fn label(&self, namespace: &str, label: &str, flags: &[&str]) -> Answer {
        self.kubectl(&[&["label", "namespace", namespace, label, "--overwrite"], flags].concat(), None).await
    }
}

/// What kubectl said.
#[derive(Debug)]
pub struct Answer {
    pub what: String,
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    #[track_caller]
    pub fn passed(self) -> Self {
        assert!(self.success, "{} did not pass: {}", self.what, self.stderr);
        self
    }

    /// Refused by this policy of the guard, in the guard's words.
    #[track_caller]
    pub fn refused_by(self, policy: &str) -> Self {
        assert!(!self.success, "{} was let in: {}", self.what, self.stdout);
        let words = format!("ValidatingAdmissionPolicy 'mcm-migration-{policy}'");
        assert!(self.stderr.contains(&words), "{} was not refused by {policy}: {}", self.what, self.stderr);
        let message = format!("denied request: {PREFIX}");
        assert!(self.stderr.contains(&message), "{}: not in the guard's words: {}", self.what, self.stderr);
        self
    }

    /// The refusal names this.
    #[track_caller]
    pub fn naming(&self, what: &str) {
        assert!(self.stderr.contains(what), "{}: {what} is not named: {}", self.what, self.stderr);
    }
}

async fn apply_kinds(server: &ApiServer) -> anyhow::Result<()> {
    let crds = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rig/crds");
    apply(server, &["-f", crds.to_str().context("a path that is not UTF-8")?]).await
}

/// `kubectl apply`, until all definitions are established.
async fn apply(server: &ApiServer, what: &[&str]) -> anyhow::Result<()> {
    server.kubectl(&[&["apply"], what].concat(), None).await?.ok()?;
    let established = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
    server.kubectl(&established, None).await?.ok()?;
    Ok(())
}
