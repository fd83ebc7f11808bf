//! A shoot that has migrated, on a real API server and a simulated cloud, and the command `rollback` run by an operator.
#![allow(dead_code, unreachable_pub, reason = "shared by the test files that name this folder; none uses all of it")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use mcm_stand_in::{Mcm, Options};
use rig::shoot::{Provider, Shoot, class, mcm_deployment, mcm_pod};
use rig::{Product, arm_by_hand, install, objects};
use serde_json::{Value, json};
use simulator::{Call, Operation, Volume};

use crate::side_task_support::{LONG, Seed};
use crate::support::binary;

pub const GUARD: &str = "mcm-migration.stackit.cloud/guard";
pub const PREVIOUS: &str = "mcm-migration.stackit.cloud/previous-provider-id";
pub const MARKER: &str = "stackit.cloud/machine-should-be-migrated";
pub const MIGRATED: &str = "stackit.cloud/migrated-machine";
pub const SETTLED: &str = "mcm-migration.stackit.cloud/settled";
pub const EXCEPTION: &str = "mcm-migration.stackit.cloud/exception";
pub const WORKER_MARK: &str = "stackit.cloud/machine-controller-manager-migrated";
pub const PAUSED_BY: &str = "mcm-migration.stackit.cloud/paused-by-rollback";
/// A label that somebody else has set.
pub const FOREIGN: (&str, &str) = ("team", "blue");
/// What the STACKIT provider, or this program for it, sets.
pub const OURS: [&str; 4] =
    ["kubernetes.io/machine", "kubernetes.io/machineclass", "kubernetes.io/cluster", "kubernetes.io/role"];

const OPERATOR: &str = "olga";

/// The seed with an operator who has the shipped roles and nothing else.
pub struct Back {
    pub seed: Seed,
    pub operator: PathBuf,
}

