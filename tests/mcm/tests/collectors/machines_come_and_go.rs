//! Machines that are deleted, and those that get their server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::scene::{DEADLINE, Scene};
use mcm_stand_in::{Event, Mcm, Options, Provider};
use rig::Shoot;

async fn gone(scene: &Scene, machine: &str) {
    let gone = || async { Ok(scene.machine(machine).await.is_none().then_some(())) };
    rig::until("the Machine is gone", DEADLINE, gone).await.unwrap();
}

async fn leaked(mcm: &Mcm, machine: &str) -> bool {
    let finished = |event: &Event| matches!(event, Event::Finished { machine: name } if name == machine);
    mcm.await_event("the Machine is finished", DEADLINE, finished).await.unwrap();
    mcm.events().iter().any(|event| matches!(event, Event::Leaked { machine: name, .. } if name == machine))
}

#[tokio::test]
async fn with_the_old_id_deletion_hangs_until_the_rewrite() {
    let scene = Scene::new(Shoot::new("hangs").legacy_machines(2)).await;
    let [machine, other] = scene.shoot.machines().try_into().unwrap();
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    scene.delete_machine(&machine).await;
    let hangs = |event: &Event| matches!(event, Event::Hangs { machine: name, why } if *name == machine && why.starts_with("InvalidArgument"));
    mcm.await_event("it hangs", DEADLINE, hangs).await.unwrap();
    scene.set_id(&machine, &scene.shoot.stackit_id(&machine)).await;
    gone(&scene, &machine).await;
    assert!(!leaked(&mcm, &machine).await);
    assert!(scene.cloud.server(&scene.shoot.server_id(&machine)).is_none());
    assert!(scene.cloud.server(&scene.shoot.server_id(&other)).is_some());
    mcm.verdict().unwrap();
}

#[tokio::test]
async fn a_wrong_id_leaks_the_server() {
    let scene = Scene::new(Shoot::new("leaks").legacy_machines(3)).await;
    let machines = scene.shoot.machines();
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    let server = |machine: &str| scene.shoot.server_id(machine);
    // No project, another project, and no ID at all.
    scene.set_id(&machines[0], &format!("stackit://{}", server(&machines[0]))).await;
    scene.set_id(&machines[1], &rig::shoot::stackit_id(&rig::shoot::uuid("other"), &server(&machines[1]))).await;
    scene.set_id(&machines[2], "").await;
    for machine in &machines {
        scene.delete_machine(machine).await;
        gone(&scene, machine).await;
        assert!(leaked(&mcm, machine).await, "{machine}: {:?}", mcm.events());
        assert!(scene.cloud.server(&server(machine)).is_some());
    }
}

#[tokio::test]
async fn a_class_of_the_other_format_leaks_the_server() {
    let scene = Scene::new(Shoot::new("unretired").before_the_switch().legacy_machines(1)).await;
    scene.rewrite().await;
    let [machine] = scene.shoot.machines().try_into().unwrap();
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    scene.delete_machine(&machine).await;
    gone(&scene, &machine).await;
    assert!(leaked(&mcm, &machine).await);
}

#[tokio::test]
async fn openstack_deletes_by_id() {
    let scene = Scene::new(Shoot::new("old").before_the_switch().legacy_machines(1)).await;
    let [machine] = scene.shoot.machines().try_into().unwrap();
    let mcm = scene.mcm(Provider::OpenStack, Options::default()).await;
    scene.delete_machine(&machine).await;
    gone(&scene, &machine).await;
    assert!(!leaked(&mcm, &machine).await);
    assert_eq!(scene.cloud.server_count(&scene.shoot.project_id()), 0);
}

#[tokio::test]
async fn deletion_spares_a_server_that_another_machine_names() {
    let scene = Scene::new(Shoot::new("shared").legacy_machines(2)).await;
    let [machine, other] = scene.shoot.machines().try_into().unwrap();
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    scene.set_id(&machine, &scene.shoot.stackit_id(&other)).await;
    scene.delete_machine(&machine).await;
    let killed = tokio::time::timeout(DEADLINE, mcm.would_kill()).await.unwrap();
    assert_eq!(killed.server, scene.shoot.server_id(&other));
}

#[tokio::test]
async fn stackit_makes_a_labelled_server_and_openstack_one_without_labels() {
    for (name, shoot, provider) in [
        ("new", Shoot::new("made-new"), Provider::Stackit),
        ("old", Shoot::new("made-old").before_the_switch(), Provider::OpenStack),
    ] {
        let scene = Scene::empty_cloud(shoot.legacy_machines(0)).await;
        let machine = format!("{}-{name}", scene.shoot.class());
        let mcm = scene.mcm(provider, Options::default().creates(Duration::from_millis(500))).await;
        scene.create_machine(&machine, "", "").await;
        let runs = || async {
            let found =
                scene.machine(&machine).await.filter(|found| found["status"]["currentStatus"]["phase"] == "Running");
            Ok(found.map(|found| found["spec"]["providerID"].as_str().unwrap().to_owned()))
        };
        let id = rig::until("the Machine runs", DEADLINE, runs).await.unwrap();
        let [server] = scene.cloud.servers(&scene.shoot.project_id()).try_into().unwrap();
        let wanted = match provider {
            Provider::Stackit => rig::shoot::stackit_id(&scene.shoot.project_id(), &server.id),
            Provider::OpenStack => rig::shoot::legacy_id(&server.id),
        };
        assert_eq!(id, wanted);
        let labels = server.labels.map().map_or(0, std::collections::BTreeMap::len);
        assert_eq!(labels, if provider == Provider::Stackit { 4 } else { 0 });
        let opened = server.nics[0].allowed_addresses == ["100.64.0.0/12"];
        assert_eq!(opened, provider == Provider::OpenStack);
        scene.nobody_is_killed_by(&mcm).await;
    }
}

#[tokio::test]
async fn a_machine_without_an_id_gets_a_second_server_after_the_switch() {
    let scene = Scene::empty_cloud(Shoot::new("second").before_the_switch().legacy_machines(0)).await;
    let machine = format!("{}-inflight", scene.shoot.class());
    let old = scene.mcm(Provider::OpenStack, Options::default().creates(DEADLINE * 10)).await;
    scene.create_machine(&machine, "", "").await;
    let created = |event: &Event| matches!(event, Event::Created { .. });
    old.await_event("the first server", DEADLINE, created).await.unwrap();
    old.stop().await.unwrap();
    scene.flip(Provider::Stackit).await;
    let options = Options::default().creates(Duration::ZERO);
    let new = scene.starting(Provider::Stackit, options).await;
    let second = new.await_event("the second server", DEADLINE, created).await.unwrap();
    assert!(matches!(second, Event::Created { second: true, .. }), "{second:?}");
}
