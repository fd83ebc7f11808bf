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
use simulator::{Fault, FaultId, FaultPlan, Operation};

const OLD: &str = "openstack:///";
const NEW: &str = "stackit://";
const FOREIGN: &str = "owner-record-foreign";

/// Which IDs Gardener had persisted when the seed was cut off.
#[derive(Clone, Copy)]
enum Persisted {
    Old,
    New,
}

/// A shoot on a source that is about to be cut off, with its MCM.
struct Play<'a> {
    seeds: &'a Seeds,
    shoot: Shoot,
    key: String,
    source: Mcm,
    /// What is persisted of it; at first its old IDs.
    snapshot: Snapshot,
}

impl<'a> Play<'a> {
    /// A shoot that its source owns.
    async fn start(seeds: &'a Seeds, name: &str) -> Self {
        let shoot = seeds.source.create(Shoot::new(name).legacy_machines(3)).await;
        seeds.owns(&shoot, SEED);
        let (key, snapshot) = (key(&seeds.source, &shoot).await, Snapshot::take(&seeds.source, &shoot).await);
        let options = Options::default().quiet();
        let source = Mcm::for_shoot(&seeds.source.server, &shoot, seeds.cloud(), options).await.unwrap();
        source.await_runs(1, LONG).await.unwrap();
        Self { seeds, shoot, key, source, snapshot }
    }

    /// From now on the cloud answers no PATCH of a server of the shoot.
    fn refuse(&self) -> FaultId {
        let plan = FaultPlan::always(Operation::PatchServer, Fault::ServiceUnavailable);
        self.seeds.cloud().inject(plan.project(self.shoot.project_id()))
    }

    /// All Machines are rewritten on the source, with its product, and no server is labelled yet.
    async fn rewritten(&mut self, persisted: Persisted) {
        self.source.watch_over(await_ids(&self.seeds.source, &self.shoot, NEW)).await;
        if let Persisted::New = persisted {
            self.snapshot = Snapshot::take(&self.seeds.source, &self.shoot).await;
        }
    }

