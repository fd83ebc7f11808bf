//! What cannot be done is said: in the status, by an Event on the object and by the metric. It holds up nothing else, is not asked for again and
//! again, and goes on when its cause is gone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use crate::side_task_faults::proof::{Persisted, text};
use crate::side_task_faults::troubles::{Case, Trouble};
use crate::side_task_faults::{Stage, await_complete, await_metric, await_waiting, events_of};
use crate::side_task_support::{LONG, QUARANTINE, Seed, assert_harmless};
use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use rig::objects;
use rig::shoot::{Shoot, uuid};
use serde_json::{Value, json};
use simulator::Operation;

/// How often the first test lets labels be looked at.
const DRIFT: Duration = Duration::from_secs(6);
/// Several passes.
const PASSES: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_trouble_is_told_holds_up_no_other_and_heals() {
    let seed = Seed::start().await;
    let mut cases = Vec::new();
    // What a server in creation comes to is looked at once a minute.
    let quick = |trouble: &Trouble| cfg!(feature = "long") || *trouble != Trouble::NeverReady;
    for trouble in Trouble::ALL.into_iter().filter(quick) {
        cases.push(Case::create(&seed, trouble).await);
    }
    let product = seed.one_replica(&["--drift-every", "6s"]).await;
    join_all(cases.iter().map(|case| case.is_told(&seed, &product))).await;
    // From here on there is nothing left to do, only troubles to look at again.
    join_all(cases.iter().map(|case| case.others_are_done(&seed))).await;
    let (before, start) = (seed.cloud().journal().len(), Instant::now());
    tokio::time::sleep(PASSES).await;
    let journal = seed.cloud().journal();
    // Servers, network interfaces and volumes are listed; on a slow machine more than once.
    let at_most = 3 * (1 + start.elapsed().as_secs() / DRIFT.as_secs());
    for case in &cases {
        let project = case.stage.project();
        let calls: Vec<_> = journal[before..].iter().filter(|call| call.project.as_ref() == Some(&project)).collect();
        assert!(
            calls.len() as u64 <= at_most,
            "{:?}: {} calls, {at_most} at most: {calls:#?}",
            case.trouble,
            calls.len()
        );
        assert!(calls.iter().all(|call| !call.operation.is_write()), "{:?}: {calls:#?}", case.trouble);
        case.is_told_once(&seed).await;
        case.others_are_done(&seed).await;
    }
    let (settling, others): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.trouble.settles());
    join_all(others.iter().map(|case| case.end(&seed))).await;
    await_complete(&seed, others.iter().map(|case| &case.stage), LONG).await;
    // A new leader looks at once.
    product.sigterm().unwrap();
    product.wait(LONG).await.unwrap();
    let _product = seed.one_replica(&["--drift-every", "6s"]).await;
    join_all(settling.iter().map(|case| case.end(&seed))).await;
    await_complete(&seed, cases.iter().map(|case| &case.stage), LONG).await;

    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    Persisted::read(&seed.server).assert_came_before_labels(&journal, QUARANTINE);
    for case in cases.iter().filter(|case| case.trouble != Trouble::NameTooLong) {
        seed.assert_complete(&case.stage.shoot).await;
    }
    for foreign in [uuid("twin"), uuid("foreign")] {
        let to_it = |call: &&simulator::Call| call.server.as_ref() == Some(&foreign) && call.by.is_none();
        assert_eq!(
            journal.iter().find(to_it).map(|call| call.operation),
            None,
            "nothing was asked of a foreign server"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_touch_a_machine_waits_for_a_write_of_somebody_else() {
    let seed = Seed::start().await;
    let stage = Stage::switched(&seed, "untouched", 3).await;
    let machines = stage.shoot.machines();
    // Left over from an earlier way back: deadly as soon as a STACKIT machine-controller-manager looks.
    let labelled = stage.shoot.server_id(&machines[0]);
    seed.cloud()
        .change_server(&labelled, |server| server.labels.set("kubernetes.io/machineclass", stage.shoot.class()));
    let product = seed.one_replica(&["--touch=false"]).await;
    await_waiting(&seed, &stage, "TouchOff", LONG).await;
    await_waiting(&seed, &stage, "LegacyLabelled", LONG).await;
    await_metric(&product, "touch-off", LONG).await;
    await_metric(&product, "legacy-labelled", LONG).await;
    let told = rig::until("an Event on the Machine", LONG, || async {
        let events = events_of(&seed, &stage.namespace()).await?;
        Ok(events.into_iter().find(|event| event["reason"] == "LegacyLabelled"))
    });
    assert_eq!(told.await.unwrap()["involvedObject"]["name"], *machines[0]);
    tokio::time::sleep(PASSES).await;
    assert_eq!(seed.cloud().count(Operation::PatchServer), 0);
    for machine in seed.machines(&stage.namespace()).await {
        assert!(text(&machine["spec"]["providerID"]).starts_with("openstack:"), "{machine}");
        let write = json!({"metadata": {"annotations": {"written": "by somebody"}}});
        let object = stage.shoot.machine(text(&machine["metadata"]["name"]), "");
        objects::merge(&seed.client, &object, &write).await.unwrap();
    }
    await_complete(&seed, [&stage], LONG).await;
    seed.assert_complete(&stage.shoot).await;

    // Labels that somebody removes come back, and nothing else is sent.
    let before = seed.cloud().journal().len();
    let server = stage.shoot.server_id(&machines[1]);
    seed.cloud().change_server(&server, |server| {
        server.labels.remove("kubernetes.io/machineclass");
        server.labels.set("of", "somebody else");
    });
    rig::until("the label is back", LONG, || async {
        let server = seed.cloud().server(&server).unwrap();
        anyhow::ensure!(server.labels.text("kubernetes.io/machineclass").is_some(), "it has {:?}", server.labels);
        Ok(Some(()))
    })
    .await
    .unwrap();
    assert_eq!(seed.cloud().server(&server).unwrap().labels.text("of"), Some("somebody else"));
    let journal = seed.cloud().journal();
    let patches: Vec<_> = journal[before..].iter().filter(|call| call.operation.is_write()).collect();
    assert_eq!(patches.len(), 1, "{patches:#?}");
    let sent = json!({"labels": {"kubernetes.io/machineclass": stage.shoot.class()}});
    assert_eq!(patches[0].body, Some(sent), "only what was missing");
    await_complete(&seed, [&stage], LONG).await;
    seed.assert_complete(&stage.shoot).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_writes_nothing() {
    let seed = Seed::start().await;
    let stages = [
        Stage::switched(&seed, "switched", 2).await,
        Stage::switching(&seed, "switching").await,
        Stage::with_a_class_left(&seed, "left").await,
        Stage::of(&seed, Shoot::new("done").legacy_machines(0).migrated_machines(2).pods(&[])).await,
    ];
    let since = Timestamp::now();
    let product = seed.one_replica(&["--dry-run", "--boot-volume-care"]).await;
    rig::until("steps are planned", LONG, || async {
        for step in ["guard", "address", "retire"] {
            let planned = [("step", step), ("outcome", "dry-run")];
            let count = product.metric("mcm_migration_webhook_sidetask_steps_total", &planned).await?;
            anyhow::ensure!(count >= 1.0, "{step} is not planned");
        }
        Ok(Some(()))
    })
    .await
    .unwrap();
    tokio::time::sleep(PASSES).await;
    assert!(seed.cloud().journal().iter().all(|call| !call.operation.is_write()));
    for stage in &stages {
        for server in seed.cloud().servers(&stage.project()) {
            assert!(server.volumes.iter().all(|volume| !volume.delete_on_termination));
        }
    }
    let is_write = |event: &&Value| {
        let verb = matches!(text(&event["verb"]), "create" | "update" | "patch" | "delete" | "deletecollection");
        let ours = text(&event["user"]["username"]).contains(":mcm-migration-system:");
        let at: Timestamp = event["requestReceivedTimestamp"].as_str().unwrap().parse().unwrap();
        let dry = text(&event["requestURI"]).contains("dryRun=All");
        verb && ours && !dry && at >= since && event["objectRef"]["resource"] != "leases"
    };
    let events = seed.server.audit_events().unwrap();
    let writes: Vec<_> = events.iter().filter(is_write).map(|event| text(&event["requestURI"])).collect();
    assert!(writes.is_empty(), "{writes:#?}");
}
