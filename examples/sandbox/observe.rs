//! What is to be seen of the shoots: objects of the API server, and the journal of the simulator.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;
use simulator::{Call, Operation};

use crate::row::Row;
use crate::setup::Sandbox;
use crate::stage::{annotation, list, provider_id};

/// What is set on a Worker that is done.
pub(crate) const MARKED: &str = "stackit.cloud/machine-controller-manager-migrated";

/// Everything at one moment, by namespace.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    machines: BTreeMap<String, Vec<Value>>,
    classes: BTreeMap<String, Vec<Value>>,
    workers: BTreeMap<String, Vec<Value>>,
    migrations: BTreeMap<String, Vec<Value>>,
    /// By project.
    calls: BTreeMap<String, Vec<Call>>,
}

impl Seen {
    /// Looks now.
    pub(crate) async fn now(sandbox: &Sandbox) -> Result<Self> {
        let client = &sandbox.stage.client;
        let by_namespace = |objects: Vec<Value>| {
            let mut by_namespace: BTreeMap<String, Vec<Value>> = BTreeMap::new();
            for object in objects {
                let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
                by_namespace.entry(namespace).or_default().push(object);
            }
            by_namespace
        };
        let mut calls: BTreeMap<String, Vec<Call>> = BTreeMap::new();
        for call in sandbox.stage.cloud.journal() {
            calls.entry(call.project.clone().unwrap_or_default()).or_default().push(call);
        }
        Ok(Self {
            machines: by_namespace(list(client, "machine.sapcloud.io", "Machine").await?),
            classes: by_namespace(list(client, "machine.sapcloud.io", "MachineClass").await?),
            workers: by_namespace(list(client, "extensions.gardener.cloud", "Worker").await?),
            migrations: by_namespace(list(client, "mcm-migration.stackit.cloud", "MachineMigration").await?),
            calls,
        })
    }

    /// The Machines of a namespace.
    pub(crate) fn machines(&self, namespace: &str) -> &[Value] {
        self.machines.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// Its MachineClasses.
    pub(crate) fn classes(&self, namespace: &str) -> &[Value] {
        self.classes.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// Its Worker.
    pub(crate) fn worker(&self, namespace: &str) -> Option<&Value> {
        self.workers.get(namespace)?.first()
    }

    /// Its MachineMigration.
    pub(crate) fn migration(&self, namespace: &str) -> Option<&Value> {
        self.migrations.get(namespace)?.first()
    }

    /// What came over HTTP to a project, in order.
    pub(crate) fn calls(&self, project: &str) -> impl Iterator<Item = &Call> + use<'_> {
        self.calls.get(project).into_iter().flatten().filter(|call| call.by.is_none())
    }

    /// One row for each shoot.
    pub(crate) fn rows(&self, sandbox: &Sandbox) -> Vec<Row> {
        sandbox.scenes.iter().map(|scene| self.row(sandbox, scene)).collect()
    }

    fn row(&self, sandbox: &Sandbox, scene: &crate::scene::Scene) -> Row {
        let namespace = scene.shoot.namespace();
        let machines = self.machines(&namespace);
        let with_id = |scheme: &str| machines.iter().filter(|machine| provider_id(machine).starts_with(scheme)).count();
        let status = self.migration(&namespace).map(|migration| &migration["status"]);
        let text = |member: &str| status.and_then(|status| status[member].as_str());
        let count = |member: &str| status.and_then(|status| status["machines"][member].as_u64()).unwrap_or_default();
        let writes = self.calls(&scene.shoot.project_id()).filter(|call| is_change(call)).count();
        Row {
            shoot: scene.name().to_owned(),
            total: machines.len(),
            legacy: with_id("openstack:"),
            rewritten: with_id("stackit:"),
            quarantined: count("quarantined"),
            labelled: count("labelled"),
            worker: match self.worker(&namespace) {
                None => "gone",
                Some(worker) if annotation(worker, MARKED) == Some("true") => "marked",
                Some(_) => "–",
            },
            phase: text("phase").unwrap_or("–").to_owned(),
            calls: (self.calls(&scene.shoot.project_id()).count(), writes),
            // Before there is a MachineMigration, what the others saw is all there is.
            waits_for: match status {
                Some(_) => text("reason").unwrap_or_default().to_owned(),
                None => sandbox.stage.last_note(scene.name()).map(|note| note.text).unwrap_or_default(),
            },
        }
    }
}

/// Whether the call changes something other than the caller's token.
pub(crate) fn is_change(call: &Call) -> bool {
    call.operation.is_write() && call.operation != Operation::Token
}
