//! Whatever goes wrong in the cloud, at whichever step: the shoot completes, and nothing is labelled that must not be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stderr, reason = "it says how many faults fired")]
#![allow(clippy::print_stdout, reason = "the figures are printed")]

use std::time::Duration;

use crate::side_task_faults::gardener::{drop_machine, switch_class};
use crate::side_task_faults::pairs::{End, Step, cannot, end, reasons, times};
use crate::side_task_faults::proof::{Persisted, calls_of};
use crate::side_task_faults::{PODS, Stage, await_complete, await_waiting, failures};
use crate::side_task_support::{QUARANTINE, Seed, assert_harmless};
use futures::stream::{self, StreamExt as _};
use simulator::{Call, Fault, FaultPlan};

/// All shoots run at the same time on whatever the machine has to give.
const WITHIN: Duration = Duration::from_secs(400);

/// A pair, and the shoot that it is tried on.
struct Pair {
    fault: Fault,
    step: Step,
    stage: Stage,
}

impl Pair {
    async fn create(seed: &Seed, fault: Fault, step: Step) -> Self {
        let number = |at: Option<usize>| at.unwrap();
        let name = format!(
            "f{}s{}",
            number(Fault::ALL.iter().position(|it| *it == fault)),
            number(Step::ALL.iter().position(|it| *it == step))
        );
        let machines = if step == Step::Label || fault == Fault::ServerDeleted { 2 } else { 1 };
        let stage = if step.settles() {
            Stage::switching(seed, &name).await
        } else {
            Stage::switched(seed, &name, machines).await
        };
        let pair = Self { fault, step, stage };
        let plan = FaultPlan::once(step.operation(), fault)
            .project(pair.stage.project())
            .after(step.after())
            .times(times(fault))
            .lasting(Duration::from_secs(1));
        let plan =
            if step.operation().is_list() { plan.server(pair.stage.shoot.server_id(&pair.victim())) } else { plan };
        seed.cloud().inject(plan);
        pair
    }

    /// The Machine whose server is meddled with where the call names none.
    fn victim(&self) -> String {
        self.stage.in_flight.clone().unwrap_or_else(|| {
            let mut machines = self.stage.shoot.machines();
            machines.sort();
            machines.remove(0)
        })
    }

    /// What is left to be done by others until the shoot can complete.
    async fn others(&self, seed: &Seed) {
        if self.step.settles() {
            switch_class(&seed.client, &self.stage, WITHIN).await.unwrap();
        }
        if end(self.fault, self.step) == End::Gone {
            await_waiting(seed, &self.stage, "ServerGone", WITHIN).await;
            let gone: Vec<_> = self.stage.shoot.machines();
            let is_gone = |name: &&String| seed.cloud().server(&self.stage.shoot.server_id(name)).is_none();
            let gone: Vec<_> = gone.iter().filter(is_gone).collect();
            assert_eq!(gone.len(), 1, "{:?} × {:?}", self.fault, self.step);
            drop_machine(seed, &self.stage, gone[0]).await;
        }
    }

    /// The calls that the fault hit, each at its step.
    fn hits<'a>(&self, journal: &'a [Call]) -> Vec<&'a Call> {
        let calls = calls_of(journal, &self.stage.project(), self.step.operation());
        let canary = calls.iter().find(|call| call.server.is_some()).and_then(|call| call.server.clone());
        let hit = |(at, call): &(usize, &&Call)| {
            let at_step = match self.step {
                Step::Label => call.server != canary,
                Step::CanaryPatch | Step::CanaryGet => *at < 2,
                Step::BootVolume => *at > 0,
                _ => true,
            };
            call.fault == Some(self.fault) && at_step
        };
        calls.iter().enumerate().filter(hit).map(|(_, call)| *call).collect()
    }

    async fn check(&self, seed: &Seed, lines: &[serde_json::Value]) {
        let what = format!("{:?} × {:?} ({})", self.fault, self.step, self.stage.namespace());
        if end(self.fault, self.step) == End::NoServer {
            let machines = seed.machines(&self.stage.namespace()).await;
            let let_go = |machine: &&serde_json::Value| {
                machine["metadata"]["annotations"]["mcm-migration.stackit.cloud/settled"] == "no-server"
            };
            assert_eq!(machines.iter().filter(let_go).count(), 1, "{what}");
            return;
        }
        seed.assert_complete(&self.stage.shoot).await;
        for server in seed.cloud().servers(&self.stage.project()) {
            assert!(server.volumes.iter().all(|volume| volume.delete_on_termination), "{what}");
            assert!(server.nics.iter().all(|nic| nic.allowed_addresses == [PODS]), "{what}: {:?}", server.nics);
        }
        if self.fault == Fault::ForeignLabelWriter && self.step != Step::PatchNic {
            let foreign = seed.cloud().servers(&self.stage.project()).into_iter();
            let foreign = foreign.filter(|server| server.labels.text("foreign-writer").is_some()).count();
            assert!(foreign > 0, "{what}: a foreign label is lost");
        }
        let (expected, failed) = (reasons(self.fault, self.step), failures(lines, &self.stage.namespace()));
        let expects = |reason: &str| expected.contains(&reason);
        if end(self.fault, self.step) == End::Complete {
            assert!(failed.iter().all(|(_, reason)| expects(reason)), "{what}: {failed:?}");
            assert_eq!(failed.is_empty(), expected.is_empty(), "{what}: {failed:?}");
        }
    }
}

/// A quarter of the pairs, in which each fault and each step comes several times; all of them take the feature `long`.
fn is_of_the_plain_run(fault: Fault, step: Step) -> bool {
    let at = Fault::ALL.iter().position(|it| *it == fault).zip(Step::ALL.iter().position(|it| *it == step));
    at.is_some_and(|(fault, step)| (fault + step) % 4 == 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fault_at_each_step_ends_well() {
    let seed = Seed::start().await;
    let pairs: Vec<_> = Fault::ALL.into_iter().flat_map(|fault| Step::ALL.map(|step| (fault, step))).collect();
    for (fault, step) in &pairs {
        let applies = fault.applies_to(step.operation());
        assert_eq!(
            cannot(*fault, *step).is_none(),
            applies,
            "{fault:?} × {step:?}: the table and the simulator differ"
        );
    }
    let wanted = std::env::var("PAIRS").ok();
    let possible = pairs.iter().filter(|(fault, step)| cannot(*fault, *step).is_none());
    let possible = possible.filter(|(fault, step)| match &wanted {
        Some(wanted) => format!("{fault:?}×{step:?}").contains(wanted.as_str()),
        None => cfg!(feature = "long") || is_of_the_plain_run(*fault, *step),
    });
    // What is in flight must be there before a replica looks.
    let created: Vec<Pair> = stream::iter(possible.copied())
        .map(|(fault, step)| Pair::create(&seed, fault, step))
        .buffer_unordered(8)
        .collect()
        .await;
    eprintln!("{} shoots are made", created.len());
    let product = seed.one_replica(&["--boot-volume-care", "--pass-every", "10s"]).await;
    stream::iter(&created).for_each_concurrent(None, |pair| pair.others(&seed)).await;
    await_complete(&seed, created.iter().map(|pair| &pair.stage), WITHIN).await;

    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    Persisted::read(&seed.server).assert_came_before_labels(&journal, QUARANTINE);
    let lines = product.logs();
    for pair in &created {
        assert!(!pair.hits(&journal).is_empty(), "{:?} × {:?} did not fire", pair.fault, pair.step);
        pair.check(&seed, &lines).await;
    }
    eprintln!("{} of {} pairs fired; the others cannot", created.len(), pairs.len());
}
