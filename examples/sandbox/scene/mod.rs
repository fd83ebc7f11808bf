//! The shoots of the sandbox: how each begins, who plays a part in it beside the product, and how it should end.

mod deleting;
mod inflight;
mod paused;
mod prod;
mod restored;
mod rollout;

use std::time::Instant;

use anyhow::Result;
use rig::Shoot;
use serde_json::Value;
use simulator::{Cloud, Nic, Server};

use crate::stage::Stage;

/// The region of all servers.
pub(crate) const REGION: &str = "eu01";

/// A shoot and its part in the play.
#[derive(Debug)]
pub(crate) struct Scene {
    /// The fixture.
    pub(crate) shoot: Shoot,
    /// What is special about it.
    pub(crate) story: &'static str,
    /// How it should end.
    pub(crate) ending: Ending,
    /// All objects it begins with. What has a `deletionTimestamp` is being deleted.
    pub(crate) objects: Vec<Value>,
    plot: Plot,
}

/// How a shoot should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Its MachineMigration is `Complete`.
    Complete,
    /// Its Machines, their servers and its Worker are gone.
    Gone,
    /// Nothing has happened, for this reason.
    Held(&'static str),
}

/// Who plays a part beside the product and the machine-controller-manager.
#[derive(Clone, Copy, Debug)]
enum Plot {
    /// Nobody.
    Nothing,
    /// The controller of MachineDeployments replaces the old Machines.
    RollOut,
    /// Gardener switches the MachineClass.
    Flip,
    /// Gardener lets the Worker go.
    Deletion,
    /// Gardener ends the restore.
    Restore,
}

impl Scene {
    /// A shoot with its project, a key for it, and a server for each Machine.
    fn new(cloud: &Cloud, shoot: &Shoot, story: &'static str, ending: Ending, plot: Plot) -> Self {
        let shoot = shoot.clone().service_account(&cloud.add_project(&shoot.project_id()).json());
        for machine in shoot.machines() {
            cloud.add_server(&shoot.project_id(), REGION, server(&shoot, &machine));
        }
        Self { objects: shoot.objects(), shoot, story, ending, plot }
    }

    /// The shoot's own name.
    pub(crate) fn name(&self) -> &str {
        self.shoot.worker()
    }

    /// Does what others than the product do; ends when there is nothing more to do.
    pub(crate) async fn play(&self, stage: &Stage) -> Result<()> {
        match self.plot {
            Plot::Nothing => Ok(()),
            Plot::RollOut => rollout::play(stage, &self.shoot).await,
            Plot::Flip => inflight::play(stage, &self.shoot).await,
            Plot::Deletion => deleting::play(stage, &self.shoot).await,
            Plot::Restore => restored::play(stage, &self.shoot).await,
        }
    }

    /// Before when none of its servers may be labelled, where somebody else decides on that and has done so.
    pub(crate) fn labels_wait_for(&self, stage: &Stage) -> Option<Instant> {
        let notes = stage.notes().into_iter();
        let mut notes = notes.filter(|note| note.shoot == self.name() && note.text == restored::SUCCEEDED);
        notes.next().map(|note| note.at)
    }

    /// The objects of a kind that it begins with.
    fn objects_mut(&mut self, kind: &'static str) -> impl Iterator<Item = &mut Value> {
        self.objects.iter_mut().filter(move |object| object["kind"] == kind)
    }
}

/// All of them.
pub(crate) fn all(cloud: &Cloud) -> Vec<Scene> {
    vec![
        prod::scene(cloud),
        rollout::scene(cloud),
        inflight::scene(cloud),
        deleting::scene(cloud),
        restored::scene(cloud),
        paused::scene(cloud),
    ]
}

/// A server behind a Machine, as the OpenStack provider left it: without labels.
fn server(shoot: &Shoot, machine: &str) -> Server {
    let nic = Nic::new(rig::shoot::uuid("network"), machine).with_allowed_addresses([POD_NETWORK]);
    Server::new(shoot.server_id(machine), machine).with_nic(nic)
}

/// The network of the pods, from the fixture's OpenStack class; a server's interface has to let it pass.
pub(crate) const POD_NETWORK: &str = "100.64.0.0/12";
