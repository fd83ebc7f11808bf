//! `arm` and what belongs to the whole seed: its Nodes, all of its shoots, whether it is there at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use crate::arming::{Run, Seed, arm_exactly};
use rig::shoot::{Provider, node};
use rig::{Shoot, objects, until};
use serde_json::json;

const SOON: Duration = Duration::from_secs(120);

async fn set_ready(seed: &Seed, name: &str, ready: bool) {
    let status = node(name, ready)["status"].clone();
    objects::patch_status(&seed.client().await, &node(name, ready), &status).await.unwrap();
}

/// The Nodes are one seed's, so this is one test with its parts in order.
#[tokio::test]
async fn a_node_that_is_lost_keeps_shoots_from_being_armed() {
    let seed = Seed::guarded().await;
    let client = seed.client().await;
    objects::create(&client, &node("node-a", true)).await.unwrap();
    objects::create(&client, &node("node-lost", false)).await.unwrap();
    let namespace = seed.shoot(Shoot::new("lost")).await;

    let run = seed.arm(&["--namespace", &namespace]).await;
    assert_eq!(
        (run.code, run.result(&namespace), run.reasons(&namespace)),
        (2, "seed-node-lost", vec!["seed-node-lost"])
    );
    assert!(run.of(&namespace)[1].contains("(node-lost)"), "{run:?}");
    assert!(run.stderr.contains("2 Nodes") && run.stderr.contains("not Ready now: node-lost"), "{run:?}");
    assert_eq!(seed.guard_label(&namespace).await.as_deref(), Some("closed"), "the guard is closed all the same");
    assert_eq!(seed.condition(&namespace, "Guarded").await, "True Guarded");
    assert_eq!(seed.condition(&namespace, "Armed").await, "False SeedNodeLost");

    // Another one that is excepted does not help; the one that is lost does.
    let run = seed.arm(&["--namespace", &namespace, "--ignore-lost-node", "node-x"]).await;
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("--ignore-lost-node node-x: the seed has no Node of that name"), "{run:?}");
    let run = seed.arm(&["--namespace", &namespace, "--ignore-lost-node", "node-lost"]).await;
    assert_eq!((run.code, run.result(&namespace)), (0, "armed"), "{run:?}");

    // A Node that is Ready again in time arms; the time then counts from there.
    let namespace = seed.shoot(Shoot::new("again")).await;
    let args = ["--namespace", &namespace, "--node-ready-for", "6s"];
    let args = [&args[..], &["--allow-unsafe-node-ready-for"]].concat();
    let begun = Instant::now();
    let (run, ready) = tokio::join!(arm_exactly(Some(&seed.operator), &args), async {
        until("the guard is proved", SOON, || async {
            Ok((seed.condition(&namespace, "Guarded").await == "True Guarded").then_some(()))
        })
        .await
        .unwrap();
        let before = Instant::now();
        set_ready(&seed, "node-lost", true).await;
        before
    });
    assert_eq!((run.code, run.result(&namespace)), (0, "armed"), "{run:?}");
    assert!(begun.elapsed() >= ready.duration_since(begun) + Duration::from_secs(6), "it waited the whole time");
    assert!(run.stderr.contains("Ready for 6s"), "{run:?}");

    all_shoots_of_the_seed(&seed).await;
    a_seed_without_nodes_waits_too(&seed).await;
}

/// An OpenStack pod that comes back while the Nodes are waited for: gone again or not, it was there.
#[tokio::test]
async fn an_openstack_pod_that_returns_during_the_wait_ends_it() {
    let seed = Seed::guarded().await;
    let namespace = seed.shoot(Shoot::new("returns")).await;
    let args = ["--namespace", &namespace, "--node-ready-for", "150s", "--allow-unsafe-node-ready-for"];
    let begun = Instant::now();
    let (run, ()) = tokio::join!(arm_exactly(Some(&seed.operator), &args), async {
        until("the guard is proved", SOON, || async {
            Ok((seed.condition(&namespace, "Guarded").await == "True Guarded").then_some(()))
        })
        .await
        .unwrap();
        let mut pod = rig::shoot::mcm_pod("late", Provider::OpenStack);
        pod["metadata"]["namespace"] = json!(namespace);
        objects::create(&seed.client().await, &pod).await.unwrap();
    });
    assert_eq!((run.code, run.reasons(&namespace)), (2, vec!["openstack-mcm-alive"]), "{run:?}");
    assert!(begun.elapsed() < Duration::from_secs(150), "it ended before the wait that it was told to make was over");
    assert!(!seed.condition(&namespace, "Armed").await.starts_with("True"));
}

