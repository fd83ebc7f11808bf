//! SIGTERM, SIGKILL, SIGSTOP past the lease, and an exchange of the binary, each ten times (three without the feature `long`) while shoots migrate: no
//! admission call fails open, nobody writes to the cloud after its renew deadline, and everything completes. A stand-in for each
//! machine-controller-manager watches.
//!
//! Two replicas answer the API server, as the Service's endpoints do that stay; the ones that lead beside them get the signals. That a replica which
//! answers can leave and be exchanged without a lost call is shown by `rollout_loses_no_write`; one that is killed takes the calls with it that it
//! was answering, and the side task repairs what these let through.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what was lost is named as it is lost; the figures are printed at the end")]

mod side_task_support;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use mcm_stand_in::{Mcm, Options};
use rig::forwarder::Forwarder;
use rig::{Product, Shoot, Signal, objects};
use serde_json::json;
use side_task_support::{LONG, Seed, assert_harmless, ended_itself};
use simulator::{Call, Operation};
use support::cluster;

/// How often each blow falls.
const ROUNDS: usize = if cfg!(feature = "long") { 10 } else { 3 };
const FAIL_OPEN: &str = "apiserver_admission_webhook_fail_open_count";
/// As in `side_task_support::QUICK`.
const RENEW_DEADLINE: Duration = Duration::from_secs(2);
const LEASE: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    Terminate,
    Kill,
    Stop,
    Exchange,
}

struct Candidate {
    name: String,
    product: Product,
}

struct Play {
    forwarder: Forwarder,
    candidates: Vec<Candidate>,
    made: usize,
    /// How many of them have ended themselves.
    ended: usize,
    shoots: Vec<(Shoot, Mcm)>,
    // The last one: an API server goes to another test once nobody writes to it any more.
    seed: Seed,
}

impl Play {
    async fn start() -> Self {
        let seed = Seed::start().await;
        let forwarder = Forwarder::start().unwrap();
        Self { forwarder, candidates: Vec::new(), made: 0, ended: 0, shoots: Vec::new(), seed }
    }

    /// A replica that answers and does not lead.
    async fn answering(&self) -> Product {
        let product = self.seed.replica(&["--side-task=false", "--shutdown-delay", "4s"]);
        product.ready(LONG).await.unwrap();
        let admission = product.address("admission", LONG).await.unwrap();
        self.forwarder.add(admission, product.address("admin", LONG).await.unwrap()).unwrap();
        product
    }

    /// One more that may lead.
    async fn candidate(&mut self) {
        self.made += 1;
        let name = format!("r{}", self.made);
        let product = self.seed.replica_called(&name, &self.seed.kubeconfig, &[]);
        product.ready(LONG).await.unwrap();
        self.candidates.push(Candidate { name, product });
    }

    /// One more shoot to migrate, with its machine-controller-manager.
    async fn shoot(&mut self) {
        let shoot = Shoot::new(&format!("s{}", self.shoots.len())).legacy_machines(3);
        let shoot = self.seed.create(shoot).await;
        let mcm =
            Mcm::for_shoot(&self.seed.server, &shoot, self.seed.cloud(), Options::default().quiet()).await.unwrap();
        self.shoots.push((shoot, mcm));
    }

    /// Starts those again that have ended themselves, as the kubelet does: a leader that is late ends itself, and on a busy machine with a short
    /// Lease that happens.
    async fn tend(&mut self) {
        for at in (0..self.candidates.len()).rev() {
            if ended_itself(&self.candidates[at].product).await {
                let Candidate { name, .. } = self.candidates.remove(at);
                println!("{name} has ended itself");
                self.ended += 1;
                self.candidate().await;
            }
        }
    }

