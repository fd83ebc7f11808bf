//! The control plane of a shoot moves to another seed, before, during and after its migration, and no server is lost: the source drains, the
//! destination restores, both run the product, and a stand-in for each machine-controller-manager watches.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::side_task_support::LONG;
use crate::two_seeds_support::destination::switch;
use crate::two_seeds_support::snapshot::Snapshot;
use crate::two_seeds_support::{Seeds, await_ids, destination, ids, key, source};
use mcm_stand_in::{Mcm, Options};
use rig::Shoot;
use rig::shoot::Provider;
use serde_json::Value;
use simulator::{Fault, FaultId, FaultPlan, Operation};

const OLD: &str = "openstack:///";
const NEW: &str = "stackit://";

/// A shoot on the source, its MCM, and its key.
type Begun = (Shoot, Mcm, String);

async fn begin(seeds: &Seeds, shoot: Shoot) -> Begun {
    let shoot = seeds.source.create(shoot).await;
    let mcm = Mcm::for_shoot(&seeds.source.server, &shoot, seeds.cloud(), Options::default()).await.unwrap();
    mcm.await_runs(1, LONG).await.unwrap();
    let key = key(&seeds.source, &shoot).await;
    (shoot, mcm, key)
}

/// Restores a snapshot on a destination that has the switch, and sees it through.
async fn restore_and_complete(seeds: &Seeds, shoot: &Shoot, key: &str, snapshot: &Snapshot) {
    let seed = &seeds.destination;
    destination::prepare(seed, shoot, key, Provider::Stackit).await;
    destination::restore_all(seed, snapshot).await;
    let mcm = destination::start_mcm(seed, shoot, Provider::Stackit, Options::default()).await;
    mcm.watch_over(await_ids(seed, shoot, NEW)).await;
    destination::finish(seed, shoot).await;
    mcm.watch_over(seed.await_condition(shoot, "Complete", LONG * 2)).await;
    mcm.await_runs(3, LONG).await.unwrap();
    seed.assert_complete(shoot).await;
    seeds.assert_no_server_lost(shoot).await;
    mcm.verdict().unwrap();
}

async fn leaves_before_its_switch(seeds: &Seeds, (shoot, old, key): Begun) {
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    assert_eq!(snapshot.count(OLD), 4);
    restore_and_complete(seeds, &shoot, &key, &snapshot).await;
    assert_eq!(seeds.writes("source", &shoot).len(), 0, "the source has labelled nothing");
    old.verdict().unwrap();
}

/// Until then one of its servers cannot be labelled.
async fn leaves_half_way(seeds: &Seeds, (shoot, old, key): Begun, refused: FaultId) {
    old.watch_over(rig::until("the others are labelled and one is not", LONG, || async {
        let marked = |machine: &Value| {
            let annotations = &machine["metadata"]["annotations"];
            annotations["stackit.cloud/machine-should-be-migrated"] == "true"
        };
        let machines = seeds.source.machines(&shoot.namespace()).await;
        let marked = machines.iter().filter(|machine| marked(machine)).count();
        let tried = seeds.cloud().fired(refused) > 0;
        anyhow::ensure!(marked == 1 && tried, "{marked} are marked");
        Ok(Some(()))
    }))
    .await
    .unwrap();
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    assert_eq!(snapshot.count(NEW), 4);
    seeds.cloud().end_fault(refused);
    let written = seeds.writes("source", &shoot).len();
    restore_and_complete(seeds, &shoot, &key, &snapshot).await;
    assert_eq!(seeds.writes("source", &shoot).len(), written, "the source has gone on");
    assert!(!seeds.writes("destination", &shoot).is_empty(), "the destination has labelled the last one");
    old.verdict().unwrap();
}

