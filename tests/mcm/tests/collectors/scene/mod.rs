//! A shoot on a real API server, its servers in the simulated cloud, and what somebody careless may do to them.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use std::sync::Arc;
use std::time::Duration;

use kube::api::PostParams;
use mcm_stand_in::{Killed, Mcm, Options, Provider};
use rig::shoot::class;
use rig::{Lent, Shared, Shoot, crds, objects};
use serde_json::{Value, json};
use simulator::{Cloud, Server};

/// For what happens within a second on an idle computer.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// How often a stand-in of these tests looks for orphans: they wait for its runs.
const PERIOD: Duration = Duration::from_millis(150);

/// So many orphan runs show that nothing is going to happen: with two classes each order comes up.
pub const RUNS: u64 = 10;

static SERVER: Shared<Lent> = Shared::new();

async fn server() -> Arc<Lent> {
    SERVER.get(async || Lent::take("kinds", crds::apply).await.unwrap()).await
}

pub struct Scene {
    pub client: kube::Client,
    pub cloud: Arc<Cloud>,
    pub shoot: Shoot,
    pub server: Arc<Lent>,
}

impl Scene {
    /// The shoot without MCM pods; each Machine has a server without labels.
    pub async fn new(shoot: Shoot) -> Self {
        let scene = Self::empty_cloud(shoot).await;
        for machine in scene.shoot.machines() {
            scene.add_server(Server::new(scene.shoot.server_id(&machine), machine));
        }
        scene
    }

    pub async fn empty_cloud(shoot: Shoot) -> Self {
        let server = server().await;
        let shoot = shoot.pods(&[]);
        shoot.create(&server).await.unwrap();
        Self { client: server.admin_client().await.unwrap(), cloud: Arc::new(Cloud::new()), shoot, server }
    }

    pub fn add_server(&self, server: Server) {
        self.cloud.add_server(&self.shoot.project_id(), "eu01", server);
    }

    /// Starts a stand-in, and waits until it has looked for orphans once.
    pub async fn mcm(&self, provider: Provider, options: Options) -> Mcm {
        let mcm = self.starting(provider, options).await;
        mcm.await_runs(1, DEADLINE).await.unwrap();
        mcm
    }

    pub async fn starting(&self, provider: Provider, options: Options) -> Mcm {
        let (namespace, project) = (self.shoot.namespace(), self.shoot.project_id());
        let options = options.quiet().orphan_period(PERIOD);
        Mcm::start(&self.server, &namespace, provider, Arc::clone(&self.cloud), &project, options).await.unwrap()
    }

    fn object(&self, kind: &str, name: &str) -> Value {
        let metadata = json!({ "namespace": self.shoot.namespace(), "name": name });
        json!({ "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": kind, "metadata": metadata })
    }

    pub async fn machine(&self, name: &str) -> Option<Value> {
        let machine = objects::get(&self.client, &self.object("Machine", name)).await.unwrap();
        machine.map(|machine| serde_json::to_value(machine).unwrap())
    }

    pub async fn create_machine(&self, name: &str, provider_id: &str, phase: &str) {
        let mut machine = self.shoot.machine(name, provider_id);
        if phase.is_empty() {
            machine.as_object_mut().unwrap().remove("status");
        } else {
            machine["status"]["currentStatus"]["phase"] = phase.into();
        }
        objects::create(&self.client, &machine).await.unwrap();
    }

    pub async fn delete_machine(&self, name: &str) {
        objects::delete(&self.client, &self.object("Machine", name)).await.unwrap();
    }

    pub async fn set_id(&self, machine: &str, provider_id: &str) {
        let patch = json!({ "spec": { "providerID": provider_id } });
        objects::merge(&self.client, &self.object("Machine", machine), &patch).await.unwrap();
    }

    pub async fn rewrite(&self) {
        for machine in self.shoot.machines() {
            self.set_id(&machine, &self.shoot.stackit_id(&machine)).await;
        }
    }

    pub async fn write_back(&self) {
        for machine in self.shoot.machines() {
            self.set_id(&machine, &self.shoot.legacy_id(&machine)).await;
        }
    }

    /// Replaces the class as Gardener does: provider and providerSpec at once.
    pub async fn flip(&self, provider: Provider) {
        let (name, wanted) = (self.shoot.class(), class(&self.shoot.class(), provider));
        let api = objects::api_for(self.client.clone(), &self.object("MachineClass", &name)).unwrap();
        let mut found = api.get(&name).await.unwrap();
        for field in ["provider", "providerSpec"] {
            found.data[field] = wanted[field].clone();
        }
        api.replace(&name, &PostParams::default(), &found).await.unwrap();
    }

    pub async fn add_class(&self, name: &str, provider: Provider) {
        let mut class = class(name, provider);
        class["metadata"]["namespace"] = self.shoot.namespace().into();
        objects::create(&self.client, &class).await.unwrap();
    }

    pub fn label(&self, machine: &str, class: &str) {
        self.label_server(&self.shoot.server_id(machine), machine, class);
    }

    pub fn label_server(&self, server: &str, machine: &str, class: &str) {
        let labelled = self.cloud.change_server(server, |server| {
            server.labels.set("kubernetes.io/machine", machine);
            server.labels.set("kubernetes.io/machineclass", class);
        });
        assert!(labelled, "there is no server {server}");
    }

    pub fn label_all(&self) {
        for machine in self.shoot.machines() {
            self.label(&machine, &self.shoot.class());
        }
    }

    /// Waits until each server of the shoot would have died, and shows that none did.
    pub async fn all_are_killed_by(&self, mcm: &Mcm) {
        let machines = self.shoot.machines();
        let all = || async { Ok(Some(mcm.killed()).filter(|killed| killed.len() == machines.len())) };
        let killed: Vec<Killed> = rig::until("all would have died", DEADLINE, all).await.unwrap();
        for machine in &machines {
            let (server, name) = (self.shoot.server_id(machine), format!("{}/{machine}", self.shoot.namespace()));
            assert!(killed.iter().any(|one| one.server == server && one.machine == name), "{machine}: {killed:?}");
        }
        assert_eq!(mcm.verdict(), Err(killed[0].clone()));
        assert_eq!(self.cloud.server_count(&self.shoot.project_id()), machines.len());
    }

    /// Shows that nothing happens, in so many further runs.
    pub async fn nobody_is_killed_by(&self, mcm: &Mcm) {
        let count = self.cloud.server_count(&self.shoot.project_id());
        mcm.await_runs(RUNS, DEADLINE).await.unwrap();
        mcm.verdict().unwrap();
        assert_eq!(self.cloud.server_count(&self.shoot.project_id()), count, "{:?}", mcm.events());
    }
}