    /// Which candidate leads, as soon as one does.
    async fn leader(&mut self) -> usize {
        let start = Instant::now();
        while start.elapsed() < LONG {
            self.tend().await;
            for (index, candidate) in self.candidates.iter().enumerate() {
                let leads = candidate.product.metric("mcm_migration_webhook_sidetask_leads", &[]).await;
                if leads.is_ok_and(|leads| leads > 0.0) {
                    return index;
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("nobody leads")
    }

    /// Waits until a step of the side task is carried out after now, so that the blow comes in the middle of work.
    async fn await_work(&mut self) {
        let (before, start) = (self.seed.cloud().journal().len(), Instant::now());
        while self.seed.cloud().journal().len() <= before {
            assert!(start.elapsed() < LONG, "the side task does not call the cloud");
            self.tend().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn strike(&mut self, blow: Blow) {
        if blow == Blow::Exchange {
            // Before the leader is chosen: it leads on while another one starts.
            self.candidate().await;
        }
        let leader = self.leader().await;
        let Candidate { name, product } = self.candidates.remove(leader);
        let struck = Instant::now();
        match blow {
            Blow::Terminate | Blow::Exchange => {
                product.sigterm().unwrap();
                assert_eq!(product.wait(LONG).await.unwrap(), 0, "{name} ends well");
            }
            Blow::Kill => product.kill(),
            Blow::Stop => {
                product.signal(Signal::STOP).unwrap();
                let other = self.leader().await;
                assert!(
                    struck.elapsed() >= LEASE.saturating_sub(RENEW_DEADLINE),
                    "{} leads too early",
                    self.candidates[other].name
                );
                let woken = Instant::now();
                product.signal(Signal::CONT).unwrap();
                // It may campaign again and even lead again, with a new term, or end itself as one that is late; what it began in the old term
                // must not go on.
                rig::until("it has noticed", LONG, || async {
                    if ended_itself(&product).await {
                        return Ok(Some(()));
                    }
                    let leads = product.metric("mcm_migration_webhook_sidetask_leads", &[]).await?;
                    Ok((leads < 1.0).then_some(()))
                })
                .await
                .unwrap();
                self.assert_silent(&name, struck + RENEW_DEADLINE, woken + Duration::from_millis(500));
                product.kill();
                product.wait(LONG).await.unwrap();
                self.assert_silent(&name, struck + RENEW_DEADLINE, Instant::now());
            }
        }
        if blow != Blow::Stop {
            self.assert_silent(&name, struck + RENEW_DEADLINE, Instant::now());
        }
        if self.candidates.len() < 2 {
            self.candidate().await;
        }
    }

    /// Waits until every shoot is complete.
    async fn complete(&mut self) {
        let start = Instant::now();
        for index in 0..self.shoots.len() {
            loop {
                let shoot = &self.shoots[index].0;
                let complete = self.seed.await_condition(shoot, "Complete", LONG * 3);
                if tokio::time::timeout(Duration::from_secs(2), complete).await.is_ok() {
                    break;
                }
                assert!(start.elapsed() < LONG * 3, "{} is not complete", shoot.namespace());
                self.tend().await;
            }
            self.seed.assert_complete(&self.shoots[index].0).await;
        }
    }

    /// No write of a replica reached the cloud between two moments of the journal's own clock.
    fn assert_silent(&self, name: &str, from: Instant, to: Instant) {
        let prefix = format!("/caller/{name}/");
        let late: Vec<Call> = self
            .seed
            .cloud()
            .journal()
            .into_iter()
            .filter(|call| call.path.starts_with(&prefix) && call.operation == Operation::PatchServer)
            .filter(|call| call.at > from && call.at <= to)
            .collect();
        assert!(late.is_empty(), "{name} wrote after its renew deadline: {late:#?}");
    }
}

/// Makes Machines of a shoot of its own, as somebody does all the time, until it is aborted; counts them, and those that were not rewritten at once.
async fn load(client: kube::Client, shoot: Shoot, made: Arc<AtomicUsize>, lost: Arc<AtomicUsize>) {
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    let machine = shoot.machine("load", &shoot.legacy_id("load"));
    let api: Api<DynamicObject> = objects::api_for(client, &machine).unwrap();
    for number in 0.. {
        ticks.tick().await;
        let name = format!("load-{number}");
        let mut object = shoot.machine(&name, &shoot.legacy_id(&name));
        object["metadata"]["finalizers"] = json!([]);
        let answer = api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await;
        made.fetch_add(1, Ordering::Relaxed);
        if !answer.as_ref().is_ok_and(|made| made.data["spec"]["providerID"] == json!(shoot.stackit_id(&name))) {
            println!("{name} was not rewritten at once: {answer:?}");
            lost.fetch_add(1, Ordering::Relaxed);
        }
        drop(api.delete(&name, &DeleteParams::default()).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_blow_to_the_leader_loses_a_call_or_a_server_and_everything_completes() {
    let mut play = Play::start().await;
    let answering = (play.answering().await, play.answering().await);
    play.forwarder.await_ready(2, LONG).await.unwrap();
    play.seed.webhooks_at(&play.forwarder.url()).await;
    // Armed by hand and paused for nobody: its Machines come and go, and no server stands behind them.
    let loaded = Shoot::new("load").legacy_machines(1);
    loaded.create(&play.seed.server).await.unwrap();
    rig::arm_by_hand(&play.seed.client, &loaded.namespace()).await.unwrap();
    play.candidate().await;
    play.candidate().await;
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        rig::in_force::await_webhooks(&play.seed.server, kind).await.unwrap();
    }
    let ca = play.seed.ca();
    for product in [&answering.0, &answering.1] {
        cluster::knows(product, ca.as_bytes(), &loaded, "rewritten").await;
    }
    let before = play.seed.server.metric(FAIL_OPEN, &[]).await.unwrap();
    let (made, lost) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let loading = tokio::spawn(load(play.seed.client.clone(), loaded, Arc::clone(&made), Arc::clone(&lost)));

    for round in 0..ROUNDS {
        for blow in [Blow::Terminate, Blow::Kill, Blow::Stop, Blow::Exchange] {
            println!("round {round}: {blow:?}");
            play.shoot().await;
            play.await_work().await;
            play.strike(blow).await;
        }
    }
    loading.abort();
    play.complete().await;
    for (_, mcm) in &play.shoots {
        mcm.verdict().unwrap();
    }
    assert_harmless(&play.seed.cloud().journal());
    assert_eq!(lost.load(Ordering::Relaxed), 0, "of {} Machines", made.load(Ordering::Relaxed));
    let after = play.seed.server.metric(FAIL_OPEN, &[]).await.unwrap();
    assert!((after - before).abs() < 0.1, "{} calls failed open", after - before);
    println!("{} leaders ended themselves besides", play.ended);
    let (shoots, made) = (play.shoots.len(), made.load(Ordering::Relaxed));
    println!("{shoots} shoots completed under {} blows; {made} Machines written meanwhile, 0 lost", ROUNDS * 4);
}
