//! The shoots: two that migrate, one before its switch, one that an operator has paused.

use anyhow::Result;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use rig::{ApiServer, Shoot, objects, until};
use serde_json::{Value, json};

use super::DEADLINE;
use super::table::Row;

pub(crate) struct Shoots {
    migrating: Vec<Shoot>,
    held: Vec<Shoot>,
}

impl Shoots {
    pub(crate) async fn create(server: &ApiServer) -> Result<Self> {
        let migrating = vec![Shoot::new("prod").legacy_machines(12), Shoot::new("staging").legacy_machines(6)];
        let paused = Shoot::new("paused").legacy_machines(2);
        let dev = Shoot::new("dev").legacy_machines(3).before_the_switch();
        let held = vec![paused, dev];
        for shoot in migrating.iter().chain(&held) {
            shoot.create(server).await?;
        }
        let pause = json!({
            "apiVersion": "mcm-migration.stackit.cloud/v1alpha1",
            "kind": "MachineMigration",
            "metadata": {"name": "openstack-to-stackit", "namespace": "shoot--garden--paused"},
            "spec": {"paused": true},
        });
        objects::apply(&server.admin_client().await?, &pause).await?;
        Ok(Self { migrating, held })
    }

    fn all(&self) -> impl Iterator<Item = &Shoot> {
        self.migrating.iter().chain(&self.held)
    }

    pub(crate) fn should_migrate(&self, namespace: &str) -> bool {
        self.migrating.iter().any(|shoot| shoot.namespace() == namespace)
    }

    /// How many Machines will be rewritten.
    pub(crate) fn expected(&self) -> usize {
        self.migrating.iter().map(|shoot| shoot.machines().len()).sum()
    }

    /// Namespace and name of every Machine, in turn through the shoots.
    pub(crate) fn machines(&self) -> Vec<(String, String)> {
        let mut machines: Vec<_> = self
            .all()
            .flat_map(|shoot| {
                shoot.machines().into_iter().enumerate().map(|(turn, name)| (turn, shoot.namespace(), name))
            })
            .collect();
        machines.sort_by_key(|(turn, ..)| *turn);
        machines.into_iter().map(|(_, namespace, name)| (namespace, name)).collect()
    }

    /// Waits until dry runs of a write are rewritten in every shoot that migrates: the replicas then know that they are armed.
    pub(crate) async fn await_known(&self, server: &ApiServer) -> Result<()> {
        for shoot in &self.migrating {
            let (namespace, name) = (shoot.namespace(), shoot.machines().swap_remove(0));
            until(&format!("{namespace} is known to be armed"), DEADLINE, || async {
                let dry = PatchParams { dry_run: true, ..PatchParams::default() };
                let answer = patch(server, &namespace, &name, &dry).await?;
                Ok(answer.data["spec"]["providerID"]
                    .as_str()
                    .is_some_and(|id| id.starts_with("stackit:"))
                    .then_some(()))
            })
            .await?;
        }
        Ok(())
    }

    /// Writes to a Machine, as any controller does.
    pub(crate) async fn touch(&self, server: &ApiServer, namespace: &str, name: &str) -> Result<()> {
        patch(server, namespace, name, &PatchParams::default()).await.map(drop)
    }

    /// How far each shoot is, as the API server has it.
    pub(crate) async fn look(&self, server: &ApiServer) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for shoot in self.all() {
            let namespace = shoot.namespace();
            let machines = list(server, &namespace, "machine.sapcloud.io", "Machine", "machines").await?;
            let migrations =
                list(server, &namespace, "mcm-migration.stackit.cloud", "MachineMigration", "machinemigrations")
                    .await?;
            let starts = |machine: &&Value, with: &str| {
                machine["spec"]["providerID"].as_str().is_some_and(|id| id.starts_with(with))
            };
            let status = migrations.first().cloned().unwrap_or_default();
            let paused = status["spec"]["paused"] == true;
            let phase = if paused { "Paused" } else { status["status"]["phase"].as_str().unwrap_or("-") };
            rows.push(Row {
                phase: phase.to_owned(),
                total: machines.len(),
                legacy: machines.iter().filter(|machine| starts(machine, "openstack:")).count(),
                rewritten: machines.iter().filter(|machine| starts(machine, "stackit:")).count(),
                namespace,
            });
        }
        Ok(rows)
    }
}

async fn api(server: &ApiServer, namespace: &str, group: &str, kind: &str, plural: &str) -> Result<Api<DynamicObject>> {
    let kind = GroupVersionKind::gvk(group, "v1alpha1", kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, plural);
    Ok(Api::namespaced_with(server.admin_client().await?, namespace, &resource))
}

async fn list(server: &ApiServer, namespace: &str, group: &str, kind: &str, plural: &str) -> Result<Vec<Value>> {
    let listed = api(server, namespace, group, kind, plural).await?.list(&ListParams::default()).await?;
    Ok(listed.items.into_iter().map(|object| object.data).collect())
}

async fn patch(server: &ApiServer, namespace: &str, name: &str, how: &PatchParams) -> Result<DynamicObject> {
    let machines = api(server, namespace, "machine.sapcloud.io", "Machine", "machines").await?;
    let touch = Patch::Merge(json!({"metadata": {"labels": {"example.com/touched": "yes"}}}));
    Ok(machines.patch(name, how, &touch).await?)
}
