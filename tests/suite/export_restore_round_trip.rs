//! An export brings the old IDs back once the gate of the way back is open, once only, and never before.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::export_support::file;
use crate::rollback_support::{Back, MARKER, MIGRATED, PREVIOUS, WORKER_MARK};
use crate::side_task_support::LONG;
use mcm_stand_in::Options;
use rig::shoot::{Provider, Shoot};
use serde_json::json;
use simulator::Operation;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_export_is_refused_until_the_way_back_is_open_and_then_written_once() {
    let back = Back::start().await;
    let shoot = back.seed.create(Shoot::new("old").legacy_machines(3)).await;
    let (_folder, export) = file();
    let first = back.export(&shoot, &export).await;
    let (_other, again) = file();
    assert_eq!(back.export(&shoot, &again).await, first, "the same state comes to other bytes");
    assert!(first.lines().count() >= 8 && first.contains(&shoot.legacy_id(&shoot.machines()[0])), "{first}");

    // Old data where the STACKIT machine-controller-manager lives: all of it would be orphans.
    back.migrate(&shoot).await;
    let stackit = back.mcm(&shoot, Provider::Stackit, Options::default().pod("machine-controller-manager-0")).await;
    stackit.await_runs(1, LONG).await.unwrap();
    let refused = back.restore_writes_nothing(&shoot, &export, &[], 2).await;
    for machine in shoot.machines() {
        let line = refused.about(&format!("Machine/{machine}"));
        for reason in ["guard-not-rolling-back", "stackit-mcm-deployed", "stackit-mcm-alive"] {
            assert!(line.contains("refused") && line.contains(reason), "{line}");
        }
    }
    assert!(refused.about(&format!("Worker/{}", shoot.worker())).contains("refused"));
    assert!(refused.about(&format!("Namespace/{}", shoot.namespace())).contains("left: not-restored"));
    back.set_guard(&shoot, "rolling-back").await;
    let refused = back.restore_writes_nothing(&shoot, &export, &[], 2).await;
    assert!(refused.about(&format!("Machine/{}", shoot.machines()[0])).contains("stackit-mcm-alive"));
    stackit.await_runs(1, LONG).await.unwrap();
    stackit.verdict().unwrap();
    stackit.stop().await.unwrap();

    // The STACKIT one is gone; its labels are not.
    back.switched_back(&shoot).await;
    let labelled = back.restore(&export, &[]).await;
    assert_eq!(labelled.code, 2, "{labelled:#?}");
    for name in shoot.machines() {
        assert!(labelled.about(&format!("Machine/{name}")).contains("refused: still-labelled"), "{labelled:#?}");
        assert_eq!(back.machine(&shoot, &name).await["spec"]["providerID"], shoot.stackit_id(&name));
    }
    // The Worker's mark is no ID, and is false by now.
    assert!(labelled.about("Worker/old").contains("written"), "{labelled:#?}");
    back.restore_writes_nothing(&shoot, &export, &[], 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_gate_lets_through_is_written_once() {
    let back = Back::start().await;
    let shoot = back.seed.create(Shoot::new("back").legacy_machines(3)).await;
    let (_folder, export) = file();
    back.export(&shoot, &export).await;
    back.migrate(&shoot).await;
    back.set_guard(&shoot, "rolling-back").await;
    back.switched_back(&shoot).await;
    back.take_labels_off(&shoot);
    let dry = back.restore_writes_nothing(&shoot, &export, &["--dry-run"], 0).await;
    assert!(dry.out.contains("nothing was written") && dry.out.contains("4 would be written"), "{dry:#?}");

    let run = back.restore(&export, &["--namespace", &shoot.namespace()]).await;
    assert_eq!(run.code, 0, "{run:#?}");
    assert!(run.out.contains("4 written"), "{run:#?}");
    assert_eq!(back.written().len(), 4, "{:#?}", back.written());
    for name in shoot.machines() {
        let machine = back.machine(&shoot, &name).await;
        assert_eq!(machine["spec"]["providerID"], shoot.legacy_id(&name));
        let annotations = &machine["metadata"]["annotations"];
        assert!(annotations[MARKER].is_null() && annotations[PREVIOUS].is_null(), "{annotations}");
        assert_eq!(annotations[MIGRATED], "true", "it stays for the Machine's whole life");
    }
    assert!(back.seed.worker(&shoot).await["metadata"]["annotations"][WORKER_MARK].is_null());

    let again = back.restore_writes_nothing(&shoot, &export, &[], 0).await;
    assert!(again.out.contains("0 written"), "{again:#?}");
    let writes = |call: &simulator::Call| call.operation.is_write() && call.operation != Operation::Token;
    assert!(!back.seed.cloud().journal().iter().any(|call| call.by.is_none() && writes(call)));
    // What is exported now has the same IDs.
    let (_other, now) = file();
    let text = back.export(&shoot, &now).await;
    for name in shoot.machines() {
        assert!(text.contains(&shoot.legacy_id(&name)) && !text.contains(&shoot.stackit_id(&name)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_are_taken_up_where_the_key_can_be_used_and_no_secret_ever_is() {
    let back = Back::start().await;
    let shoot = back.migrated("servers", 2).await;
    let dead = back.migrated("dead-key", 1).await;
    // A secret in every place that is not ours.
    let hush = json!({"hush": "hush-hush", "kubectl.kubernetes.io/last-applied-configuration": "hush-hush"});
    back.annotate(&shoot.machine(&shoot.machines()[0], ""), &hush).await;
    back.annotate(&crate::rollback_support::worker(&shoot), &hush).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cloudprovider", "namespace": dead.namespace()}});
    let junk = json!({"stringData": {"serviceaccount.json": "hush-hush"}});
    rig::objects::merge(&back.seed.client, &secret, &junk).await.unwrap();
    let ended = back.command(&["export", "--all", "--servers"]).await;
    assert_eq!(ended.code, 0, "{ended:#?}");
    let records: Vec<serde_json::Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |kind: &str| records.iter().map(|line| &line["record"]).filter(|it| it["kind"] == kind).collect::<Vec<_>>();
    let servers = of("Server");
    assert_eq!(servers.len(), 2, "{servers:#?}");
    for server in servers {
        assert_eq!(server["labels"]["kubernetes.io/machine"], server["machine"]);
        assert_eq!(server["labels"]["team"], "blue");
    }
    let unknown = of("ServersUnknown");
    assert_eq!((unknown.len(), &unknown[0]["reason"]), (1, &json!("credentials-invalid")), "{unknown:#?}");
    assert_eq!((of("Namespace").len(), of("Worker").len(), of("Machine").len()), (2, 2, 3));
    assert_eq!(of("MachineMigration")[0]["paused"], false);
    assert!(of("MachineClass").iter().all(|class| class["provider"] == "stackit"));
    assert!(!ended.out.contains("hush") && !ended.out.contains("PRIVATE KEY") && !ended.err.contains("hush"));
    assert!(back.written().is_empty(), "{:#?}", back.written());

    // Into a folder, each state once.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for _ in 0..2 {
        assert_eq!(back.command(&["export", "--all", "--output", path]).await.code, 0);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
