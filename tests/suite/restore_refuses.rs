//! What is unclear is refused, object by object, and a file that is not the one that was written as a whole.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::export_support::file;
use crate::rollback_support::{Back, MIGRATED, PREVIOUS};
use rig::objects;
use rig::shoot::{Shoot, stackit_id, uuid};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_unclear_is_refused_object_by_object_and_the_rest_is_written() {
    let back = Back::start().await;
    let shoot = back.seed.create(Shoot::new("unclear").legacy_machines(5)).await;
    back.migrate(&shoot).await;
    let (_folder, export) = file();
    back.export(&shoot, &export).await;
    let names = shoot.machines();
    let client = &back.seed.client;
    back.set_guard(&shoot, "rolling-back").await;
    back.switched_back(&shoot).await;
    back.take_labels_off(&shoot);
    // Its annotations were lost, its server is another, it is gone, it has its old ID already, it says another previous ID.
    let object = |n: usize| shoot.machine(&names[n], "");
    back.annotate(&object(0), &json!({PREVIOUS: null, MIGRATED: null})).await;
    let other = stackit_id(&shoot.project_id(), &uuid("another server"));
    objects::merge(client, &object(1), &json!({"spec": {"providerID": other}})).await.unwrap();
    objects::merge(client, &object(2), &json!({"metadata": {"finalizers": null}})).await.unwrap();
    objects::delete(client, &object(2)).await.unwrap();
    objects::merge(client, &object(3), &json!({"spec": {"providerID": shoot.legacy_id(&names[3])}})).await.unwrap();
    let wrong = format!("openstack:///RegionOne/{}", uuid("another server"));
    back.annotate(&object(4), &json!({PREVIOUS: wrong})).await;

    let run = back.restore(&export, &[]).await;
    assert_eq!(run.code, 2, "{run:#?}");
    let about = |n: usize| run.about(&format!("Machine/{}", names[n]));
    assert!(about(0).contains("written") && about(0).contains(PREVIOUS) && about(0).contains(MIGRATED), "{run:#?}");
    assert!(about(1).contains("refused: previous-id-mismatch"), "{run:#?}");
    assert!(about(2).contains("refused: machine-absent"), "{run:#?}");
    assert!(about(3).contains("left: left-to-admission"), "{run:#?}");
    assert!(about(4).contains("refused: previous-id-mismatch"), "{run:#?}");
    let machine = back.machine(&shoot, &names[0]).await;
    assert_eq!(machine["metadata"]["annotations"][PREVIOUS], shoot.legacy_id(&names[0]));
    assert_eq!(machine["metadata"]["annotations"][MIGRATED], "true");
    assert_eq!(back.machine(&shoot, &names[3]).await["spec"]["providerID"], shoot.legacy_id(&names[3]));
    assert_eq!(back.written().len(), 1, "{:#?}", back.written());
    back.restore_writes_nothing(&shoot, &export, &[], 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_was_edited_cut_or_mixed_is_refused_with_its_line_and_nothing_is_written() {
    let back = Back::start().await;
    let shoot = back.seed.create(Shoot::new("edited").legacy_machines(2)).await;
    let (_folder, export) = file();
    let text = back.export(&shoot, &export).await;
    back.migrate(&shoot).await;
    back.set_guard(&shoot, "rolling-back").await;
    back.switched_back(&shoot).await;
    back.take_labels_off(&shoot);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| line.contains(&shoot.legacy_id(&shoot.machines()[0]))).unwrap();
    let other_region = text.replace("RegionOne", "RegionTwo");
    let no_end = lines[..lines.len() - 1].concat();
    let one_less = [&lines[..at], &lines[at + 1..]].concat().concat();
    let broken = text[..text.len() - 10].to_owned();
    let cases = [
        (other_region, at + 1),
        (no_end, lines.len()),
        (one_less, at + 1),
        (broken, lines.len()),
        (text.repeat(2), lines.len() + 1),
    ];
    for (text, line) in cases {
        std::fs::write(&export, &text).unwrap();
        let ended = back.restore_writes_nothing(&shoot, &export, &[], 2).await;
        assert!(ended.err.contains(&format!("line {line}: ")) && ended.out.is_empty(), "line {line}: {ended:#?}");
    }
    std::fs::remove_file(&export).unwrap();
    back.restore_writes_nothing(&shoot, &export, &[], 64).await;
    // A shoot that the export does not have.
    std::fs::write(&export, &text).unwrap();
    back.restore_writes_nothing(&shoot, &export, &["--namespace", "shoot--garden--other"], 2).await;
    let absent = back.command(&["export", "--namespace", "shoot--garden--nobody"]).await;
    assert!(absent.code == 2 && absent.out.is_empty(), "{absent:#?}");
}
