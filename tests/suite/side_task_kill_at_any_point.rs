//! The leader is killed at many points, right after each step and at random moments: whoever comes next finishes the work.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "the seed is needed to repeat a run, and a long test says how far it is")]

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::{Duration, Instant};

use crate::side_task_faults::proof::Persisted;
use crate::side_task_faults::steps::{STEPS, done, failed, last_step, work_for};
use crate::side_task_faults::{Stage, await_complete, is_complete};
use crate::side_task_support::{LONG, Seed, assert_harmless, ended_itself, leads};
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rig::Product;
use serde_json::Value;
use simulator::Operation;

/// How often the leader is killed: 50 times with the feature `long`.
const KILLS: usize = if cfg!(feature = "long") { 50 } else { 14 };
/// How many of the kills come right after each step; the rest come at random moments.
const AFTER_EACH: usize = if cfg!(feature = "long") { 3 } else { 1 };
/// How many shoots may pass the step that is waited for without a leader that says so and can be killed.
const ATTEMPTS: usize = 5;
/// As short as the takeover: each leader begins the wait anew.
const QUARANTINE: Duration = Duration::from_millis(500);
/// How often it is looked what the replicas have done.
const LOOK: Duration = Duration::from_millis(5);
/// The variable that repeats a run.
const SEED: &str = "MCM_MIGRATION_KILL_SEED";

const FLAGS: [&str; 20] = [
    "--boot-volume-care",
    "--quarantine",
    "500ms",
    "--node-ready-for",
    "300ms",
    "--inflight-timeout",
    "1s",
    "--pass-every",
    "1s",
    "--lease-duration",
    "1s",
    "--lease-renew-deadline",
    "800ms",
    "--lease-retry-period",
    "150ms",
    "--log",
    "info,mcm_migration_webhook::sidetask::shoot::step=debug",
    "--drift-every",
    "30s",
    "--side-task=true",
];

/// How many terms a replica lost without being killed.
fn lost(replica: &Product) -> usize {
    let says = |line: &Value| line["message"].as_str().is_some_and(|message| message.starts_with("no longer leading"));
    replica.logs().iter().filter(|line| says(line)).count()
}

/// A leader, and who waits to be the next one.
struct Pair<'a> {
    seed: &'a Seed,
    replicas: [Product; 2],
    /// The steps that those have finished that were there before them, each with the namespace of its shoot.
    gone: BTreeSet<(String, String)>,
    /// How many terms those lost without being killed.
    lost: usize,
}

impl<'a> Pair<'a> {
    fn start(seed: &'a Seed) -> Self {
        Self { seed, replicas: [seed.replica(&FLAGS), seed.replica(&FLAGS)], gone: BTreeSet::new(), lost: 0 }
    }

    /// Starts those again that have ended themselves, as the kubelet does: a leader that is late ends itself, and on a busy machine with so short
    /// a Lease that happens.
    async fn tend(&mut self) {
        for at in 0..2 {
            if ended_itself(&self.replicas[at]).await {
                self.replace(at).await;
            }
        }
    }

