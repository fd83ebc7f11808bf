//! The bad case: the seed that a shoot leaves is cut off from its gardenlet and believes that the shoot is its own. Its API server, its
//! machine-controller-manager, its webhook and its side task go on, while another seed takes over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::side_task_support::LONG;
use crate::two_seeds_support::snapshot::Snapshot;
use crate::two_seeds_support::{DESTINATION, Seeds, await_ids, await_reason, destination, ids, key, kills};
use mcm_stand_in::{Mcm, Options};
use rig::shoot::{Provider, SEED};
use rig::{Product, Shoot};
use simulator::{Fault, FaultPlan, Operation};

const OLD: &str = "openstack:///";
const NEW: &str = "stackit://";
const FOREIGN: &str = "owner-record-foreign";

/// Which IDs Gardener had persisted when the seed was cut off.
#[derive(Clone, Copy)]
enum Persisted {
    Old,
    New,
}

/// A shoot on its way on a source that is about to be cut off.
struct Play {
    seeds: Seeds,
    shoot: Shoot,
    key: String,
    source: Mcm,
    product: Product,
    snapshot: Snapshot,
}

impl Play {
    /// All Machines are rewritten and no server is labelled yet: the cloud answers no PATCH before [`Play::cloud_answers`].
    async fn start(name: &str, persisted: Persisted, owner_record: bool) -> (Self, simulator::FaultId) {
        let seeds = Seeds::start().await;
        let shoot = seeds.source.create(Shoot::new(name).legacy_machines(3)).await;
        seeds.owns(&shoot, SEED);
        let (key, old) = (key(&seeds.source, &shoot).await, Snapshot::take(&seeds.source, &shoot).await);
        let source = Mcm::for_shoot(&seeds.source.server, &shoot, seeds.cloud(), Options::default()).await.unwrap();
        source.await_runs(1, LONG).await.unwrap();
        let refused = seeds.cloud().inject(FaultPlan::always(Operation::PatchServer, Fault::ServiceUnavailable));
        let mut address = String::new();
        let record = seeds.owner_record(&mut address, SEED);
        let product = seeds.product_on_source(if owner_record { &record } else { &[] }).await;
        source.watch_over(await_ids(&seeds.source, &shoot, NEW)).await;
        let snapshot = match persisted {
            Persisted::Old => old,
            Persisted::New => Snapshot::take(&seeds.source, &shoot).await,
        };
        (Self { seeds, shoot, key, source, product, snapshot }, refused)
    }

    /// The other seed takes the shoot over, with the product, and restores what was persisted.
    async fn take_over(&self, owner_record: bool) -> (Product, Mcm) {
        let seeds = &self.seeds;
        let mut address = String::new();
        let record = seeds.owner_record(&mut address, DESTINATION);
        let product = seeds.product_on_destination(if owner_record { &record } else { &[] }).await;
        let seed = &seeds.destination;
        destination::prepare(seed, &self.shoot, &self.key, Provider::Stackit).await;
        destination::restore_all(seed, &self.snapshot).await;
        (product, destination::start_mcm(seed, &self.shoot, Provider::Stackit, Options::default()).await)
    }

    /// The restore ends, the shoot completes on its new seed, and nobody has lost a server, whichever MCM looked.
    async fn complete(&self, mcm: &Mcm) {
        let seed = &self.seeds.destination;
        let both = async {
            await_ids(seed, &self.shoot, NEW).await;
            destination::finish(seed, &self.shoot).await;
            seed.await_condition(&self.shoot, "Complete", LONG * 2).await;
            mcm.await_runs(3, LONG).await.unwrap();
            self.source.await_runs(3, LONG).await.unwrap();
        };
        self.source.watch_over(mcm.watch_over(both)).await;
        seed.assert_complete(&self.shoot).await;
        self.seeds.assert_no_server_lost(&self.shoot).await;
        self.source.verdict().unwrap();
        mcm.verdict().unwrap();
    }
}

