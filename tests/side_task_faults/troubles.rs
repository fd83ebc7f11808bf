//! What can be wrong with a Machine or its server.

use std::collections::BTreeSet;

use rig::shoot::{stackit_id, uuid};
use rig::{Product, objects};
use serde_json::{Value, json};
use simulator::Server;

use super::gardener::{drop_machine, switch_class};
use super::proof::text;
use super::{Stage, await_metric, await_waiting, events_of};
use crate::side_task_support::{LONG, Seed};

/// What is wrong with a Machine or its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    NameTooLong,
    Deallocated,
    Gone,
    TwoOfOneName,
    NeverReady,
    OtherName,
    OtherProject,
    MalformedId,
    ForeignClassLabel,
}

impl Trouble {
    pub const ALL: [Self; 9] = [
        Self::NameTooLong,
        Self::Deallocated,
        Self::Gone,
        Self::TwoOfOneName,
        Self::NeverReady,
        Self::OtherName,
        Self::OtherProject,
        Self::MalformedId,
        Self::ForeignClassLabel,
    ];

    fn reason(self) -> (&'static str, &'static str) {
        match self {
            Self::NameTooLong => ("NameTooLong", "name-too-long"),
            Self::Deallocated => ("ServerDeferred", "server-deferred"),
            Self::Gone => ("ServerGone", "server-gone"),
            Self::TwoOfOneName | Self::NeverReady => ("InFlightUnresolved", "in-flight-unresolved"),
            Self::OtherName => ("NameMismatch", "name-mismatch"),
            Self::OtherProject => ("ProjectMismatch", "project-mismatch"),
            Self::MalformedId => ("ProviderIdMalformed", "provider-id-malformed"),
            Self::ForeignClassLabel => ("ClassLabelForeign", "class-label-foreign"),
        }
    }

    pub fn settles(self) -> bool {
        matches!(self, Self::TwoOfOneName | Self::NeverReady)
    }
}

/// A shoot of two Machines, one of them in trouble.
pub struct Case {
    pub trouble: Trouble,
    pub stage: Stage,
    /// The Machine that waits; of the class's trouble, all of them.
    pub machine: String,
}

impl Case {
    pub async fn create(seed: &Seed, trouble: Trouble) -> Self {
        let name = format!("{trouble:?}").to_lowercase();
        let stage = match trouble {
            // The class's name still fits, the Machines' do not.
            Trouble::NameTooLong => Stage::switched(seed, &format!("{name}-{}", "x".repeat(18)), 1).await,
            _ if trouble.settles() => Stage::switching(seed, &name).await,
            _ => Stage::switched(seed, &name, 2).await,
        };
        let machine = stage.in_flight.clone().unwrap_or_else(|| stage.shoot.machines().remove(0));
        let case = Self { trouble, stage, machine };
        case.begin(seed).await;
        case
    }

    fn server(&self) -> String {
        self.stage.shoot.server_id(&self.machine)
    }

    async fn begin(&self, seed: &Seed) {
        let (cloud, project) = (seed.cloud(), self.stage.project());
        let change = |change: &dyn Fn(&mut Server)| assert!(cloud.change_server(&self.server(), change));
        match self.trouble {
            Trouble::NameTooLong => assert!(self.machine.len() > 63 && self.stage.shoot.class().len() <= 63),
            Trouble::Deallocated => change(&|server| "DEALLOCATED".clone_into(&mut server.status)),
            Trouble::Gone => assert!(cloud.delete_server(&self.server(), "somebody")),
            Trouble::TwoOfOneName => {
                let twin = Server::new(uuid("twin"), &self.machine);
                cloud.add_server(&project, "eu01", twin);
            }
            Trouble::NeverReady => change(&|server| "CREATING".clone_into(&mut server.status)),
            Trouble::OtherName => change(&|server| "somebody-elses".clone_into(&mut server.name)),
            Trouble::OtherProject => {
                let id = stackit_id(&uuid("another project"), &self.server());
                self.write(
                    seed,
                    json!({"metadata": {"annotations": {"stackit.cloud/migrated-machine": "true",
                    "stackit.cloud/machine-should-be-migrated": "true"}}, "spec": {"providerID": id}}),
                )
                .await;
            }
            Trouble::MalformedId => {
                self.write(seed, json!({"spec": {"providerID": "openstack:///RegionOne/NOT-A-UUID"}})).await;
            }
            Trouble::ForeignClassLabel => {
                let foreign = Server::new(uuid("foreign"), "of-another-landscape");
                let foreign = foreign.with_label("kubernetes.io/machineclass", self.stage.shoot.class());
                cloud.add_server(&project, "eu01", foreign);
            }
        }
    }