    /// The other seed takes the shoot over and restores what was persisted.
    async fn take_over(&self) -> Mcm {
        let seed = &self.seeds.destination;
        destination::prepare(seed, &self.shoot, &self.key, Provider::Stackit).await;
        destination::restore_all(seed, &self.snapshot).await;
        destination::start_mcm(seed, &self.shoot, Provider::Stackit, Options::default()).await
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

    fn writes(&self, seed: &str) -> usize {
        self.seeds.writes(seed, &self.shoot).len()
    }
}

/// The product on both seeds, each with its owner record or both without.
async fn products(seeds: &Seeds, owner_record: bool) -> (Product, Product) {
    let (mut here, mut there) = (String::new(), String::new());
    let records = (seeds.owner_record(&mut here, SEED), seeds.owner_record(&mut there, DESTINATION));
    let (on_source, on_destination): (&[&str], &[&str]) =
        if owner_record { (&records.0, &records.1) } else { (&[], &[]) };
    tokio::join!(seeds.product_on_source(on_source), seeds.product_on_destination(on_destination))
}

async fn with_the_owner_record(mut play: Play<'_>, refused: FaultId, product: &Product, persisted: Persisted) {
    play.rewritten(persisted).await;
    play.seeds.owns(&play.shoot, DESTINATION);
    // An answer counts for 30 s; whoever takes over waits for longer than that.
    play.source.watch_over(await_reason(product, &play.shoot, FOREIGN, LONG)).await;
    let before = play.writes("source");
    play.seeds.cloud().end_fault(refused);
    let mcm = play.take_over().await;
    play.complete(&mcm).await;
    let name = play.shoot.worker();
    assert_eq!(play.writes("source"), before, "{name}: the source wrote to the cloud after the take-over");
    assert!(play.writes("destination") > 0, "{name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_owner_record_a_source_that_is_cut_off_writes_nothing_beside_old_or_new_ids() {
    let seeds = Seeds::start().await;
    let (old, new) = tokio::join!(Play::start(&seeds, "record-old"), Play::start(&seeds, "record-new"));
    let refused = (old.refuse(), new.refuse());
    let (product, _destination) = products(&seeds, true).await;
    tokio::join!(
        with_the_owner_record(old, refused.0, &product, Persisted::Old),
        with_the_owner_record(new, refused.1, &product, Persisted::New),
    );
    seeds.assert_writes_are_for(["record-old", "record-new"]);
}

async fn without_the_owner_record(mut play: Play<'_>, refused: FaultId, persisted: Persisted) {
    play.rewritten(persisted).await;
    let mcm = play.take_over().await;
    // The source labels first: the destination must not before its restore is done.
    play.seeds.cloud().end_fault(refused);
    let labelled = mcm.watch_over(play.seeds.source.await_condition(&play.shoot, "Complete", LONG * 2));
    play.source.watch_over(labelled).await;
    let name = play.shoot.worker();
    assert_eq!(play.writes("destination"), 0, "{name}");
    assert!(play.writes("source") > 0, "{name}: nothing told it to stop");
    play.complete(&mcm).await;
}

/// A source that was cut off between the flip of its classes and the rewrite, which it makes then: its MCM is STACKIT's and alive.
async fn without_the_owner_record_before_the_rewrite(play: Play<'_>) {
    let mcm = play.take_over().await;
    play.source.watch_over(await_ids(&play.seeds.source, &play.shoot, NEW)).await;
    play.complete(&mcm).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_owner_record_a_source_labels_on_and_old_ids_are_rewritten_in_time_and_new_ones_fit() {
    let seeds = Seeds::start().await;
    let (old, new, flipped) = tokio::join!(
        Play::start(&seeds, "unfenced-old"),
        Play::start(&seeds, "unfenced-new"),
        Play::start(&seeds, "flipped-unfenced"),
    );
    let refused = (old.refuse(), new.refuse());
    let _products = products(&seeds, false).await;
    tokio::join!(
        without_the_owner_record(old, refused.0, Persisted::Old),
        without_the_owner_record(new, refused.1, Persisted::New),
        without_the_owner_record_before_the_rewrite(flipped),
    );
    seeds.assert_writes_are_for(["unfenced-old", "unfenced-new", "flipped-unfenced"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_of_a_source_kill_only_where_the_destination_never_rewrites() {
    let seeds = Seeds::start().await;
    let play = Play::start(&seeds, "never").await;
    let _product = seeds.product_on_source(&[]).await;
    seeds.source.await_condition(&play.shoot, "Complete", LONG * 2).await;
    // A destination without the product, and with a creation time-out that a test can wait for.
    let (seed, shoot) = (&seeds.destination, &play.shoot);
    destination::prepare(seed, shoot, &play.key, Provider::Stackit).await;
    destination::restore_all(seed, &play.snapshot).await;
    let options = Options::default().quiet().creation_timeout(Duration::from_secs(3));
    let mcm = destination::start_mcm(seed, shoot, Provider::Stackit, options).await;
    let killed = kills(&mcm).await;
    assert!(killed.why.contains("Failed"), "{killed}");
    play.source.verdict().unwrap();
    seeds.assert_writes_are_for(["never"]);
}

async fn without_its_mcm(play: Play<'_>, product: &Product) {
    let mcm = play.take_over().await;
    await_reason(product, &play.shoot, FOREIGN, LONG).await;
    // As the dependency-watchdog does once the nodes' leases end there, or whoever takes over.
    play.source.stop().await.unwrap();
    let seed = &play.seeds.destination;
    mcm.watch_over(await_ids(seed, &play.shoot, NEW)).await;
    destination::finish(seed, &play.shoot).await;
    mcm.watch_over(seed.await_condition(&play.shoot, "Complete", LONG * 2)).await;
    mcm.await_runs(3, LONG).await.unwrap();
    seed.assert_complete(&play.shoot).await;
    play.seeds.assert_no_server_lost(&play.shoot).await;
    assert_eq!(play.writes("source"), 0);
    assert!(ids(&play.seeds.source, &play.shoot).await.iter().all(|(_, id)| id.starts_with(OLD)), "left alone");
    play.source.verdict().unwrap();
    mcm.verdict().unwrap();
}

/// What no program on either seed can see, and the documentation of the owner record says: the destination labels by the rules, and the MCM of
/// the source, alive and with valid credentials, has classes of STACKIT and Machines with old IDs.
async fn with_its_mcm(play: Play<'_>, product: &Product) {
    let mcm = play.take_over().await;
    await_reason(product, &play.shoot, FOREIGN, LONG).await;
    let seed = &play.seeds.destination;
    mcm.watch_over(await_ids(seed, &play.shoot, NEW)).await;
    destination::finish(seed, &play.shoot).await;
    let killed = kills(&play.source).await;
    assert!(killed.machine_id.starts_with(OLD), "{killed}");
    assert_eq!(play.writes("source"), 0);
    mcm.verdict().unwrap();
}

/// Both were cut off between the flip of their classes and the rewrite: their MCMs are STACKIT's and alive, their Machines have old IDs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fenced_source_that_has_not_rewritten_kills_only_if_its_mcm_is_left_alive() {
    let seeds = Seeds::start().await;
    let (stopped, alive) = tokio::join!(Play::start(&seeds, "flipped-stopped"), Play::start(&seeds, "flipped-fenced"));
    for play in [&stopped, &alive] {
        seeds.owns(&play.shoot, DESTINATION);
    }
    let (product, _destination) = products(&seeds, true).await;
    tokio::join!(without_its_mcm(stopped, &product), with_its_mcm(alive, &product));
    seeds.assert_writes_are_for(["flipped-stopped", "flipped-fenced"]);
}
