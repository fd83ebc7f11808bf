//! One shoot with two Machines of two classes, and what is read of it.

use std::sync::Arc;

use mcm_stand_in::{Mcm, Options};
use rig::shoot::{Provider, class, mcm_deployment};
use rig::{Shoot, objects};
use serde_json::{Value, json};
use simulator::{Cloud, ServiceAccountKey};

use super::write::write;
use crate::side_task_support::{Seed, server_of};

/// One shoot of the seed.
pub struct Stage<'a> {
    pub seed: &'a Seed,
    pub shoot: Shoot,
    pub key: ServiceAccountKey,
    /// The classes, as many as Machines.
    pub classes: [String; 2],
    /// Two Machines, and the name of one that may be made.
    pub machines: [String; 3],
}

/// The MCM of a shoot, that does little besides killing what it takes for orphans.
fn options(pod: &str) -> Options {
    use std::time::Duration;
    let options = Options::default().pod(pod).creates(Duration::from_millis(300));
    let options = options.lease(Duration::from_secs(4), Duration::from_secs(3), Duration::from_secs(1));
    Options { retry: Duration::from_secs(1), ..options }.orphan_period(Duration::from_millis(500))
}

impl<'a> Stage<'a> {
    /// Makes everything as it stands before the switch.
    pub async fn create(seed: &'a Seed, name: &str) -> anyhow::Result<Self> {
        let shoot = Shoot::new(name).before_the_switch().legacy_machines(1);
        let key = seed.cloud().add_project(&shoot.project_id());
        let shoot = shoot.service_account(&key.json());
        let (deployment, first) = (format!("{}-worker-z2", shoot.namespace()), shoot.machines().swap_remove(0));
        let classes = [shoot.class(), format!("{deployment}-5f3d1")];
        let machines = [first, format!("{deployment}-5f3d1-second"), format!("{deployment}-5f3d1-late")];
        let stage = Self { seed, shoot, key, classes, machines };
        for machine in &stage.machines[..2] {
            let server = server_of(&stage.shoot, machine);
            stage.cloud().add_server(&stage.shoot.project_id(), "eu01", server);
        }
        for object in stage.objects(&deployment) {
            write(async || match objects::create(&seed.client, &object).await {
                Err(error) if format!("{error:#}").contains("already exists") => Ok(()),
                made => made.map(drop),
            })
            .await?
            .done("a fixture")?;
        }
        Ok(stage)
    }

    /// Those of a shoot of one class, with its second class, MachineDeployment and Machine.
    fn objects(&self, deployment: &str) -> Vec<Value> {
        let mut objects = Vec::new();
        for mut object in self.shoot.objects() {
            let second = match object["kind"].as_str() {
                Some("MachineClass") => Some(self.here(class(&self.classes[1], Provider::OpenStack))),
                Some("MachineDeployment") => {
                    let mut second = object.clone();
                    second["metadata"]["name"] = deployment.into();
                    second["spec"]["template"]["spec"]["class"]["name"] = self.classes[1].clone().into();
                    Some(second)
                }
                Some("Machine") => Some(self.machine(1, &self.shoot.legacy_id(&self.machines[1]))),
                Some("Worker") => {
                    let wanted = object["status"]["machineDeployments"].as_array_mut().unwrap();
                    wanted.push(json!({"name": deployment, "minimum": 1, "maximum": 2}));
                    None
                }
                _ => None,
            };
            objects.push(object);
            objects.extend(second);
        }
        objects
    }

    pub fn here(&self, mut object: Value) -> Value {
        object["metadata"]["namespace"] = self.shoot.namespace().into();
        object
    }

    /// A Machine of the class with this number.
    pub fn machine(&self, which: usize, id: &str) -> Value {
        let mut machine = self.shoot.machine(&self.machines[which], id);
        machine["spec"]["class"]["name"] = self.classes[which.min(1)].clone().into();
        machine
    }

    pub fn cloud(&self) -> Arc<Cloud> {
        self.seed.cloud()
    }

    pub fn migration(&self) -> Value {
        self.here(json!({"apiVersion": "mcm-migration.stackit.cloud/v1alpha1", "kind": "MachineMigration",
            "metadata": {"name": "openstack-to-stackit"}}))
    }

    /// Begins an MCM, with the pod of the fixture or another one.
    pub async fn mcm(&self, provider: Provider) -> anyhow::Result<Mcm> {
        let pod = match provider {
            Provider::OpenStack => "machine-controller-manager-0",
            Provider::Stackit => "machine-controller-manager-stackit",
        };
        let (namespace, project) = (self.shoot.namespace(), self.shoot.project_id());
        let begun = write(async || {
            Mcm::start(&self.seed.server, &namespace, provider, self.cloud(), &project, options(pod)).await
        });
        begun.await?.done("the pod of an MCM")
    }

    /// The patch that makes the Deployment a provider's.
    pub fn deployment(&self) -> (Value, Value) {
        let deployment = self.here(mcm_deployment(Provider::Stackit));
        let containers = deployment["spec"]["template"]["spec"]["containers"].clone();
        (deployment, json!({"spec": {"template": {"spec": {"containers": containers}}}}))
    }

    /// The patch that makes a class a provider's, whatever it was.
    pub fn class(&self, which: usize, provider: Provider) -> (Value, Value) {
        let other = if provider == Provider::Stackit { Provider::OpenStack } else { Provider::Stackit };
        let (wanted, before) = (class(&self.classes[which], provider), class(&self.classes[which], other));
        let mut spec = wanted["providerSpec"].clone();
        for gone in before["providerSpec"].as_object().unwrap().keys() {
            if spec.get(gone).is_none() {
                spec[gone] = Value::Null;
            }
        }
        let patch = json!({"provider": wanted["provider"], "providerSpec": spec});
        (self.here(wanted), patch)
    }

    /// Whether the status of the MachineMigration says that a condition holds.
    pub async fn holds(&self, condition: &str) -> anyhow::Result<bool> {
        let migration = objects::get(&self.seed.client, &self.migration()).await?;
        let conditions = migration.map(|one| one.data["status"]["conditions"].clone()).unwrap_or_default();
        let mut conditions = conditions.as_array().into_iter().flatten();
        Ok(conditions.any(|one| one["type"] == condition && one["status"] == "True"))
    }
}