async fn with_the_owner_record(name: &str, persisted: Persisted) {
    let (play, refused) = Play::start(name, persisted, true).await;
    play.seeds.owns(&play.shoot, DESTINATION);
    // An answer counts for 30 s; whoever takes over waits for longer than that.
    play.source.watch_over(await_reason(&play.product, FOREIGN, LONG)).await;
    let before = play.seeds.writes("source").len();
    play.seeds.cloud().end_fault(refused);
    let (_product, mcm) = play.take_over(true).await;
    play.complete(&mcm).await;
    assert_eq!(play.seeds.writes("source").len(), before, "the source wrote to the cloud after the take-over");
    assert!(!play.seeds.writes("destination").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_owner_record_a_source_that_is_cut_off_writes_nothing_beside_old_ids() {
    with_the_owner_record("record-old", Persisted::Old).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_owner_record_a_source_that_is_cut_off_writes_nothing_beside_new_ids() {
    with_the_owner_record("record-new", Persisted::New).await;
}

async fn without_the_owner_record(name: &str, persisted: Persisted) {
    let (play, refused) = Play::start(name, persisted, false).await;
    let (_product, mcm) = play.take_over(false).await;
    // The source labels first: the destination must not before its restore is done.
    play.seeds.cloud().end_fault(refused);
    let labelled = mcm.watch_over(play.seeds.source.await_condition(&play.shoot, "Complete", LONG * 2));
    play.source.watch_over(labelled).await;
    assert!(play.seeds.writes("destination").is_empty());
    assert!(!play.seeds.writes("source").is_empty(), "nothing told it to stop");
    play.complete(&mcm).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_owner_record_a_source_labels_on_and_old_ids_are_rewritten_in_time() {
    without_the_owner_record("unfenced-old", Persisted::Old).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_owner_record_a_source_labels_on_and_new_ids_fit() {
    without_the_owner_record("unfenced-new", Persisted::New).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_of_a_source_kill_only_where_the_destination_never_rewrites() {
    let (play, refused) = Play::start("never", Persisted::Old, false).await;
    play.seeds.cloud().end_fault(refused);
    play.seeds.source.await_condition(&play.shoot, "Complete", LONG * 2).await;
    // A destination without the product, and with a creation time-out that a test can wait for.
    let (seed, shoot) = (&play.seeds.destination, &play.shoot);
    destination::prepare(seed, shoot, &play.key, Provider::Stackit).await;
    destination::restore_all(seed, &play.snapshot).await;
    let options = Options::default().quiet().creation_timeout(Duration::from_secs(3));
    let mcm = destination::start_mcm(seed, shoot, Provider::Stackit, options).await;
    let killed = kills(&mcm).await;
    assert!(killed.why.contains("Failed"), "{killed}");
    play.source.verdict().unwrap();
}

/// A source that was cut off between the flip of its classes and the rewrite: its MCM is STACKIT's and alive, its Machines have old IDs.
async fn cut_off_before_the_rewrite(name: &str, owner_record: bool) -> (Play, Mcm, Product) {
    let seeds = Seeds::start().await;
    let shoot = seeds.source.create(Shoot::new(name).legacy_machines(3)).await;
    seeds.owns(&shoot, DESTINATION);
    let (key, snapshot) = (key(&seeds.source, &shoot).await, Snapshot::take(&seeds.source, &shoot).await);
    let options = Options::default().quiet();
    let source = Mcm::for_shoot(&seeds.source.server, &shoot, seeds.cloud(), options).await.unwrap();
    source.await_runs(1, LONG).await.unwrap();
    let mut address = String::new();
    let record = seeds.owner_record(&mut address, SEED);
    let product = seeds.product_on_source(if owner_record { &record } else { &[] }).await;
    let play = Play { seeds, shoot, key, source, product, snapshot };
    let (product, mcm) = play.take_over(owner_record).await;
    (play, mcm, product)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_owner_record_a_source_cut_off_before_the_rewrite_rewrites_its_own() {
    let (play, mcm, _product) = cut_off_before_the_rewrite("flipped-unfenced", false).await;
    play.source.watch_over(await_ids(&play.seeds.source, &play.shoot, NEW)).await;
    play.complete(&mcm).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fenced_source_that_has_not_rewritten_is_harmless_without_its_mcm() {
    let (play, mcm, _product) = cut_off_before_the_rewrite("flipped-stopped", true).await;
    await_reason(&play.product, FOREIGN, LONG).await;
    // As the dependency-watchdog does once the nodes' leases end there, or whoever takes over.
    play.source.stop().await.unwrap();
    let seed = &play.seeds.destination;
    mcm.watch_over(await_ids(seed, &play.shoot, NEW)).await;
    destination::finish(seed, &play.shoot).await;
    mcm.watch_over(seed.await_condition(&play.shoot, "Complete", LONG * 2)).await;
    mcm.await_runs(3, LONG).await.unwrap();
    seed.assert_complete(&play.shoot).await;
    play.seeds.assert_no_server_lost(&play.shoot).await;
    assert!(play.seeds.writes("source").is_empty());
    assert!(ids(&play.seeds.source, &play.shoot).await.iter().all(|(_, id)| id.starts_with(OLD)), "left alone");
    play.source.verdict().unwrap();
    mcm.verdict().unwrap();
}

/// What no program on either seed can see, and the documentation of the owner record says: the destination labels by the rules, and the MCM of
/// the source, alive and with valid credentials, has classes of STACKIT and Machines with old IDs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fenced_source_that_has_not_rewritten_kills_if_its_mcm_is_left_alive() {
    let (play, mcm, _product) = cut_off_before_the_rewrite("flipped-fenced", true).await;
    await_reason(&play.product, FOREIGN, LONG).await;
    let seed = &play.seeds.destination;
    mcm.watch_over(await_ids(seed, &play.shoot, NEW)).await;
    destination::finish(seed, &play.shoot).await;
    let killed = kills(&play.source).await;
    assert!(killed.machine_id.starts_with(OLD), "{killed}");
    assert!(play.seeds.writes("source").is_empty());
    mcm.verdict().unwrap();
}