async fn leaves_when_it_is_done(seeds: &Seeds, (shoot, old, key): Begun) {
    old.watch_over(seeds.source.await_condition(&shoot, "Complete", LONG * 2)).await;
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    assert_eq!(snapshot.count(NEW), 4);
    restore_and_complete(seeds, &shoot, &key, &snapshot).await;
    assert!(seeds.writes("destination", &shoot).is_empty(), "every label is there already");
    old.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_leaves_before_during_or_after_its_migration_is_finished_where_it_comes_to() {
    let seeds = Seeds::start().await;
    let (before, half_way, done) = tokio::join!(
        begin(&seeds, Shoot::new("before").before_the_switch().legacy_machines(4)),
        begin(&seeds, Shoot::new("half-way").legacy_machines(4)),
        begin(&seeds, Shoot::new("done").legacy_machines(4)),
    );
    let stuck = half_way.0.machines().swap_remove(1);
    let refused =
        FaultPlan::always(Operation::PatchServer, Fault::InternalServerError).server(half_way.0.server_id(&stuck));
    let refused = seeds.cloud().inject(refused);
    let _products = tokio::join!(seeds.product_on_source(&[]), seeds.product_on_destination(&[]));
    tokio::join!(
        leaves_before_its_switch(&seeds, before),
        leaves_half_way(&seeds, half_way, refused),
        leaves_when_it_is_done(&seeds, done),
    );
    seeds.assert_writes_are_for(["before", "half-way", "done"]);
}

async fn restored_after_the_first_ones(seeds: &Seeds, (shoot, old, key): Begun) {
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    let seed = &seeds.destination;
    destination::prepare(seed, &shoot, &key, Provider::Stackit).await;
    let (first, rest) = snapshot.0.split_at(2);
    destination::restore_all(seed, &Snapshot(first.to_vec())).await;
    await_ids(seed, &shoot, NEW).await;
    for made in destination::restore_all(seed, &Snapshot(rest.to_vec())).await {
        let name = made["metadata"]["name"].as_str().unwrap();
        assert_eq!(made["spec"]["providerID"], shoot.stackit_id(name), "in the very answer");
    }
    let mcm = destination::start_mcm(seed, &shoot, Provider::Stackit, Options::default()).await;
    // Nothing is labelled before the restore is done.
    mcm.watch_over(mcm.await_runs(5, LONG)).await.unwrap();
    assert!(seeds.writes("destination", &shoot).is_empty(), "labelled during the restore");
    destination::finish(seed, &shoot).await;
    mcm.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    seed.assert_complete(&shoot).await;
    seeds.assert_no_server_lost(&shoot).await;
}

/// They stay until it is switched.
async fn old_ids_without_the_switch(seeds: &Seeds, (shoot, old, key): Begun) {
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    let seed = &seeds.destination;
    destination::prepare(seed, &shoot, &key, Provider::OpenStack).await;
    destination::restore_all(seed, &snapshot).await;
    let openstack = destination::start_mcm(seed, &shoot, Provider::OpenStack, Options::default()).await;
    destination::finish(seed, &shoot).await;
    openstack.watch_over(openstack.await_runs(10, LONG)).await.unwrap();
    let ids = ids(seed, &shoot).await;
    let untouched = ids.iter().all(|(name, id)| *id == shoot.legacy_id(name));
    assert!(untouched, "touched in {}: {ids:?}", shoot.namespace());
    for seed in ["source", "destination"] {
        let writes = seeds.writes(seed, &shoot);
        assert!(writes.is_empty(), "{} labelled by the {seed}: {writes:#?}", shoot.namespace());
    }
    openstack.stop().await.unwrap();
    let stackit = destination::start_mcm(seed, &shoot, Provider::Stackit, Options::default()).await;
    stackit.watch_over(switch(seed, &shoot)).await;
    stackit.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    seed.assert_complete(&shoot).await;
    seeds.assert_no_server_lost(&shoot).await;
    openstack.verdict().unwrap();
    stackit.verdict().unwrap();
}

/// They are refused until it is switched.
async fn new_ids_without_the_switch(seeds: &Seeds, (shoot, old, key): Begun) {
    old.watch_over(seeds.source.await_condition(&shoot, "Complete", LONG * 2)).await;
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    let seed = &seeds.destination;
    destination::prepare(seed, &shoot, &key, Provider::OpenStack).await;
    for refused in destination::restore(seed, &snapshot).await {
        let why = format!("{:#}", refused.unwrap_err());
        let namespace = shoot.namespace();
        assert!(why.contains("mcm-migration guard") && why.contains("OpenStack"), "{namespace}: {why}");
    }
    // Gardener gives the MCM its replica only once the Machines are there; so nobody looks for orphans now.
    assert!(seed.machines(&shoot.namespace()).await.is_empty());
    switch(seed, &shoot).await;
    destination::restore_all(seed, &snapshot).await;
    let mcm = destination::start_mcm(seed, &shoot, Provider::Stackit, Options::default()).await;
    destination::finish(seed, &shoot).await;
    mcm.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    seed.assert_complete(&shoot).await;
    seeds.assert_no_server_lost(&shoot).await;
    mcm.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_restored_late_is_rewritten_at_once_and_without_the_switch_it_is_left_alone_or_refused() {
    let seeds = Seeds::start().await;
    let (late, unswitched, mixed) = tokio::join!(
        begin(&seeds, Shoot::new("late").before_the_switch().legacy_machines(12)),
        begin(&seeds, Shoot::new("unswitched").before_the_switch().legacy_machines(3)),
        begin(&seeds, Shoot::new("mixed").legacy_machines(3)),
    );
    let _products = tokio::join!(seeds.product_on_source(&[]), seeds.product_on_destination(&[]));
    tokio::join!(
        restored_after_the_first_ones(&seeds, late),
        old_ids_without_the_switch(&seeds, unswitched),
        new_ids_without_the_switch(&seeds, mixed),
    );
    seeds.assert_writes_are_for(["late", "unswitched", "mixed"]);
}
