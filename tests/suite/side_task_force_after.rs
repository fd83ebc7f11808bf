//! With `--force-after` a Machine whose own server is gone or cannot be labelled no longer holds up its shoot; without the server in the way the exception
//! goes again, and no other trouble is ever excused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::side_task_faults::proof::{Persisted, text};
use crate::side_task_faults::{Stage, await_complete, await_reason, await_waiting};
use crate::side_task_support::{LONG, QUARANTINE, Seed, assert_harmless};
use rig::objects;
use serde_json::{Value, json};

const FLAGS: [&str; 4] = ["--force-after", "4s", "--drift-every", "4s"];
/// The flag's time, and several passes.
const LONG_OVER: Duration = Duration::from_secs(8);

/// What the annotation says of each Machine of a shoot, by name.
async fn exceptions(seed: &Seed, stage: &Stage) -> Vec<(String, String)> {
    let machines = seed.machines(&stage.namespace()).await.into_iter();
    let excepted = machines.filter_map(|machine| {
        let why = machine["metadata"]["annotations"].get("mcm-migration.stackit.cloud/exception")?;
        Some((text(&machine["metadata"]["name"]).to_owned(), text(why).to_owned()))
    });
    excepted.collect()
}

fn first(stage: &Stage) -> (String, String) {
    let machine = stage.shoot.machines().remove(0);
    let server = stage.shoot.server_id(&machine);
    (machine, server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_is_a_servers_own_trouble_is_excused_and_only_as_long_as_it_lasts() {
    let seed = Seed::start().await;
    let cloud = seed.cloud();
    let gone = Stage::switched(&seed, "gone", 2).await;
    assert!(cloud.delete_server(&first(&gone).1, "somebody"));
    let shelved = Stage::switched(&seed, "shelved", 2).await;
    cloud.change_server(&first(&shelved).1, |server| "DEALLOCATED".clone_into(&mut server.status));
    // These two are never excused: a name of somebody else, and a key that is refused although the server is gone as well.
    let renamed = Stage::switched(&seed, "renamed", 2).await;
    cloud.change_server(&first(&renamed).1, |server| "somebody-elses".clone_into(&mut server.name));
    let refused = Stage::switched(&seed, "refused", 2).await;
    assert!(cloud.delete_server(&first(&refused).1, "somebody"));
    cloud.deactivate_key(&refused.key.kid);

    let product = seed.one_replica(&FLAGS).await;
    await_complete(&seed, [&gone, &shelved], LONG).await;
    for (stage, reason) in [(&gone, "server-gone"), (&shelved, "server-deferred")] {
        let machine = first(stage).0;
        assert_eq!(exceptions(&seed, stage).await, [(machine.clone(), reason.to_owned())]);
        let status = seed.migration(&stage.namespace()).await.unwrap()["status"].take();
        assert_eq!(status["exceptions"], json!([{"machine": machine, "reason": reason}]), "{status}");
        assert_eq!(status["machines"]["exceptions"], 1, "{status}");
        let count = product.metric("mcm_migration_webhook_sidetask_exceptions", &[("reason", reason)]).await.unwrap();
        assert!((count - 1.0).abs() < f64::EPSILON, "{reason}: {count}");
    }
    await_waiting(&seed, &renamed, "NameMismatch", LONG).await;
    await_reason(&seed, &refused, "CredentialsInvalid", LONG).await;
    tokio::time::sleep(LONG_OVER).await;
    for stage in [&renamed, &refused] {
        assert_eq!(exceptions(&seed, stage).await, [], "{}", stage.namespace());
        let worker = seed.worker(&stage.shoot).await;
        assert!(worker["metadata"]["annotations"]["stackit.cloud/machine-controller-manager-migrated"].is_null());
    }

    // The server comes back: it is labelled, and the Machine is one like all others.
    cloud.change_server(&first(&shelved).1, |server| "ACTIVE".clone_into(&mut server.status));
    rig::until("the exception is taken back", LONG, || async {
        Ok(exceptions(&seed, &shelved).await.is_empty().then_some(()))
    })
    .await
    .unwrap();
    await_complete(&seed, [&shelved], LONG).await;
    seed.assert_complete(&shelved.shoot).await;
    rig::until("the status names no exception", LONG, || async {
        let status = seed.migration(&shelved.namespace()).await?["status"].take();
        anyhow::ensure!(status.get("exceptions").is_none(), "{status}");
        Ok(Some(()))
    })
    .await
    .unwrap();

    // What an operator wrote stays, labels or not.
    let (machine, _) = first(&renamed);
    let exception = json!({"mcm-migration.stackit.cloud/exception": "it is being looked at"});
    let object = renamed.shoot.machine(&machine, "");
    objects::merge(&seed.client, &object, &json!({"metadata": {"annotations": exception}})).await.unwrap();
    await_complete(&seed, [&renamed], LONG).await;
    cloud.change_server(&first(&renamed).1, |server| server.name.clone_from(&machine));
    let marker = |machines: &[Value]| {
        let annotations: Vec<_> = machines.iter().map(|machine| machine["metadata"]["annotations"].clone()).collect();
        annotations.iter().any(|it| !it["stackit.cloud/machine-should-be-migrated"].is_null())
    };
    rig::until("the marker is off", LONG, || async {
        Ok((!marker(&seed.machines(&renamed.namespace()).await)).then_some(()))
    })
    .await
    .unwrap();
    assert_eq!(exceptions(&seed, &renamed).await, [(machine, "it is being looked at".to_owned())]);

    let journal = cloud.journal();
    assert_harmless(&journal);
    Persisted::read(&seed.server).assert_came_before_labels(&journal, QUARANTINE);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_leader_counts_again_and_a_dry_run_writes_nothing() {
    let seed = Seed::start().await;
    let stage = Stage::switched(&seed, "lost", 2).await;
    assert!(seed.cloud().delete_server(&first(&stage).1, "somebody"));
    // Without the flag, for longer than it would have taken.
    let product = seed.one_replica(&["--drift-every", "4s"]).await;
    await_waiting(&seed, &stage, "ServerGone", LONG).await;
    tokio::time::sleep(LONG_OVER).await;
    assert_eq!(exceptions(&seed, &stage).await, []);
    product.sigterm().unwrap();
    product.wait(LONG).await.unwrap();
    let dry = seed.one_replica(&[&FLAGS[..], &["--dry-run"]].concat()).await;
    let would = || dry.logs().into_iter().any(|line| line["step"] == "except" && line["outcome"] == "dry-run");
    rig::until("the dry run says what it would do", LONG, || async { Ok(would().then_some(())) }).await.unwrap();
    assert_eq!(exceptions(&seed, &stage).await, []);
    dry.sigterm().unwrap();
    dry.wait(LONG).await.unwrap();
    // What the one before has counted is not the next one's.
    let before = seed.cloud().journal().len();
    let _product = seed.one_replica(&FLAGS).await;
    await_complete(&seed, [&stage], LONG).await;
    let begun = seed.cloud().journal()[before].at;
    assert!(begun.elapsed() >= Duration::from_secs(4), "complete {:?} after its first call", begun.elapsed());
    assert_eq!(exceptions(&seed, &stage).await, [(first(&stage).0, "server-gone".to_owned())]);
}