async fn all_shoots_of_the_seed(seed: &Seed) {
    let armed = Shoot::new("again").namespace();
    let fresh = seed.shoot(Shoot::new("fresh")).await;
    let nothing = seed.shoot(Shoot::new("nothing").legacy_machines(0)).await;
    let foreign = seed.shoot(Shoot::new("foreign")).await;
    seed.patch(&foreign, "worker/foreign", &json!({"spec": {"type": "aws"}})).await;
    let run: Run = seed.arm(&["--all"]).await;
    assert_eq!((run.code, run.result(&armed), run.result(&fresh)), (0, "already-armed", "armed"), "{run:?}");
    assert_eq!((run.result(&nothing), run.result(&foreign)), ("nothing-to-migrate", "worker-not-stackit"), "{run:?}");
    assert_eq!((run.of(&nothing).len(), run.of(&foreign).len()), (1, 1), "of no concern: {run:?}");
    assert!(run.stdout.ends_with("5 shoots: 2 already-armed, 1 armed, 2 of no concern\n"), "{run:?}");
    let results: Vec<&str> = run.stdout.lines().take(5).map(|line| line.split_whitespace().next().unwrap()).collect();
    assert!(results.is_sorted(), "{run:?}");

    let waiting = seed.shoot(Shoot::new("waiting").classes(Provider::OpenStack)).await;
    let run = seed.arm(&["--all"]).await;
    assert_eq!((run.code, run.result(&waiting)), (2, "no-class"), "{run:?}");
    // Named, it is a no.
    let run = seed.arm(&["--namespace", &nothing]).await;
    assert_eq!((run.code, run.reasons(&nothing)), (2, vec!["nothing-to-migrate"]), "{run:?}");
}

async fn a_seed_without_nodes_waits_too(seed: &Seed) {
    seed.kubectl(&["delete", "node", "--all"]).await;
    let namespace = seed.shoot(Shoot::new("no-nodes")).await;
    let begun = Instant::now();
    let args = ["--namespace", &namespace, "--node-ready-for", "3s", "--allow-unsafe-node-ready-for"];
    let run = arm_exactly(Some(&seed.operator), &args).await;
    assert_eq!((run.code, run.result(&namespace)), (0, "armed"), "{run:?}");
    assert!(begun.elapsed() >= Duration::from_secs(3));
}

#[tokio::test]
async fn an_api_server_that_is_not_there_is_one_sentence_and_start_me_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"token": "none"}}],
    });
    std::fs::write(&file, config.to_string()).unwrap();
    let run = arm_exactly(Some(&file), &["--all"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (75, ""), "{run:?}");
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    assert!(run.stderr.contains("https://127.0.0.1:9") && run.stderr.contains("check the address"), "{run:?}");

    let run = arm_exactly(Some(&folder.path().join("missing")), &["--all"]).await;
    assert_eq!((run.code, run.stderr.lines().count()), (64, 1), "{run:?}");
}

#[tokio::test]
async fn wrong_usage_ends_with_64() {
    for (args, told) in [
        (&[][..], "--namespace"),
        (&["--all", "--namespace", "n"], "--all"),
        (&["--all", "--node-ready-for", "1m59s"], "--allow-unsafe-node-ready-for"),
        (&["--all", "--node-ready-for", "soon"], "duration"),
        (&["--everything"], "--everything"),
    ] {
        let run = arm_exactly(None, args).await;
        assert_eq!((run.code, run.stdout.as_str()), (64, ""), "{args:?}: {run:?}");
        assert!(run.stderr.contains(told), "{args:?}: {run:?}");
    }
}
