//! Playing one order.

use anyhow::Context as _;
use mcm_stand_in::Mcm;
use rig::objects;
use rig::shoot::{Provider, Shoot};
use serde_json::{Value, json};
use simulator::{Fault, FaultId, FaultPlan, Operation};

use super::crew::Crew;
use super::order::{Obstacle, Order, Step};
use super::stage::Stage;
use super::write::{Answer, write};
use super::{finish, neighbour};
use crate::side_task_support::Seed;

/// What happened in an order.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    /// Flips that the gate forward refused.
    pub held: usize,
    /// Flips back that the guard refused.
    pub refused_back: usize,
    /// Flips back that were let in, before the guard was proved.
    pub back: usize,
    /// Obstacles that were named, and taken away.
    pub obstacles: usize,
}

impl Tally {
    /// Counts another order in.
    pub fn add(&mut self, other: Self) {
        self.held += other.held;
        self.refused_back += other.refused_back;
        self.back += other.back;
        self.obstacles += other.obstacles;
    }
}

/// A shoot while its order is played.
pub struct Play<'a> {
    pub stage: Stage<'a>,
    pub mcms: Vec<Mcm>,
    pub deployed: bool,
    pub tally: Tally,
    /// What the last refusal of a flip said.
    pub refusal: String,
    fault: Option<FaultId>,
}

/// Plays an order to its end, and says what happened.
pub async fn play(seed: &Seed, crew: &Crew, neighbours: &[Shoot], order: &Order) -> anyhow::Result<Tally> {
    let stage = Stage::create(seed, &format!("r{}", order.number)).await?;
    let old = stage.mcm(Provider::OpenStack).await?;
    let mut play =
        Play { stage, mcms: vec![old], deployed: false, tally: Tally::default(), refusal: String::new(), fault: None };
    if let Some(obstacle) = order.obstacle {
        play.obstruct(obstacle).await?;
    }
    let neighbour = &neighbours[usize::try_from(order.number)? % neighbours.len()];
    for (turn, (pause, step)) in order.steps.iter().enumerate() {
        tokio::time::sleep(*pause).await;
        let done = match step {
            Step::Neighbour => neighbour::work(seed, neighbour, &format!("r{}-{turn}", order.number)).await,
            Step::KillReplica => crew.kill(seed, false).await,
            Step::KillLeader => crew.kill(seed, true).await,
            Step::Restart => crew.restart(&seed.server).await,
            step => play.step(*step).await,
        };
        done.with_context(|| format!("step {turn}, {step:?}"))?;
    }
    finish::switch(&mut play).await?;
    if let Some(obstacle) = order.obstacle {
        finish::await_reason(&mut play, obstacle).await?;
        play.clear(obstacle).await?;
        play.tally.obstacles += 1;
    }
    finish::flip_all(&mut play).await?;
    finish::turn_back_in_vain(&mut play, order.late_back).await?;
    finish::complete(&play).await?;
    play.assert_nothing_lost()?;
    finish::clean_up(&play).await?;
    Ok(play.tally)
}

