//! Fixtures: a shoot namespace of a seed, as it stands right after Gardener has switched it to STACKIT.

mod control_plane;
mod ids;
mod machines;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::task::JoinSet;

pub use control_plane::{mcm_deployment, mcm_pod, node};
pub use ids::uuid;
pub use machines::{class, legacy_id, machine, migrated_machine, stackit_id};

use crate::{ApiServer, objects};

/// The name of the seed that the shoots live on.
pub const SEED: &str = "seed-one";

/// Which machine-controller-manager provider a class, a Deployment or a pod belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// The old one.
    OpenStack,
    /// The new one.
    Stackit,
}

impl Provider {
    /// `provider` of a MachineClass.
    #[must_use]
    pub fn class_value(self) -> &'static str {
        match self {
            Self::OpenStack => "OpenStack",
            Self::Stackit => "stackit",
        }
    }

    /// The container of the machine-controller-manager's pods that speaks to the cloud.
    #[must_use]
    pub fn container(self) -> &'static str {
        match self {
            Self::OpenStack => "machine-controller-manager-provider-openstack",
            Self::Stackit => "machine-controller-manager-provider-stackit",
        }
    }
}

/// A shoot to be made. Without further calls: STACKIT class, Deployment and one running pod, three legacy Machines.
#[derive(Clone, Debug)]
pub struct Shoot {
    name: String,
    project: String,
    classes: Provider,
    deployment: Option<Provider>,
    pods: Vec<Provider>,
    legacy: usize,
    migrated: usize,
    service_account: Option<String>,
}