    /// The same for ever.
    async fn tend_on(&mut self) -> Infallible {
        loop {
            self.tend().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn leader(&mut self) -> usize {
        let start = Instant::now();
        loop {
            self.tend().await;
            if let Some(at) = self.replicas.iter().position(leads) {
                return at;
            }
            assert!(start.elapsed() < LONG, "neither leads");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until somebody says that this step of this shoot is finished; also if the leader changes meanwhile. Gives the replica that said it
    /// if it leads still.
    ///
    /// None if it does not, and once the shoot is complete and nobody said so: a leader whose term ends while it waits for the answer to its
    /// last write cannot say what came of it, and the next one finds the step done; nor can one that gets no answer in time. `terms` is how many
    /// terms had been lost before the shoot was made.
    async fn finishes(&mut self, stage: &Stage, step: &str, terms: usize) -> Option<usize> {
        let wanted = (stage.namespace(), step.to_owned());
        let (start, mut asked, mut is_over) = (Instant::now(), Instant::now(), false);
        loop {
            if let Some(at) = self.replicas.iter().position(|replica| done(replica).contains(&wanted)) {
                return leads(&self.replicas[at]).then_some(at);
            }
            if self.gone.contains(&wanted) {
                return None;
            }
            if asked.elapsed() > Duration::from_secs(1) {
                // Twice, as the line comes after the write.
                if is_over {
                    let unanswered = || self.replicas.iter().any(|replica| failed(replica).contains(&wanted));
                    assert!(
                        self.terms_lost() > terms || unanswered(),
                        "{wanted:?} was not said to be finished, for no reason"
                    );
                    return None;
                }
                let migration = self.seed.migration(&wanted.0).await.unwrap_or_default();
                is_over = is_complete(&migration);
                assert!(start.elapsed() < LONG, "nobody finished {wanted:?}: {:#}", migration["status"]);
                asked = Instant::now();
            }
            self.tend().await;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The leader that has just finished the step, in a shoot of its own; that shoot, and each that was made in vain before it, goes to `stages`.
    async fn leader_after(&mut self, step: &str, kill: usize, stages: &mut Vec<Stage>) -> usize {
        for attempt in 0..ATTEMPTS {
            let terms = self.terms_lost();
            let stage = work_for(self.seed, Some(step), &format!("k{kill}a{attempt}")).await;
            let said = self.finishes(&stage, step, terms).await;
            stages.push(stage);
            if let Some(at) = said {
                return at;
            }
            eprintln!("no leader to kill after {step}, in kill {kill}");
        }
        panic!("no leader said that {step} is finished, in any of {ATTEMPTS} shoots")
    }

    /// How many terms were lost without a kill, by those that are there and those that were.
    fn terms_lost(&self) -> usize {
        self.lost + self.replicas.iter().map(lost).sum::<usize>()
    }

    /// Kills one, if it has not ended itself, and starts another in its place.
    async fn replace(&mut self, at: usize) {
        let replica = &self.replicas[at];
        let was_late = ended_itself(replica).await;
        replica.kill();
        replica.all_read(LONG).await.unwrap();
        self.gone.extend(done(replica));
        // One that ends itself does not always come to say that it leads no longer.
        self.lost += lost(replica).max(usize::from(was_late));
        self.replicas[at] = self.seed.replica(&FLAGS);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_killed_at_any_point_leaves_nothing_undone() {
    let random = std::env::var(SEED).map_or_else(|_| rand::random(), |seed| seed.parse().unwrap());
    eprintln!("{SEED}={random} repeats the choice of points");
    let mut random = StdRng::seed_from_u64(random);
    let mut points: Vec<Option<&str>> = STEPS.iter().flat_map(|step| [Some(*step); AFTER_EACH]).collect();
    points.resize(KILLS, None);
    points.shuffle(&mut random);

    let seed = Seed::start().await;
    // Who answers is never killed here: another test does that.
    let answering = seed.one_replica(&["--side-task=false"]).await;
    let mut pair = Pair::start(&seed);
    let (mut hits, mut stages) = (BTreeMap::<String, usize>::new(), Vec::new());
    let start = Instant::now();
    for (number, point) in points.iter().enumerate() {
        let moment = Duration::from_millis(random.random_range(0..2500));
        let (at, hit) = if let Some(step) = *point {
            (pair.leader_after(step, number, &mut stages).await, Some(step.to_owned()))
        } else {
            stages.push(work_for(&seed, None, &format!("k{number}")).await);
            let at = pair.leader().await;
            tokio::time::sleep(moment).await;
            (at, last_step(&pair.replicas[at]))
        };
        pair.replace(at).await;
        eprintln!("{:>4}s: killed after {}", start.elapsed().as_secs(), hit.as_deref().unwrap_or("nothing"));
        *hits.entry(hit.unwrap_or_default()).or_default() += 1;
    }
    eprintln!("{KILLS} kills: {hits:?}");
    tokio::select! {
        () = await_complete(&seed, &stages, LONG * 3) => {}
        never = pair.tend_on() => match never {},
    }
    for stage in &stages {
        seed.assert_complete(&stage.shoot).await;
        for server in seed.cloud().servers(&stage.project()) {
            assert!(server.volumes.iter().all(|volume| volume.delete_on_termination), "{server:?}");
        }
    }
    for step in STEPS {
        assert!(hits.get(step).is_some_and(|hits| *hits >= AFTER_EACH), "{step} was hit too rarely: {hits:?}");
    }
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    Persisted::read(&seed.server).assert_came_before_labels(&journal, QUARANTINE);
    // A write that was under way when its leader died, or lost its term, may be made once more.
    let most = 3 + pair.terms_lost();
    for stage in &stages {
        for machine in stage.shoot.machines() {
            let server = stage.shoot.server_id(&machine);
            let is_of = |call: &&simulator::Call| {
                call.operation == Operation::PatchServer && call.server.as_ref() == Some(&server)
            };
            let patches = journal.iter().filter(is_of).count();
            assert!((1..=most).contains(&patches), "{patches} PATCHes of {machine}, {most} at most");
        }
    }
    assert_eq!(answering.exit_code().unwrap(), None);
}
