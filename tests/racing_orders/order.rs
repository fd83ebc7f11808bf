//! What happens to one shoot, in the order that belongs to a number.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// The two legacy Machines of a shoot, and the one that is made meanwhile. The first two have a class each.
pub type Which = usize;

/// One thing that somebody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Gardener turns the MCM Deployment.
    Deployment,
    /// Its pod is replaced.
    Pods,
    /// Gardener tries to turn a class to STACKIT; it may be refused.
    Flip(Which),
    /// Somebody turns a class back; refused once the guard is proved.
    Back(Which),
    /// Somebody writes to a Machine.
    Write(Which),
    /// A Machine is deleted, as by a roll-out.
    Delete(Which),
    /// A Machine without an ID is made, of a class.
    Create(Which),
    /// The writes of a shoot that does not migrate.
    Neighbour,
    /// A replica that does not lead is killed.
    KillReplica,
    /// The one that leads is killed.
    KillLeader,
    /// The API server is restarted.
    Restart,
}

/// What keeps a shoot from completing until it is taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    Paused,
    KeyInactive,
    CloudFails,
}

impl Obstacle {
    /// The reasons of which one has to be told.
    pub fn reasons(self) -> &'static [&'static str] {
        match self {
            Self::Paused => &["Paused"],
            Self::KeyInactive => &["CredentialsInvalid"],
            Self::CloudFails => &["CloudUnavailable"],
        }
    }
}

/// One order.
#[derive(Debug)]
pub struct Order {
    pub number: u64,
    /// Each step with the pause before it.
    pub steps: Vec<(Duration, Step)>,
    pub obstacle: Option<Obstacle>,
    /// The class that somebody tries to turn back while the shoot is under way, once the guard is proved.
    pub late_back: Which,
}

impl Order {
    /// The same for the same number, whatever else is run.
    pub fn of(number: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(number);
        let obstacle = match rng.random_range(0..10) {
            0 => Some(Obstacle::Paused),
            1 => Some(Obstacle::KeyInactive),
            2 => Some(Obstacle::CloudFails),
            _ => None,
        };
        let steps = interleave(&mut rng, actors(number, obstacle));
        let steps = steps.into_iter().map(|step| (Duration::from_millis(rng.random_range(0..300)), step)).collect();
        Self { number, steps, obstacle, late_back: rng.random_range(0..2) }
    }
}

/// What each actor does, in its own order; chosen anew from the number.
fn actors(number: u64, obstacle: Option<Obstacle>) -> Vec<Vec<Step>> {
    let mut rng = StdRng::seed_from_u64(number.wrapping_add(1 << 32));
    let first = rng.random_range(0..2);
    let mut gardener = vec![Step::Deployment, Step::Flip(first), Step::Flip(1 - first)];
    let mut writer = Vec::new();
    for _ in 0..rng.random_range(1..4) {
        writer.push(Step::Write(rng.random_range(0..2)));
    }
    // While it is paused a Machine without an ID is nobody's business, and gets a second server; the documentation says so.
    let creates = obstacle != Some(Obstacle::Paused) && rng.random_bool(0.5);
    let mut roller = Vec::new();
    if creates {
        roller.push(Step::Create(rng.random_range(0..2)));
    }
    if rng.random_bool(0.5) {
        // Also the one that has just been made.
        roller.push(Step::Delete(rng.random_range(0..if creates { 3 } else { 2 })));
    }
    let mut others = vec![vec![Step::Pods], vec![Step::Neighbour], vec![Step::Neighbour]];
    for class in 0..2 {
        if rng.random_bool(0.5) {
            others.push(vec![Step::Back(class)]);
        }
        if rng.random_bool(0.3) {
            gardener.push(Step::Flip(class));
        }
    }
    // What falls on all shoots at once comes now and then only.
    match number {
        number if number % 250 == 7 => others.push(vec![Step::Restart]),
        number if number % 16 == 5 => others.push(vec![Step::KillLeader]),
        number if number % 8 == 3 => others.push(vec![Step::KillReplica]),
        _ => {}
    }
    others.extend([gardener, writer, roller]);
    others
}

/// One order of all steps in which each actor keeps its own.
fn interleave(rng: &mut StdRng, mut actors: Vec<Vec<Step>>) -> Vec<Step> {
    let mut steps = Vec::new();
    loop {
        actors.retain(|left| !left.is_empty());
        if actors.is_empty() {
            return steps;
        }
        let next = rng.random_range(0..actors.len());
        steps.push(actors[next].remove(0));
    }
}