impl Play<'_> {
    async fn step(&mut self, step: Step) -> anyhow::Result<()> {
        let client = &self.stage.seed.client;
        match step {
            Step::Deployment => self.deploy().await,
            Step::Pods => self.replace_pods().await,
            Step::Flip(class) => self.flip(class).await.map(drop),
            Step::Back(class) => self.back(class).await,
            Step::Write(which) => {
                let (machine, written) =
                    (self.stage.machine(which, ""), json!({"metadata": {"labels": {"written": "yes"}}}));
                match write(async || objects::merge(client, &machine, &written).await).await? {
                    // It may have gone.
                    Answer::Done(_) | Answer::Refused(404, _) => Ok(()),
                    Answer::Refused(code, why) => anyhow::bail!("{code} {why}"),
                }
            }
            Step::Delete(which) => {
                let machine = self.stage.machine(which, "");
                write(async || objects::delete(client, &machine).await).await?.done("a deletion")
            }
            Step::Create(class) => {
                let mut machine = self.stage.machine(2, "");
                machine["spec"]["class"]["name"] = self.stage.classes[class].clone().into();
                for unset in ["/spec", ""] {
                    let object = machine.pointer_mut(unset).and_then(Value::as_object_mut).unwrap();
                    object.remove(if unset.is_empty() { "status" } else { "providerID" });
                }
                let made = write(async || match objects::create(client, &machine).await {
                    Err(error) if format!("{error:#}").contains("already exists") => Ok(()),
                    made => made.map(drop),
                });
                made.await?.done("the creation of a Machine")
            }
            Step::Neighbour | Step::KillReplica | Step::KillLeader | Step::Restart => Ok(()),
        }
    }

    /// Gardener writes the Deployment once.
    pub async fn deploy(&mut self) -> anyhow::Result<()> {
        let (deployment, patch) = self.stage.deployment();
        write(async || objects::merge(&self.stage.seed.client, &deployment, &patch).await)
            .await?
            .done("the Deployment")?;
        self.deployed = true;
        Ok(())
    }

    /// The pod goes, and comes again as the Deployment's template says.
    pub async fn replace_pods(&mut self) -> anyhow::Result<()> {
        let old = self.mcms.last().context("there is one from the beginning")?;
        write(async || old.stop().await).await?.done("the end of a pod")?;
        if self.deployed {
            self.mcms.push(self.stage.mcm(Provider::Stackit).await?);
        }
        Ok(())
    }

    /// One try to turn a class to STACKIT; whether it was let in. What keeps it is the gate forward, or a replica that is being replaced.
    pub async fn flip(&mut self, which: usize) -> anyhow::Result<bool> {
        let (class, patch) = self.stage.class(which, Provider::Stackit);
        match write(async || objects::merge(&self.stage.seed.client, &class, &patch).await).await? {
            Answer::Done(_) => Ok(true),
            Answer::Refused(_, why) if why.contains("machineclass.mcm-migration.stackit.cloud") => {
                self.tally.held += 1;
                self.refusal = why;
                Ok(false)
            }
            Answer::Refused(code, why) => anyhow::bail!("{code} {why}"),
        }
    }

    /// Somebody turns a class back: never once the guard is proved.
    pub async fn back(&mut self, which: usize) -> anyhow::Result<()> {
        let proved = write(async || self.stage.holds("Guarded").await).await?.done("a read")?;
        let (class, patch) = self.stage.class(which, Provider::OpenStack);
        match write(async || objects::merge(&self.stage.seed.client, &class, &patch).await).await? {
            Answer::Done(_) => {
                anyhow::ensure!(!proved, "the guard, though proved, let a class turn back");
                self.tally.back += 1;
            }
            Answer::Refused(_, why) => {
                anyhow::ensure!(why.contains("mcm-migration guard"), "{why}");
                self.tally.refused_back += 1;
            }
        }
        Ok(())
    }

    async fn obstruct(&mut self, obstacle: Obstacle) -> anyhow::Result<()> {
        match obstacle {
            Obstacle::Paused => self.pause(true).await?,
            Obstacle::KeyInactive => self.stage.cloud().deactivate_key(&self.stage.key.kid),
            Obstacle::CloudFails => {
                let fails = FaultPlan::always(Operation::ListServers, Fault::ServiceUnavailable);
                self.fault = Some(self.stage.cloud().inject(fails.project(self.stage.shoot.project_id())));
            }
        }
        Ok(())
    }

    async fn clear(&mut self, obstacle: Obstacle) -> anyhow::Result<()> {
        match obstacle {
            Obstacle::Paused => self.pause(false).await?,
            Obstacle::KeyInactive => self.stage.cloud().activate_key(&self.stage.key.kid),
            Obstacle::CloudFails => self.fault.into_iter().for_each(|fault| self.stage.cloud().end_fault(fault)),
        }
        Ok(())
    }

    async fn pause(&self, paused: bool) -> anyhow::Result<()> {
        let mut migration = self.stage.migration();
        migration["spec"] = json!({"paused": paused});
        let applied = write(async || objects::apply(&self.stage.seed.client, &migration).await);
        applied.await?.done("the pause").map(drop)
    }

    /// No MCM would have deleted the server of a live Machine.
    fn assert_nothing_lost(&self) -> anyhow::Result<()> {
        self.mcms.iter().try_for_each(|mcm| Ok(mcm.verdict()?))
    }
}
