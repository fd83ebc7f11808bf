//! A seed on a real API server, and the command `arm` run against it by an operator.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kube::Client;
use rig::{ApiServer, Lent, Shoot, crds, install, objects};
use serde_json::{Value, json};

pub const GUARD: &str = "mcm-migration.stackit.cloud/guard";
pub const OPERATOR: &str = "operator";

/// How the command ended, and what it said.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The line of a shoot, then the indented ones below it.
    pub fn of(&self, namespace: &str) -> Vec<&str> {
        let mut lines = self.stdout.lines().skip_while(|line| line.split_whitespace().next() != Some(namespace));
        let first = lines.next().unwrap_or_else(|| panic!("no line of {namespace} in {self:?}"));
        std::iter::once(first).chain(lines.take_while(|line| line.starts_with("  "))).collect()
    }

    /// The result of a shoot: the second column.
    pub fn result(&self, namespace: &str) -> &str {
        self.of(namespace)[0].split_whitespace().nth(1).unwrap_or_default()
    }

    /// The reasons told below a shoot's line.
    pub fn reasons(&self, namespace: &str) -> Vec<&str> {
        self.of(namespace)[1..].iter().map(|line| line.trim().split([' ', ':']).next().unwrap_or_default()).collect()
    }
}

/// Runs the command with the node rule cut down to a second.
pub async fn arm(kubeconfig: &Path, more: &[&str]) -> Run {
    let mut args = vec!["--node-ready-for", "1s", "--allow-unsafe-node-ready-for"];
    args.extend(more);
    arm_exactly(Some(kubeconfig), &args).await
}

