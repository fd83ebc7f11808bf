//! Old IDs come back over servers that are migrated and labelled: a stale snapshot on another seed, a dump on the same one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::side_task_support::{LONG, Seed};
use crate::two_seeds_support::destination::switch;
use crate::two_seeds_support::snapshot::Snapshot;
use crate::two_seeds_support::{Seeds, await_ids, destination, ids, key, kills, source};
use futures::future::join_all;
use mcm_stand_in::{Event, Mcm, Options};
use rig::shoot::Provider;
use rig::{Shoot, objects};
use serde_json::{Value, json};

const NEW: &str = "stackit://";

/// A shoot that has completed on the source and left it, and what was persisted of it before it began.
struct Gone {
    shoot: Shoot,
    key: String,
    stale: Snapshot,
}

/// Shoots that have done so, all at the same time.
async fn completed_and_gone<const N: usize>(seeds: &Seeds, names: [&str; N]) -> [Gone; N] {
    let begun = names.map(async |name| {
        let shoot = seeds.source.create(Shoot::new(name).legacy_machines(3)).await;
        let (key, stale) = (key(&seeds.source, &shoot).await, Snapshot::take(&seeds.source, &shoot).await);
        let options = Options::default();
        let mcm = Mcm::for_shoot(&seeds.source.server, &shoot, seeds.cloud(), options).await.unwrap();
        (Gone { shoot, key, stale }, mcm)
    });
    let begun = join_all(begun).await;
    let _product = seeds.product_on_source(&[]).await;
    let gone = begun.into_iter().map(async |(gone, mcm)| {
        mcm.watch_over(seeds.source.await_condition(&gone.shoot, "Complete", LONG * 2)).await;
        let fresh = source::drain(&seeds.source, &gone.shoot, &mcm).await;
        assert_eq!((gone.stale.count(NEW), fresh.count(NEW)), (0, 3));
        mcm.verdict().unwrap();
        gone
    });
    join_all(gone).await.try_into().unwrap_or_else(|_| panic!("as many as were begun"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_snapshot_on_another_seed_is_rewritten_before_its_machines_fail() {
    let seeds = Seeds::start().await;
    let [Gone { shoot, key, stale }] = completed_and_gone(&seeds, ["stale"]).await;
    let seed = &seeds.destination;
    let _product = seeds.product_on_destination(&[]).await;
    destination::prepare(seed, &shoot, &key, Provider::Stackit).await;
    destination::restore_all(seed, &stale).await;
    let mcm = destination::start_mcm(seed, &shoot, Provider::Stackit, Options::default()).await;
    mcm.watch_over(await_ids(seed, &shoot, NEW)).await;
    destination::finish(seed, &shoot).await;
    mcm.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    mcm.await_runs(3, LONG).await.unwrap();
    seed.assert_complete(&shoot).await;
    seeds.assert_no_server_lost(&shoot).await;
    assert!(seeds.writes("destination", &shoot).is_empty(), "every label was there");
    seeds.assert_writes_are_for(["stale"]);
    mcm.verdict().unwrap();
}

/// The snapshot comes back on a seed where the shoot is not switched, with its MCM.
async fn restored_without_the_switch(seeds: &Seeds, gone: &Gone) -> Mcm {
    let Gone { shoot, key, stale } = gone;
    let seed = &seeds.destination;
    destination::prepare(seed, shoot, key, Provider::OpenStack).await;
    destination::restore_all(seed, stale).await;
    let mcm = destination::start_mcm(seed, shoot, Provider::OpenStack, Options::default()).await;
    destination::finish(seed, shoot).await;
    mcm
}

async fn left_alone(seeds: &Seeds, gone: Gone) {
    let mcm = restored_without_the_switch(seeds, &gone).await;
    let shoot = &gone.shoot;
    mcm.watch_over(mcm.await_runs(10, LONG)).await.unwrap();
    let ids = ids(&seeds.destination, shoot).await;
    let untouched = ids.iter().all(|(name, id)| *id == shoot.legacy_id(name));
    assert!(untouched, "touched in {}: {ids:?}", shoot.namespace());
    let writes = seeds.writes("destination", shoot);
    assert!(writes.is_empty(), "labelled in {}: {writes:#?}", shoot.namespace());
    seeds.assert_no_server_lost(shoot).await;
    mcm.verdict().unwrap();
}

/// A shoot that is about to be switched while labels are left under its old IDs, with the STACKIT MCM, which leads.
async fn about_to_be_switched(seeds: &Seeds, gone: &Gone, taken_off: bool) -> Mcm {
    let openstack = restored_without_the_switch(seeds, gone).await;
    let shoot = &gone.shoot;
    for name in shoot.machines().iter().filter(|_| taken_off) {
        seeds.cloud().change_server(&shoot.server_id(name), |server| {
            server.labels.remove("kubernetes.io/machineclass");
        });
    }
    let seed = &seeds.destination;
    // A Machine that has not come up is spared.
    rig::until("every Machine is Running", LONG, || async {
        let machines = seed.machines(&shoot.namespace()).await;
        let phase = |machine: &Value| machine["status"]["currentStatus"]["phase"].clone();
        anyhow::ensure!(machines.iter().all(|machine| phase(machine) == "Running"), "not yet");
        Ok(Some(()))
    })
    .await
    .unwrap();
    openstack.stop().await.unwrap();
    let stackit = destination::start_mcm(seed, shoot, Provider::Stackit, Options::default().quiet()).await;
    // It looks for orphans all the time; a real one does so now and then, and then all depends on when.
    stackit.await_event("it leads", LONG, |event| *event == Event::Leads).await.unwrap();
    stackit
}

/// What the documentation says of labels under old IDs: an MCM that looks for orphans between the flip and the rewrite deletes what it finds by
/// them.
async fn labels_left_kill(seeds: &Seeds, gone: Gone) {
    let mcm = about_to_be_switched(seeds, &gone, false).await;
    switch(&seeds.destination, &gone.shoot).await;
    let killed = kills(&mcm).await;
    assert_eq!(killed.machine_id, gone.shoot.legacy_id(killed.machine.rsplit('/').next().unwrap()));
}

async fn labels_taken_off_kill_nobody(seeds: &Seeds, gone: Gone) {
    let mcm = about_to_be_switched(seeds, &gone, true).await;
    let (seed, shoot) = (&seeds.destination, &gone.shoot);
    mcm.watch_over(switch(seed, shoot)).await;
    mcm.watch_over(seed.await_condition(shoot, "Complete", LONG * 2)).await;
    seed.assert_complete(shoot).await;
    seeds.assert_no_server_lost(shoot).await;
    mcm.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_snapshot_without_the_switch_is_left_alone_and_labels_that_are_left_under_old_ids_kill_at_the_switch() {
    let seeds = Seeds::start().await;
    let names = ["stale-unswitched", "labels-left", "labels-off"];
    let [unswitched, left, off] = completed_and_gone(&seeds, names).await;
    // Long enough for an MCM that looks between the flip and the rewrite; the time runs from the end of the pod, long before the flip.
    let _product = seeds.product_on_destination(&["--node-ready-for", "30s"]).await;
    tokio::join!(
        left_alone(&seeds, unswitched),
        labels_left_kill(&seeds, left),
        labels_taken_off_kill_nobody(&seeds, off),
    );
    seeds.assert_writes_are_for(names);
}

/// Written back over the shoot, without the product: the guard holds on its own.
async fn written_back_it_is_refused(seed: &Seed, shoot: &Shoot, dump: &Snapshot, mcm: &Mcm) {
    for machine in &dump.0 {
        let written = json!({"metadata": {"annotations": machine["metadata"]["annotations"]}, "spec": machine["spec"]});
        let why = format!("{:#}", objects::merge(&seed.client, machine, &written).await.unwrap_err());
        assert!(why.contains("mcm-migration guard"), "{}: {why}", shoot.namespace());
    }
    mcm.watch_over(mcm.await_runs(3, LONG)).await.unwrap();
    seed.assert_complete(shoot).await;
    mcm.verdict().unwrap();
}

/// Whoever makes Machines again from it has them rewritten as they are made.
async fn made_again_they_are_rewritten(seed: &Seed, shoot: &Shoot, dump: &Snapshot, mcm: &Mcm) {
    // Whoever restores a dump stops the MCM first, or it deletes the servers of what is missing.
    mcm.stop().await.unwrap();
    for machine in &dump.0 {
        objects::merge(&seed.client, machine, &json!({"metadata": {"finalizers": null}})).await.unwrap();
        objects::delete(&seed.client, machine).await.unwrap();
    }
    for made in destination::restore_all(seed, dump).await {
        let name = made["metadata"]["name"].as_str().unwrap();
        assert_eq!(made["spec"]["providerID"], shoot.stackit_id(name), "in the very answer");
    }
    let (project, namespace) = (shoot.project_id(), shoot.namespace());
    let again = Mcm::start(&seed.server, &namespace, Provider::Stackit, seed.cloud(), &project, Options::default());
    let again = again.await.unwrap();
    let cleared = || async {
        let machines = seed.machines(&shoot.namespace()).await;
        let marker =
            |machine: &Value| machine["metadata"]["annotations"]["stackit.cloud/machine-should-be-migrated"].clone();
        let left = machines.iter().filter(|machine| !marker(machine).is_null()).count();
        anyhow::ensure!(left == 0, "{left} are marked");
        Ok(Some(()))
    };
    again.watch_over(rig::until("the markers are cleared", LONG, cleared)).await.unwrap();
    again.watch_over(again.await_runs(3, LONG)).await.unwrap();
    seed.assert_complete(shoot).await;
    again.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_of_a_finished_shoot_is_refused_over_its_machines_and_rewritten_where_they_are_made_again() {
    let seed = Seed::start().await;
    let begun = ["dump", "again"].map(async |name| {
        let shoot = seed.create(Shoot::new(name).legacy_machines(3)).await;
        let dump = Snapshot::take(&seed, &shoot).await;
        let mcm = Mcm::for_shoot(&seed.server, &shoot, seed.cloud(), Options::default()).await.unwrap();
        (shoot, dump, mcm)
    });
    let begun = join_all(begun).await;
    let product = seed.one_replica(&[]).await;
    for (shoot, _, mcm) in &begun {
        mcm.watch_over(seed.await_condition(shoot, "Complete", LONG * 2)).await;
    }
    let [(dumped, dump, mcm), (again, of_again, mcm_of_again)] = &begun[..] else { panic!("two") };
    made_again_they_are_rewritten(&seed, again, of_again, mcm_of_again).await;
    product.kill();
    written_back_it_is_refused(&seed, dumped, dump, mcm).await;
}