impl Shoot {
    /// The shoot `name` of the Gardener project `garden`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            project: "garden".to_owned(),
            classes: Provider::Stackit,
            deployment: Some(Provider::Stackit),
            pods: vec![Provider::Stackit],
            legacy: 3,
            migrated: 0,
            service_account: None,
        }
    }

    /// Puts it into another Gardener project.
    #[must_use]
    pub fn project(mut self, project: &str) -> Self {
        project.clone_into(&mut self.project);
        self
    }

    /// How many Machines with an OpenStack ID it has.
    #[must_use]
    pub fn legacy_machines(mut self, count: usize) -> Self {
        self.legacy = count;
        self
    }

    /// How many Machines it has that were rewritten and labelled before.
    #[must_use]
    pub fn migrated_machines(mut self, count: usize) -> Self {
        self.migrated = count;
        self
    }

    /// The provider of its MachineClass.
    #[must_use]
    pub fn classes(mut self, provider: Provider) -> Self {
        self.classes = provider;
        self
    }

    /// The provider of the machine-controller-manager's Deployment; `None` for no Deployment.
    #[must_use]
    pub fn deployment(mut self, provider: Option<Provider>) -> Self {
        self.deployment = provider;
        self
    }

    /// The content of `serviceaccount.json` in its `cloudprovider` secret; without it, a key that opens nothing.
    #[must_use]
    pub fn service_account(mut self, json: &str) -> Self {
        self.service_account = Some(json.to_owned());
        self
    }

    /// The providers of the machine-controller-manager's running pods, `machine-controller-manager-0` and so on.
    #[must_use]
    pub fn pods(mut self, providers: &[Provider]) -> Self {
        self.pods = providers.to_vec();
        self
    }

    /// Before the switch: class, Deployment and pod are OpenStack's.
    #[must_use]
    pub fn before_the_switch(self) -> Self {
        self.classes(Provider::OpenStack).deployment(Some(Provider::OpenStack)).pods(&[Provider::OpenStack])
    }

    /// `shoot--<project>--<name>`.
    #[must_use]
    pub fn namespace(&self) -> String {
        format!("shoot--{}--{}", self.project, self.name)
    }

    /// The name of its Worker, which is the shoot's own.
    #[must_use]
    pub fn worker(&self) -> &str {
        &self.name
    }

    /// The STACKIT project in its `cloudprovider` secret.
    #[must_use]
    pub fn project_id(&self) -> String {
        uuid(&format!("project of {}", self.namespace()))
    }

    /// The name of its MachineDeployment.
    #[must_use]
    pub fn machine_deployment(&self) -> String {
        format!("{}-worker-z1", self.namespace())
    }

    /// The name of its MachineClass.
    #[must_use]
    pub fn class(&self) -> String {
        format!("{}-5f3d1", self.machine_deployment())
    }

    /// The names of its Machines, the legacy ones first.
    #[must_use]
    pub fn machines(&self) -> Vec<String> {
        (0..self.legacy + self.migrated).map(|number| self.machine_name(number)).collect()
    }

    /// The cloud's ID of the server behind a Machine.
    #[must_use]
    pub fn server_id(&self, machine: &str) -> String {
        uuid(&format!("server of {machine}"))
    }

    /// The `spec.providerID` that a Machine has before the migration.
    #[must_use]
    pub fn legacy_id(&self, machine: &str) -> String {
        legacy_id(&self.server_id(machine))
    }

    /// The `spec.providerID` that a Machine has after it.
    #[must_use]
    pub fn stackit_id(&self, machine: &str) -> String {
        stackit_id(&self.project_id(), &self.server_id(machine))
    }

    fn machine_name(&self, number: usize) -> String {
        format!("{}-5f3d1-{}", self.machine_deployment(), ids::suffix(number))
    }

    /// One of its Machines, with its namespace.
    #[must_use]
    pub fn machine(&self, name: &str, provider_id: &str) -> Value {
        let mut machine = machine(name, &self.class(), provider_id);
        machine["metadata"]["namespace"] = self.namespace().into();
        machine["metadata"]["labels"]["name"] = self.machine_deployment().into();
        machine
    }

    /// All its objects, in the order in which they have to be made, with their status.
    #[must_use]
    pub fn objects(&self) -> Vec<Value> {
        let namespace = self.namespace();
        let mut objects = vec![
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": namespace, "labels": {
                    "gardener.cloud/role": "shoot", "shoot.gardener.cloud/provider": "stackit", "shoot.gardener.cloud/uid": uuid(&namespace),
                } },
            }),
            control_plane::cluster(&namespace, &self.name, &self.project),
            control_plane::cloudprovider(&self.project_id(), self.service_account.as_deref()),
            class(&self.class(), self.classes),
            machines::machine_deployment(&self.machine_deployment(), &self.class(), self.legacy + self.migrated),
            machines::machine_set(&self.machine_deployment(), &self.class(), self.legacy + self.migrated),
            control_plane::worker(&self.name, &self.machine_deployment(), self.legacy + self.migrated),
        ];
        objects.extend(self.deployment.map(mcm_deployment));
        let pods = self.pods.iter().enumerate();
        objects
            .extend(pods.map(|(number, provider)| mcm_pod(&format!("machine-controller-manager-{number}"), *provider)));
        for (number, name) in self.machines().into_iter().enumerate() {
            let machine = if number < self.legacy {
                self.machine(&name, &self.legacy_id(&name))
            } else {
                let machine = self.machine(&name, &self.stackit_id(&name));
                migrated_machine(machine, &self.legacy_id(&name))
            };
            objects.push(machine);
        }
        for object in &mut objects {
            if !matches!(object["kind"].as_str(), Some("Namespace" | "Cluster")) {
                object["metadata"]["namespace"] = namespace.clone().into();
            }
        }
        objects
    }

    /// Makes it on an API server that has the CRDs ([`crate::crds::apply`]).
    pub async fn create(&self, server: &ApiServer) -> Result<()> {
        let client = server.admin_client().await?;
        let (machines, others): (Vec<_>, Vec<_>) =
            self.objects().into_iter().partition(|object| object["kind"] == "Machine");
        for object in others {
            objects::create(&client, &object).await?;
        }
        let mut creating = JoinSet::new();
        for machine in machines {
            if creating.len() >= 16 {
                creating.join_next().await.transpose().context("a task broke off")?.transpose()?;
            }
            let client = client.clone();
            creating.spawn(async move { objects::create(&client, &machine).await });
        }
        while let Some(created) = creating.join_next().await {
            created.context("a task broke off")??;
        }
        Ok(())
    }
}