impl Back {
    pub async fn start() -> Self {
        let seed = Seed::start().await;
        for role in ["mcm-migration-operator", "mcm-migration-rollback"] {
            let binding = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": role},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": OPERATOR}],
            });
            install::apply_objects(&seed.server, &[binding]).await.unwrap();
        }
        let operator = seed.server.user_kubeconfig(OPERATOR, &[]).unwrap();
        Self { seed, operator }
    }

    /// A shoot that is through: IDs, annotations, labels, guard, the Worker's mark; its STACKIT pod still runs.
    pub async fn migrated(&self, name: &str, machines: usize) -> Shoot {
        self.migrated_as(Shoot::new(name).legacy_machines(0).migrated_machines(machines)).await
    }

    pub async fn migrated_as(&self, shoot: Shoot) -> Shoot {
        let shoot = self.seed.create(shoot).await;
        let namespace = shoot.namespace();
        for machine in shoot.machines() {
            self.label_server(&shoot, &machine);
        }
        arm_by_hand(&self.seed.client, &namespace).await.unwrap();
        self.annotate(&worker(&shoot), &json!({WORKER_MARK: "true"})).await;
        shoot
    }

    /// Labels of ours, and one of somebody else's.
    pub fn label_server(&self, shoot: &Shoot, machine: &str) {
        let class = shoot.class();
        let values = [machine, class.as_str(), "shoot", "node"];
        self.seed.cloud().change_server(&shoot.server_id(machine), |server| {
            for (key, value) in OURS.iter().zip(values) {
                server.labels.set(*key, value);
            }
            server.labels.set(FOREIGN.0, FOREIGN.1);
        });
    }

    /// Network interface and volume that OpenStack made apart for a Machine's server, with this program's labels and one of somebody else's.
    pub fn label_parts(&self, shoot: &Shoot, machine: &str) {
        let server = shoot.server_id(machine);
        let (namespace, id) = (shoot.namespace(), server.clone());
        let labels = [
            ("mcm-migration-machine", machine),
            ("mcm-migration-shoot", &namespace),
            ("mcm-migration-server", &id),
            FOREIGN,
        ];
        self.seed.cloud().change_server(&server, |server| {
            server.volumes.push(Volume::boot(machine));
            let nics = server.nics.iter_mut().map(|nic| &mut nic.labels);
            for part in nics.chain(server.volumes.iter_mut().map(|volume| &mut volume.labels)) {
                for (key, value) in labels {
                    part.set(key, value);
                }
            }
        });
    }

    pub async fn annotate(&self, object: &Value, annotations: &Value) {
        objects::merge(&self.seed.client, object, &json!({"metadata": {"annotations": annotations}})).await.unwrap();
    }

    /// Gardener writes the Deployment first; its pod is replaced, by nothing or by one that only stands there.
    pub async fn deployment(&self, shoot: &Shoot, provider: Provider, pod: Option<&str>) {
        let namespace = shoot.namespace();
        let mut deployment = mcm_deployment(provider);
        deployment["metadata"]["namespace"] = namespace.clone().into();
        let patch = json!({"spec": {"template": {"spec": {"containers": deployment["spec"]["template"]["spec"]["containers"]}}}});
        objects::merge(&self.seed.client, &deployment, &patch).await.unwrap();
        if let Some(pod) = pod {
            let mut pod = mcm_pod(pod, provider);
            pod["metadata"]["namespace"] = namespace.into();
            objects::create(&self.seed.client, &pod).await.unwrap();
        }
    }

    pub async fn end_pod(&self, shoot: &Shoot) {
        objects::end_pod(&self.seed.client, &shoot.namespace(), "machine-controller-manager-0").await.unwrap();
    }

    /// Gardener has switched back as far as it is let: the Deployment is OpenStack's, and no pod is left.
    pub async fn switched_back(&self, shoot: &Shoot) {
        self.deployment(shoot, Provider::OpenStack, None).await;
        self.end_pod(shoot).await;
    }

    /// Gardener turns the class, if it is let.
    pub async fn turn_class(&self, shoot: &Shoot, provider: Provider) -> anyhow::Result<()> {
        let mut class = class(&shoot.class(), provider);
        class["metadata"]["namespace"] = shoot.namespace().into();
        self.seed.server.kubectl(&["replace", "-f", "-"], Some(&class.to_string())).await?.ok()?;
        Ok(())
    }

    pub async fn mcm(&self, shoot: &Shoot, provider: Provider, options: Options) -> Mcm {
        let (namespace, project) = (shoot.namespace(), shoot.project_id());
        Mcm::start(&self.seed.server, &namespace, provider, self.seed.cloud(), &project, options).await.unwrap()
    }

    /// Starts the command with times as short as a test can bear, and JSON lines.
    pub fn rollback(&self, shoot: &Shoot, more: &[&str]) -> Product {
        let namespace = shoot.namespace();
        let mut args = vec!["rollback", "--namespace", &namespace, "--kubeconfig", self.operator.to_str().unwrap()];
        args.extend(["--output", "json", "--allow-unsafe-node-ready-for"]);
        if !more.contains(&"--node-ready-for") {
            args.extend(["--node-ready-for", "300ms"]);
        }
        args.extend(["--cloud-rate-project", "unlimited"]);
        if !more.contains(&"--quarantine") {
            args.extend(["--quarantine", "1s", "--allow-unsafe-quarantine"]);
        }
        args.extend(more);
        let (iaas, token) = (self.seed.simulator.iaas_url(), self.seed.simulator.token_url());
        let env = [("STACKIT_IAAS_ENDPOINT", iaas.as_str()), ("STACKIT_TOKEN_BASEURL", token.as_str())];
        Product::start(binary(), &args, &env).unwrap()
    }

    /// Runs the command to its end.
    pub async fn run(&self, shoot: &Shoot, more: &[&str]) -> Run {
        Run::of(self.rollback(shoot, more)).await
    }

    pub async fn guard(&self, shoot: &Shoot) -> Option<String> {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": shoot.namespace()}});
        let found = objects::get(&self.seed.client, &object).await.unwrap().unwrap();
        found.metadata.labels.unwrap_or_default().get(GUARD).cloned()
    }

    pub async fn migration(&self, shoot: &Shoot) -> Value {
        self.seed.migration(&shoot.namespace()).await.unwrap()
    }

    pub async fn pause(&self, shoot: &Shoot) {
        objects::merge(&self.seed.client, &migration(shoot), &json!({"spec": {"paused": true}})).await.unwrap();
    }

    /// Checks a shoot that is back: IDs, annotations, labels, the guard, the Worker, what was paused.
    pub async fn assert_back(&self, shoot: &Shoot) {
        let namespace = shoot.namespace();
        for machine in self.seed.machines(&namespace).await {
            let name = machine["metadata"]["name"].as_str().unwrap();
            assert_eq!(machine["spec"]["providerID"], shoot.legacy_id(name), "{name}");
            let annotations = &machine["metadata"]["annotations"];
            for gone in [MARKER, PREVIOUS, SETTLED, EXCEPTION] {
                assert!(annotations[gone].is_null(), "{name} still has {gone}");
            }
            assert_eq!(annotations[MIGRATED], "true", "{name}");
            let server =
                self.seed.cloud().server(&shoot.server_id(name)).unwrap_or_else(|| panic!("{name} lost its server"));
            for key in OURS {
                assert_eq!(server.labels.text(key), None, "{name} still has the label {key}");
            }
        }
        assert_eq!(self.labelled_parts(shoot), 0);
        assert_eq!(self.guard(shoot).await, None);
        let worker = self.seed.worker(shoot).await;
        assert!(worker["metadata"]["annotations"][WORKER_MARK].is_null(), "{worker}");
        for type_ in ["Armed", "Labelled", "Complete"] {
            let condition = condition(&self.migration(shoot).await, type_);
            assert!(condition.starts_with("False "), "{type_}: {condition}");
        }
    }

    /// How many network interfaces and volumes of the shoot's project carry this program's labels.
    pub fn labelled_parts(&self, shoot: &Shoot) -> usize {
        let (cloud, project) = (self.seed.cloud(), shoot.project_id());
        let nics = cloud.nics(&project).into_iter().map(|(nic, _)| nic.labels);
        let labels = nics.chain(cloud.volumes(&project).into_iter().map(|(volume, _)| volume.labels));
        labels.filter(|labels| labels.text("mcm-migration-machine").is_some()).count()
    }

    /// How many network interfaces and volumes of the shoot's project carry the label of somebody else.
    pub fn foreign_parts(&self, shoot: &Shoot) -> usize {
        let (cloud, project) = (self.seed.cloud(), shoot.project_id());
        let nics = cloud.nics(&project).into_iter().map(|(nic, _)| nic.labels);
        let labels = nics.chain(cloud.volumes(&project).into_iter().map(|(volume, _)| volume.labels));
        labels.filter(|labels| labels.text(FOREIGN.0) == Some(FOREIGN.1)).count()
    }

    /// The version of every object that the command might write.
    pub async fn versions(&self, shoot: &Shoot) -> BTreeMap<String, String> {
        let kinds = "machines,machineclasses,workers,machinemigrations";
        let format = "jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
        let namespace = shoot.namespace();
        let kubectl = |args: Vec<String>| async move {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            self.seed.server.kubectl(&args, None).await.unwrap().ok().unwrap()
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let within = kubectl(words(&["-n", &namespace, "get", kinds, "-o", format])).await;
        let one = "jsonpath={.kind}/{.metadata.name} {.metadata.resourceVersion}";
        let own = kubectl(words(&["get", "namespace", &namespace, "-o", one])).await;
        let lines = within.lines().chain(own.lines()).filter_map(|line| line.split_once(' '));
        lines.map(|(object, version)| (object.to_owned(), version.to_owned())).collect()
    }
}

