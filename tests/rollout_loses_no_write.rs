//! A rolling restart of both replicas under load: every Machine that is written is rewritten in that very write.
//!
//! The load is offered by the clock, not by the answers: a write is due every 5 ms, and what was late is made up for. A machine that is
//! short of time answers fewer; so the test prints the rates, and fails only where a part of the restart saw less than a tenth
//! of what was due in it, which is a restart without a load.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the rates are printed")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use rig::forwarder::{Forwarder, ReplicaId};
use rig::{Lent, Product, Shoot, install};
use serde_json::json;
use support::cluster::{self, SERVICE_ACCOUNT};
use support::{DEADLINE, repository};

/// Machines that are there before the load begins; each is patched once. All others are created.
const PREPARED: usize = 1_000;

/// Two hundred writes a second.
const EVERY: Duration = Duration::from_millis(5);

/// So many writes are under way at most. At 200 a second that leaves 200 ms for each, where a few are enough; and on a machine that is
/// short of time the API server's two seconds for a call are not used up in its own queue.
const MOST_UNDER_WAY: usize = 40;

/// Of what is due in a part of the restart, at least one in so many has to be rewritten in it: 20 a second.
const FLOOR: u32 = 10;

/// The part that goes on until the load ends.
const AFTER: &str = "after the restart";

/// The load stops by itself.
const MOST_WRITES: usize = 30_000;

/// A part of the restart.
struct Part {
    name: String,
    begun: Instant,
    /// Answers in it that had rewritten a Machine.
    rewritten: u32,
}

/// The parts of the restart so far; the last one is under way.
struct Parts(Mutex<Vec<Part>>);

impl Parts {
    fn lock(&self) -> MutexGuard<'_, Vec<Part>> {
        self.0.lock().unwrap()
    }

    fn begin(&self, name: impl Into<String>) {
        self.lock().push(Part { name: name.into(), begun: Instant::now(), rewritten: 0 });
    }

    fn rewritten(&self) {
        if let Some(part) = self.lock().last_mut() {
            part.rewritten += 1;
        }
    }

    /// Prints what was rewritten in each part that is over, and fails where there was hardly any load.
    fn assert_loaded(&self) {
        let parts = self.lock();
        for (part, next) in parts.iter().zip(&parts[1..]) {
            let took = next.begun - part.begun;
            let due = took.as_secs_f64() / EVERY.as_secs_f64();
            let rewritten = f64::from(part.rewritten);
            println!(
                "{}: {rewritten} of {due:.0} in {took:.1?}, {:.0} a second",
                part.name,
                rewritten / took.as_secs_f64()
            );
            assert!(rewritten * f64::from(FLOOR) >= due, "{}: {rewritten} rewrites, and {due:.0} were due", part.name);
        }
    }
}

struct Rollout {
    forwarder: Forwarder,
    kubeconfig: std::path::PathBuf,
    tls: tempfile::TempDir,
    ca: Vec<u8>,
    // The last one: an API server goes to another test once nobody writes to it any more.
    server: Lent,
}

impl Rollout {
    async fn replica(&self, shoot: &Shoot) -> (Product, ReplicaId) {
        let product = cluster::replica(&self.kubeconfig, &["--tls-cert-dir", self.tls.path().to_str().unwrap()]);
        product.ready(DEADLINE).await.unwrap();
        cluster::knows(&product, &self.ca, shoot, "rewritten").await;
        let admission = product.address("admission", DEADLINE).await.unwrap();
        let id = self.forwarder.add(admission, product.address("admin", DEADLINE).await.unwrap()).unwrap();
        (product, id)
    }

    /// One replica after the other, a new one before an old one leaves, as the Deployment does it.
    async fn restart_all(
        &self,
        shoot: &Shoot,
        replicas: Vec<(Product, ReplicaId)>,
        parts: &Parts,
    ) -> Vec<(Product, ReplicaId)> {
        let mut fresh = Vec::new();
        for ((old, id), number) in replicas.into_iter().zip(1..) {
            parts.begin(format!("new replica {number} starts"));
            fresh.push(self.replica(shoot).await);
            self.forwarder.await_ready(3, DEADLINE).await.unwrap();
            parts.begin(format!("old replica {number} leaves"));
            old.sigterm().unwrap();
            assert_eq!(old.wait(DEADLINE).await.unwrap(), 0, "a replica that leaves ends well");
            assert!(self.forwarder.opened(id) > 0, "the old replica was asked");
            self.forwarder.remove(id);
        }
        parts.begin(AFTER);
        fresh
    }