    pub async fn end(&self, seed: &Seed) {
        let cloud = seed.cloud();
        let change = |change: &dyn Fn(&mut Server)| assert!(cloud.change_server(&self.server(), change));
        match self.trouble {
            Trouble::NameTooLong => {
                let exception = json!({"mcm-migration.stackit.cloud/exception": "its name is too long"});
                self.write(seed, json!({"metadata": {"annotations": exception}})).await;
            }
            Trouble::Deallocated | Trouble::NeverReady => change(&|server| "ACTIVE".clone_into(&mut server.status)),
            Trouble::TwoOfOneName => assert!(cloud.delete_server(&uuid("twin"), "somebody")),
            Trouble::OtherName => change(&|server| server.name.clone_from(&self.machine)),
            Trouble::ForeignClassLabel => assert!(cloud.delete_server(&uuid("foreign"), "somebody")),
            Trouble::Gone | Trouble::OtherProject | Trouble::MalformedId => {
                drop_machine(seed, &self.stage, &self.machine).await;
            }
        }
        if self.trouble.settles() {
            switch_class(&seed.client, &self.stage, LONG).await.unwrap();
        }
    }

    async fn write(&self, seed: &Seed, patch: Value) {
        objects::merge(&seed.client, &self.stage.shoot.machine(&self.machine, ""), &patch).await.unwrap();
    }

    /// What the status, an Event and the metric say.
    pub async fn is_told(&self, seed: &Seed, product: &Product) {
        let (reason, metric) = self.trouble.reason();
        if self.trouble.settles() {
            // Its guard is not closed before the switch, so there may be no MachineMigration.
        } else {
            await_waiting(seed, &self.stage, reason, LONG).await;
        }
        await_metric(product, metric, LONG).await;
        let what = format!("an Event {reason} on {}", self.machine);
        rig::until(&what, LONG, || async {
            Ok(self.events(seed).await?.into_iter().find(|event| event["involvedObject"]["name"] == *self.machine))
        })
        .await
        .unwrap();
    }

    async fn events(&self, seed: &Seed) -> anyhow::Result<Vec<Value>> {
        let mut events = events_of(seed, &self.stage.namespace()).await?;
        events.retain(|event| event["reason"] == self.trouble.reason().0);
        Ok(events)
    }

    /// One Event an object, however many passes there were.
    pub async fn is_told_once(&self, seed: &Seed) {
        let events = self.events(seed).await.unwrap();
        let about: BTreeSet<_> = events.iter().map(|event| event["involvedObject"]["name"].to_string()).collect();
        assert_eq!(events.len(), about.len(), "{:?}: {events:#?}", self.trouble);
        for event in &events {
            assert_eq!((text(&event["type"]), text(&event["involvedObject"]["kind"])), ("Warning", "Machine"));
            assert!(event["involvedObject"]["uid"].is_string() && text(&event["message"]).len() > 20, "{event}");
        }
    }

    /// Waits until the Machines without trouble have come through, those that may.
    pub async fn others_are_done(&self, seed: &Seed) {
        let what = format!("{:?}: the other Machines are done", self.trouble);
        rig::until(&what, LONG, || async {
            let machines = seed.machines(&self.stage.namespace()).await;
            let marked: Vec<_> = machines.iter().filter(|machine| self.holds_up_wrongly(machine)).collect();
            anyhow::ensure!(marked.is_empty(), "still marked: {marked:?}");
            Ok(Some(()))
        })
        .await
        .unwrap();
        for machine in self.stage.shoot.machines().iter().filter(|machine| **machine != self.machine) {
            let server = seed.cloud().server(&self.stage.shoot.server_id(machine)).unwrap();
            let labelled = server.labels.text("kubernetes.io/machine").is_some();
            assert_eq!(labelled, !self.all_wait(), "{:?}: {server:?}", self.trouble);
        }
    }

    /// Whether this Machine waits although it is not the one in trouble.
    fn holds_up_wrongly(&self, machine: &Value) -> bool {
        let marked = !machine["metadata"]["annotations"]["stackit.cloud/machine-should-be-migrated"].is_null();
        let migrated = text(&machine["spec"]["providerID"]).starts_with("stackit:");
        !self.all_wait() && machine["metadata"]["name"] != *self.machine && (marked || !migrated)
    }

    fn all_wait(&self) -> bool {
        self.trouble == Trouble::ForeignClassLabel || self.trouble.settles()
    }
}