/// How the command ended, and what it said.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub lines: Vec<Value>,
}

impl Run {
    pub async fn of(product: Product) -> Self {
        let ended = || async { Ok(product.exit_code()?.map(|_| ())) };
        rig::until("the command ends", LONG, ended)
            .await
            .unwrap_or_else(|error| panic!("{error}: {:#?}", product.logs()));
        product.all_read(LONG).await.unwrap();
        Self { code: product.exit_code().unwrap().unwrap_or(-1), lines: product.logs() }
    }

    /// The reasons of all lines, each once.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = Vec::new();
        for reason in self.lines.iter().flat_map(|line| line["reasons"].as_array().cloned().unwrap_or_default()) {
            let reason = reason["reason"].as_str().unwrap_or_default().to_owned();
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        reasons
    }

    /// The subjects of a reason.
    pub fn subjects(&self, reason: &str) -> Vec<String> {
        let all = self.lines.iter().flat_map(|line| line["reasons"].as_array().cloned().unwrap_or_default());
        let of = all.filter(|found| found["reason"] == reason);
        let mut subjects: Vec<String> =
            of.map(|found| found["subject"].as_str().unwrap_or_default().to_owned()).collect();
        subjects.dedup();
        subjects
    }

    /// The steps that were done, in order, each run of the same once.
    pub fn done(&self) -> Vec<String> {
        let done = self.lines.iter().filter(|line| line["event"] == "done" && line["step"].is_string());
        let mut steps: Vec<String> = done.map(|line| line["step"].as_str().unwrap_or_default().to_owned()).collect();
        steps.dedup();
        steps
    }
}

pub fn worker(shoot: &Shoot) -> Value {
    json!({"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker",
        "metadata": {"name": shoot.worker(), "namespace": shoot.namespace()}})
}

pub fn migration(shoot: &Shoot) -> Value {
    json!({"apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
        "metadata": {"name": "openstack-to-stackit", "namespace": shoot.namespace()}})
}

/// Status and reason of a condition, as `True Armed`; empty where there is none.
pub fn condition(migration: &Value, type_: &str) -> String {
    let text = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let conditions = migration["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == type_);
    found.map(|found| format!("{} {}", text(found, "status"), text(found, "reason"))).unwrap_or_default()
}

/// The writes to servers that took labels off: nothing but our keys, each `null`.
pub fn assert_only_ours_came_off(journal: &[Call]) -> usize {
    let patches = journal.iter().filter(|call| call.by.is_none() && call.operation == Operation::PatchServer);
    let mut count = 0;
    for call in patches {
        let body = call.body.as_ref().unwrap();
        assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["labels"], "{call:?}");
        for (key, value) in body["labels"].as_object().unwrap() {
            assert!(OURS.contains(&key.as_str()), "{call:?}");
            count += usize::from(value.is_null());
        }
    }
    count
}