    async fn open_failures(&self) -> f64 {
        let open = self.server.metric("apiserver_admission_webhook_fail_open_count", &[]).await.unwrap();
        open + self.server.metric("apiserver_admission_webhook_rejection_count", &[]).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_restart_under_load_loses_no_rewrite() {
    let server = cluster::installed().await;
    let (namespace, name) = SERVICE_ACCOUNT;
    let kubeconfig = server.service_account_kubeconfig(namespace, name).await.unwrap();
    let tls = cluster::certificates();
    let ca = std::fs::read(tls.path().join("ca.crt")).unwrap();
    let rollout = Rollout { server, forwarder: Forwarder::start().unwrap(), kubeconfig, tls, ca };
    let shoot = Shoot::new("prod").legacy_machines(1);
    shoot.create(&rollout.server).await.unwrap();
    let client = rollout.server.admin_client().await.unwrap();
    rig::arm_by_hand(&client, &shoot.namespace()).await.unwrap();

    let kind = GroupVersionKind::gvk("machine.sapcloud.io", "v1alpha1", "Machine");
    let machines: Api<DynamicObject> =
        Api::namespaced_with(client, &shoot.namespace(), &ApiResource::from_gvk_with_plural(&kind, "machines"));
    // Before there is a webhook.
    let prepared = futures::stream::iter(0..PREPARED).map(|i| create(&machines, &shoot, format!("prepared-{i}")));
    prepared.buffer_unordered(16).for_each(|created| async move { drop(created.unwrap()) }).await;

    let replicas = vec![rollout.replica(&shoot).await, rollout.replica(&shoot).await];
    rollout.forwarder.await_ready(2, DEADLINE).await.unwrap();
    let overlay = repository("manifests/overlays/self-managed");
    let ca = String::from_utf8(rollout.ca.clone()).unwrap();
    install::apply_webhooks(&rollout.server, &overlay, &rollout.forwarder.url(), Some(&ca)).await.unwrap();
    rig::until("the webhooks are called", DEADLINE, || async {
        let dry = PatchParams { dry_run: true, ..PatchParams::default() };
        Ok(is_rewritten(&touch(&machines, "prepared-0", &dry).await?, &shoot, "prepared-0").then_some(()))
    })
    .await
    .unwrap();

    let before = rollout.open_failures().await;
    let (parts, lost) = (Parts(Mutex::default()), AtomicUsize::new(0));
    let restarted = || parts.lock().last().is_some_and(|part| part.name == AFTER);
    let load = async {
        let (start, mut writes, mut ticks) = (Instant::now(), 0, tokio::time::interval(EVERY));
        let mut under_way = FuturesUnordered::new();
        while writes < MOST_WRITES && (!restarted() || writes < 2 * PREPARED) {
            tokio::select! {
                _ = ticks.tick(), if under_way.len() < MOST_UNDER_WAY => {
                    let name = if writes < PREPARED { format!("prepared-{writes}") } else { format!("created-{writes}") };
                    let (machines, shoot, parts, lost, is_there) = (&machines, &shoot, &parts, &lost, writes < PREPARED);
                    under_way.push(async move {
                        let answer = if is_there { touch(machines, &name, &PatchParams::default()).await } else { create(machines, shoot, name.clone()).await };
                        if answer.as_ref().is_ok_and(|machine| is_rewritten(machine, shoot, &name)) {
                            parts.rewritten();
                        } else {
                            lost.fetch_add(1, Ordering::Relaxed);
                            eprintln!("lost {name}: {answer:?}");
                        }
                    });
                    writes += 1;
                }
                Some(()) = under_way.next() => {}
            }
        }
        while under_way.next().await.is_some() {}
        (writes, start.elapsed())
    };
    let ((writes, took), replicas) = tokio::join!(load, rollout.restart_all(&shoot, replicas, &parts));
    println!(
        "{writes} writes in {took:?}, {:.0} a second",
        f64::from(u32::try_from(writes).unwrap()) / took.as_secs_f64()
    );
    assert!(writes < MOST_WRITES, "the load ended before the restart did");
    parts.assert_loaded();
    assert_eq!(lost.load(Ordering::Relaxed), 0, "of {writes} writes");
    assert!((rollout.open_failures().await - before).abs() < 0.1, "calls that failed open or were rejected");
    let events = rollout.server.audit_events().unwrap();
    assert!(rig::audit::failed_open(&events).is_empty());
    // The old ones are gone, so one of the new ones was asked; whether both were depends on how many connections the API
    // server needs: a fast one gets along with a single connection.
    assert!(replicas.iter().any(|(_, id)| rollout.forwarder.opened(*id) > 0), "the new replicas were asked");
}

async fn create(machines: &Api<DynamicObject>, shoot: &Shoot, name: String) -> Result<DynamicObject, kube::Error> {
    let object =
        serde_json::from_value(shoot.machine(&name, &shoot.legacy_id(&name))).map_err(kube::Error::SerdeError)?;
    machines.create(&PostParams::default(), &object).await
}

async fn touch(machines: &Api<DynamicObject>, name: &str, how: &PatchParams) -> Result<DynamicObject, kube::Error> {
    machines.patch(name, how, &Patch::Merge(json!({"metadata": {"labels": {"touched": "yes"}}}))).await
}

fn is_rewritten(machine: &DynamicObject, shoot: &Shoot, name: &str) -> bool {
    machine.data["spec"]["providerID"] == shoot.stackit_id(name).as_str()
}
