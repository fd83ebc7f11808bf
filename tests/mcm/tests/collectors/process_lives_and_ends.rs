//! The process: its Lease, its restarts, its verdict.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::scene::{DEADLINE, Scene};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use mcm_stand_in::{Event, Fleet, Options, Provider};
use rig::Shoot;

fn quick() -> Options {
    Options::default().lease(Duration::from_secs(6), Duration::from_secs(4), Duration::from_millis(500))
}

async fn lease(scene: &Scene) -> (String, String) {
    let leases: Api<Lease> = Api::namespaced(scene.client.clone(), &scene.shoot.namespace());
    let spec = leases.get("machine-controller").await.unwrap().spec.unwrap();
    (spec.holder_identity.unwrap(), spec.renew_time.unwrap().0.to_string())
}

async fn restarts(scene: &Scene, pod: &str) -> i32 {
    let pods: Api<Pod> = Api::namespaced(scene.client.clone(), &scene.shoot.namespace());
    let status = pods.get(pod).await.unwrap().status.unwrap();
    let containers = status.container_statuses.unwrap();
    let provider = containers.iter().find(|container| container.name == Provider::Stackit.container());
    provider.unwrap().restart_count
}

#[tokio::test]
async fn it_holds_and_renews_the_lease_in_the_name_of_its_pod() {
    let scene = Scene::new(Shoot::new("lease")).await;
    let mcm = scene.mcm(Provider::Stackit, quick()).await;
    let (holder, first) = lease(&scene).await;
    assert_eq!(holder, mcm.pod());
    assert_eq!(restarts(&scene, mcm.pod()).await, 0);
    let renewed = || async { Ok((lease(&scene).await.1 != first).then_some(())) };
    rig::until("the Lease is renewed", DEADLINE, renewed).await.unwrap();
}

#[tokio::test]
async fn a_standby_takes_over_only_when_the_lease_is_over() {
    let scene = Scene::new(Shoot::new("standby")).await;
    let first = scene.mcm(Provider::Stackit, quick()).await;
    let second = scene.starting(Provider::Stackit, quick()).await;
    first.await_runs(20, DEADLINE).await.unwrap();
    assert_eq!(second.events(), []);
    first.stop().await.unwrap();
    second.await_runs(1, DEADLINE).await.unwrap();
    assert_eq!(lease(&scene).await.0, second.pod());
}

#[tokio::test]
async fn cut_off_it_ends_itself_and_starts_again_with_an_empty_copy() {
    let scene = Scene::new(Shoot::new("restart")).await;
    let mcm = scene.mcm(Provider::Stackit, quick().proxied()).await;
    mcm.cut_off();
    scene.rewrite().await;
    let machine = scene.shoot.machines().swap_remove(0);
    let old = || mcm.knows(&machine) == Some(scene.shoot.legacy_id(&machine));
    // It goes on with the old copy until its deadline.
    mcm.await_runs(5, DEADLINE).await.unwrap();
    assert!(old());
    mcm.await_event("it ends", DEADLINE, |event| *event == Event::Ended).await.unwrap();
    let restarted = || async { Ok((restarts(&scene, mcm.pod()).await == 1).then_some(())) };
    rig::until("the restart is in its pod", DEADLINE, restarted).await.unwrap();
    scene.label_all();
    mcm.heal();
    mcm.await_known(&machine, &scene.shoot.stackit_id(&machine), DEADLINE).await.unwrap();
    scene.nobody_is_killed_by(&mcm).await;
}

#[tokio::test]
#[should_panic(expected = "would have deleted server")]
async fn nobody_asked_for_the_verdict() {
    let scene = Scene::new(Shoot::new("unread").legacy_machines(1)).await;
    scene.label_all();
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    drop(mcm);
}

#[tokio::test]
#[should_panic(expected = "would have deleted server")]
async fn a_fleet_fails_the_test_that_it_watches_over() {
    let shoots = ["fleet-one", "fleet-two"].map(|name| Shoot::new(name).legacy_machines(1));
    let scenes = [Scene::new(shoots[0].clone()).await, Scene::new(shoots[1].clone()).await];
    for scene in &scenes {
        let mut pod = rig::shoot::mcm_pod("machine-controller-manager-0", Provider::Stackit);
        pod["metadata"]["namespace"] = scene.shoot.namespace().into();
        rig::objects::create(&scene.client, &pod).await.unwrap();
    }
    // Of the second one's cloud, which knows nothing of the first one's servers.
    let fleet = Fleet::for_shoots(&scenes[0].server, &shoots, &scenes[1].cloud, &quick().quiet()).await.unwrap();
    assert_eq!(fleet.members().len(), 2);
    let quiet = async {
        for mcm in fleet.members() {
            mcm.await_runs(1, DEADLINE).await.unwrap();
        }
    };
    fleet.watch_over(quiet).await;
    fleet.verdict().unwrap();
    scenes[1].label_all();
    fleet.watch_over(tokio::time::sleep(DEADLINE)).await;
}

#[tokio::test]
async fn one_that_is_dropped_does_nothing_more() {
    let scene = Scene::new(Shoot::new("dropped")).await;
    drop(scene.mcm(Provider::Stackit, quick()).await);
    // The next one has to wait for the Lease, and the first cannot renew it.
    let second = scene.starting(Provider::Stackit, quick()).await;
    second.await_runs(1, DEADLINE).await.unwrap();
    second.verdict().unwrap();
}