/// Runs the command as it is.
pub async fn arm_exactly(kubeconfig: Option<&Path>, args: &[&str]) -> Run {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_mcm-migration-webhook"));
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST").env("HOME", "/nonexistent");
    command.arg("arm").args(args).kill_on_drop(true);
    if let Some(kubeconfig) = kubeconfig {
        command.arg("--kubeconfig").arg(kubeconfig);
    }
    let output = command.output().await.unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// An API server with the kinds of Gardener, and an operator who has the shipped role and nothing else.
pub struct Seed {
    pub server: Lent,
    pub operator: PathBuf,
}

impl Seed {
    /// Without the guard.
    pub async fn bare() -> Self {
        Self::of(Lent::take("operator", Self::set_up).await.unwrap())
    }

    /// With the guard in force.
    pub async fn guarded() -> Self {
        let set_up = async |server: &ApiServer| {
            Self::set_up(server).await?;
            install::apply_folder(server, &repository("manifests/guard")).await
        };
        Self::of(Lent::take("operator and guard", set_up).await.unwrap())
    }

    async fn set_up(server: &ApiServer) -> anyhow::Result<()> {
        crds::apply(server).await?;
        let role = std::fs::read_to_string(repository("manifests/base/operator.yaml"))?;
        install::apply_manifests(server, &role).await?;
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": OPERATOR},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "mcm-migration-operator"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": OPERATOR}],
        });
        install::apply_objects(server, &[binding]).await
    }

    fn of(server: Lent) -> Self {
        let operator = server.user_kubeconfig(OPERATOR, &[]).unwrap();
        Self { server, operator }
    }

    pub async fn install_guard(&self) {
        install::apply_folder(&self.server, &repository("manifests/guard")).await.unwrap();
    }

    /// Only the definition of MachineMigrations, none of the policies.
    pub async fn install_definition(&self) {
        let definition = std::fs::read_to_string(repository("manifests/guard/machinemigrations.yaml")).unwrap();
        install::apply_manifests(&self.server, &definition).await.unwrap();
    }

    pub async fn client(&self) -> Client {
        self.server.admin_client().await.unwrap()
    }

    /// Makes a shoot, changed by `change`, and gives its namespace.
    pub async fn shoot(&self, shoot: Shoot) -> String {
        shoot.create(&self.server).await.unwrap();
        shoot.namespace()
    }

    pub async fn arm(&self, more: &[&str]) -> Run {
        arm(&self.operator, more).await
    }

    pub async fn kubectl(&self, args: &[&str]) -> String {
        self.server.kubectl(args, None).await.unwrap().ok().unwrap()
    }

    pub async fn patch(&self, namespace: &str, what: &str, patch: &Value) {
        let patch = patch.to_string();
        self.kubectl(&["-n", namespace, "patch", what, "--type=merge", "-p", &patch]).await;
    }

    pub async fn patch_status(&self, namespace: &str, what: &str, patch: &Value) {
        let patch = patch.to_string();
        self.kubectl(&["-n", namespace, "patch", what, "--subresource=status", "--type=merge", "-p", &patch]).await;
    }

    pub async fn guard_label(&self, namespace: &str) -> Option<String> {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let found = objects::get(&self.client().await, &object).await.unwrap().unwrap();
        found.metadata.labels.unwrap_or_default().get(GUARD).cloned()
    }

    pub async fn migration(&self, namespace: &str) -> Option<Value> {
        let found = objects::get(&self.client().await, &migration(namespace)).await.unwrap();
        found.map(|found| serde_json::to_value(found).unwrap())
    }

    /// Status and reason of a condition of the MachineMigration, as `True Armed`; empty where there is none.
    pub async fn condition(&self, namespace: &str, type_: &str) -> String {
        let migration = self.migration(namespace).await.unwrap_or_default();
        let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
        let conditions = migration["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let found = conditions.iter().find(|condition| condition["type"] == type_);
        found.map(|found| format!("{} {}", text(found, "status"), text(found, "reason"))).unwrap_or_default()
    }

    /// The version of every object that the command reads or writes in these namespaces.
    pub async fn versions(&self, namespaces: &[&str]) -> BTreeMap<String, String> {
        let kinds = "machines,machineclasses,machinedeployments,workers,machinemigrations,deployments,pods";
        let format = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
        let mut found = BTreeMap::new();
        for namespace in namespaces {
            let within = self.kubectl(&["-n", namespace, "get", kinds, "-o", format]).await;
            let one = "jsonpath={.kind}/{.metadata.name} {.metadata.resourceVersion}";
            let own = self.kubectl(&["get", "namespace", namespace, "-o", one]).await;
            let lines = within.lines().chain(own.lines()).filter_map(|line| line.split_once(' '));
            found.extend(lines.map(|(object, version)| (format!("{namespace}/{object}"), version.to_owned())));
        }
        assert!(found.len() > namespaces.len(), "{found:?}");
        found
    }

    /// What the operator wrote, in order, as `verb resource[/subresource] code`; dry runs left out, or only them.
    pub fn writes(&self, namespace: &str, dry_runs: bool) -> Vec<String> {
        writes(&self.server, namespace, dry_runs)
    }
}

/// [`Seed::writes`] of one of several API servers.
pub fn writes(server: &ApiServer, namespace: &str, dry_runs: bool) -> Vec<String> {
    let events = server.audit_events().unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let written = events.iter().filter(|event| {
        let uri = text(&event["requestURI"]);
        event["stage"] == "ResponseComplete"
            && event["user"]["username"] == OPERATOR
            && !matches!(event["verb"].as_str(), Some("get" | "list" | "watch"))
            && uri.contains("dryRun") == dry_runs
            && uri.contains(namespace)
    });
    written
        .map(|event| {
            let (resource, sub) = (text(&event["objectRef"]["resource"]), text(&event["objectRef"]["subresource"]));
            let code = &event["responseStatus"]["code"];
            format!("{} {resource}{}{sub} {code}", text(&event["verb"]), if sub.is_empty() { "" } else { "/" })
        })
        .collect()
}

pub fn migration(namespace: &str) -> Value {
    json!({
        "apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
        "metadata": {"name": "openstack-to-stackit", "namespace": namespace}, "spec": {"paused": false},
    })
}

pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Hands each new connection to the next of these ports on loopback, and gives the port where it listens.
pub async fn balancer(ports: Vec<u16>) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        for to in ports.into_iter().cycle() {
            let (mut from, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut to = tokio::net::TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                // A connection that breaks off is one that has ended.
                let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
            });
        }
    });
    port
}
