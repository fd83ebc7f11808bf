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
use simulator::{Fault, FaultPlan, Operation};

const OLD: &str = "openstack:///";
const NEW: &str = "stackit://";

/// A shoot on the source with its MCM.
async fn begin(seeds: &Seeds, shoot: Shoot) -> (Shoot, Mcm, String) {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_leaves_before_its_switch_migrates_where_it_comes_to() {
    let seeds = Seeds::start().await;
    let (shoot, old, key) = begin(&seeds, Shoot::new("before").before_the_switch().legacy_machines(4)).await;
    let _products = (seeds.product_on_source(&[]).await, seeds.product_on_destination(&[]).await);
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    assert_eq!(snapshot.count(OLD), 4);
    restore_and_complete(&seeds, &shoot, &key, &snapshot).await;
    assert_eq!(seeds.writes("source").len(), 0, "the source has labelled nothing");
    old.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_leaves_half_way_is_finished_where_it_comes_to() {
    let seeds = Seeds::start().await;
    let (shoot, old, key) = begin(&seeds, Shoot::new("half-way").legacy_machines(4)).await;
    // One of its servers cannot be labelled until the shoot has left.
    let stuck = shoot.machines().swap_remove(1);
    let refused = FaultPlan::always(Operation::PatchServer, Fault::InternalServerError).server(shoot.server_id(&stuck));
    let refused = seeds.cloud().inject(refused);
    let _products = (seeds.product_on_source(&[]).await, seeds.product_on_destination(&[]).await);
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
    let written = seeds.writes("source").len();
    restore_and_complete(&seeds, &shoot, &key, &snapshot).await;
    assert_eq!(seeds.writes("source").len(), written, "the source has gone on");
    assert!(!seeds.writes("destination").is_empty(), "the destination has labelled the last one");
    old.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_leaves_when_it_is_done_is_done_where_it_comes_to() {
    let seeds = Seeds::start().await;
    let (shoot, old, key) = begin(&seeds, Shoot::new("done").legacy_machines(4)).await;
    let _products = (seeds.product_on_source(&[]).await, seeds.product_on_destination(&[]).await);
    old.watch_over(seeds.source.await_condition(&shoot, "Complete", LONG * 2)).await;
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    assert_eq!(snapshot.count(NEW), 4);
    restore_and_complete(&seeds, &shoot, &key, &snapshot).await;
    assert!(seeds.writes("destination").is_empty(), "every label is there already");
    old.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_that_are_restored_after_the_first_ones_are_rewritten_as_they_are_made() {
    let seeds = Seeds::start().await;
    let (shoot, old, key) = begin(&seeds, Shoot::new("late").before_the_switch().legacy_machines(12)).await;
    let _product = seeds.product_on_destination(&[]).await;
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
    assert!(seeds.writes("destination").is_empty(), "labelled during the restore");
    destination::finish(seed, &shoot).await;
    mcm.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    seed.assert_complete(&shoot).await;
    seeds.assert_no_server_lost(&shoot).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_ids_on_a_destination_without_the_switch_stay_until_it_is_switched() {
    let seeds = Seeds::start().await;
    let (shoot, old, key) = begin(&seeds, Shoot::new("unswitched").before_the_switch().legacy_machines(3)).await;
    let _products = (seeds.product_on_source(&[]).await, seeds.product_on_destination(&[]).await);
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    let seed = &seeds.destination;
    destination::prepare(seed, &shoot, &key, Provider::OpenStack).await;
    destination::restore_all(seed, &snapshot).await;
    let openstack = destination::start_mcm(seed, &shoot, Provider::OpenStack, Options::default()).await;
    destination::finish(seed, &shoot).await;
    openstack.watch_over(openstack.await_runs(10, LONG)).await.unwrap();
    assert!(ids(seed, &shoot).await.iter().all(|(name, id)| *id == shoot.legacy_id(name)), "untouched");
    assert!(seed.cloud().calls(Operation::PatchServer).is_empty(), "unlabelled");
    openstack.stop().await.unwrap();
    let stackit = destination::start_mcm(seed, &shoot, Provider::Stackit, Options::default()).await;
    stackit.watch_over(switch(seed, &shoot)).await;
    stackit.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    seed.assert_complete(&shoot).await;
    seeds.assert_no_server_lost(&shoot).await;
    openstack.verdict().unwrap();
    stackit.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_ids_are_refused_on_a_destination_without_the_switch_until_it_is_switched() {
    let seeds = Seeds::start().await;
    let (shoot, old, key) = begin(&seeds, Shoot::new("mixed").legacy_machines(3)).await;
    let _products = (seeds.product_on_source(&[]).await, seeds.product_on_destination(&[]).await);
    old.watch_over(seeds.source.await_condition(&shoot, "Complete", LONG * 2)).await;
    let snapshot = source::drain(&seeds.source, &shoot, &old).await;
    let seed = &seeds.destination;
    destination::prepare(seed, &shoot, &key, Provider::OpenStack).await;
    for refused in destination::restore(seed, &snapshot).await {
        let why = format!("{:#}", refused.unwrap_err());
        assert!(why.contains("mcm-migration guard") && why.contains("OpenStack"), "{why}");
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
