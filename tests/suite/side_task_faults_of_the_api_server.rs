//! The way to the API server is cut, hangs, is slow or delivers no events, after each step: the shoots complete all the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "it says how many faults fired")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::side_task_faults::proof::Persisted;
use crate::side_task_faults::steps::{STEPS, done, work_for};
use crate::side_task_faults::{Stage, await_complete};
use crate::side_task_support::{LONG, PATIENT, Seed, assert_harmless};
use rig::{ApiProxy, Product};
use simulator::Operation;

const QUARANTINE: Duration = Duration::from_secs(1);

/// What happens to the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Cut,
    Hangs,
}

/// A leader behind a proxy of its own; another replica answers the API server, which is never cut off.
struct Cluster {
    proxy: ApiProxy,
    leader: Product,
    _answering: Product,
    // The last one: an API server goes to another test once nobody writes to it any more.
    seed: Seed,
}

impl Cluster {
    async fn start() -> Self {
        let seed = Seed::start().await;
        let answering = seed.one_replica(&["--side-task=false"]).await;
        let proxy = ApiProxy::start(&seed.server).unwrap();
        let more = [
            "--boot-volume-care",
            "--quarantine",
            "1s",
            "--node-ready-for",
            "300ms",
            "--cache-max-age",
            "15s",
            "--log",
            "info,mcm_migration_webhook::sidetask::shoot::step=debug",
        ];
        let leader =
            seed.replica_of(&proxy.kubeconfig_for(&seed.kubeconfig).unwrap(), &[&PATIENT[..], &more[..]].concat());
        leader.ready(LONG).await.unwrap();
        Self { proxy, leader, _answering: answering, seed }
    }

    fn assert_all_well(&self) {
        let journal = self.seed.cloud().journal();
        assert_harmless(&journal);
        Persisted::read(&self.seed.server).assert_came_before_labels(&journal, QUARANTINE);
        assert_eq!(self.leader.exit_code().unwrap(), None, "the leader ended");
    }
}

/// What befalls the way after a step: both with the feature `long`, else one after the other.
fn ways(step: usize) -> Vec<Way> {
    let both = [Way::Cut, Way::Hangs];
    if cfg!(feature = "long") { both.to_vec() } else { vec![both[step % 2]] }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_that_is_cut_or_hangs_after_any_step_is_waited_out() {
    let cluster = Cluster::start().await;
    let (mut stages, mut hits) = (Vec::new(), BTreeMap::new());
    for (number, step) in STEPS.into_iter().enumerate() {
        for way in ways(number) {
            let stage =
                work_for(&cluster.seed, Some(step), &format!("{}{number}", if way == Way::Cut { "c" } else { "h" }))
                    .await;
            // Of this shoot: those before it may be on their way still.
            let wanted = (stage.namespace(), step.to_owned());
            stages.push(stage);
            let start = Instant::now();
            while !done(&cluster.leader).contains(&wanted) {
                assert!(start.elapsed() < LONG, "{step} is not done");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            match way {
                Way::Cut => cluster.proxy.cut(),
                Way::Hangs => cluster.proxy.hang(),
            }
            tokio::time::sleep(Duration::from_millis(800)).await;
            cluster.proxy.heal();
            hits.insert((way, step), start.elapsed());
        }
    }
    eprintln!("{} faults, each after its step: {hits:?}", hits.len());
    await_complete(&cluster.seed, &stages, LONG).await;
    for stage in &stages {
        cluster.seed.assert_complete(&stage.shoot).await;
    }
    assert_eq!(hits.len(), (0..STEPS.len()).map(|number| ways(number).len()).sum::<usize>());
    cluster.assert_all_well();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_way_is_only_slow_and_without_events_nothing_is_labelled() {
    let cluster = Cluster::start().await;
    cluster.proxy.delay(Duration::from_millis(150));
    let mut stages = Vec::new();
    for (number, step) in ["settle", "retire", "label"].into_iter().enumerate() {
        stages.push(work_for(&cluster.seed, Some(step), &format!("slow{number}")).await);
    }
    await_complete(&cluster.seed, &stages, LONG).await;
    cluster.proxy.heal();

    // The rewrite itself is not seen by the watch, so nobody can know how old it is.
    let labelled = cluster.seed.cloud().count(Operation::PatchServer);
    cluster.proxy.swallow_watch("machines");
    let silent = Stage::switched(&cluster.seed, "silent", 2).await;
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert_eq!(cluster.seed.cloud().count(Operation::PatchServer), labelled, "labelled unseen");
    cluster.proxy.heal();
    stages.push(silent);
    await_complete(&cluster.seed, &stages, LONG).await;
    for stage in &stages {
        cluster.seed.assert_complete(&stage.shoot).await;
    }
    cluster.assert_all_well();
}
