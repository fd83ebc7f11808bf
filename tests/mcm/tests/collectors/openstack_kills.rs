//! Each way in which the OpenStack provider deletes the servers of rewritten Machines is noticed, and nothing else is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::scene::{DEADLINE, Scene};
use mcm_stand_in::{Mcm, Options, Provider};
use rig::shoot::{legacy_id, uuid};
use rig::{Shoot, objects};
use simulator::Server;

fn before_the_switch(name: &str) -> Shoot {
    Shoot::new(name).before_the_switch().legacy_machines(3)
}

#[tokio::test]
async fn rewritten_while_it_lives() {
    let scene = Scene::new(before_the_switch("alive")).await;
    let mcm = scene.mcm(Provider::OpenStack, Options::default()).await;
    scene.nobody_is_killed_by(&mcm).await;
    scene.rewrite().await;
    scene.all_are_killed_by(&mcm).await;
}

#[tokio::test]
async fn one_class_is_left_behind() {
    let scene = Scene::new(Shoot::new("left").legacy_machines(3)).await;
    let mcm = scene.mcm(Provider::OpenStack, Options::default()).await;
    scene.rewrite().await;
    // With STACKIT classes alone it lists nothing.
    scene.nobody_is_killed_by(&mcm).await;
    scene.add_class("nobody-refers-to-it", Provider::OpenStack).await;
    scene.all_are_killed_by(&mcm).await;
}

#[tokio::test]
async fn a_class_is_flipped_back() {
    let scene = Scene::new(Shoot::new("back").legacy_machines(1).migrated_machines(2)).await;
    scene.rewrite().await;
    let mcm = scene.mcm(Provider::OpenStack, Options::default()).await;
    scene.nobody_is_killed_by(&mcm).await;
    scene.flip(Provider::OpenStack).await;
    scene.all_are_killed_by(&mcm).await;
}

#[tokio::test]
async fn migrated_machines_are_restored_beside_its_class() {
    let scene = Scene::new(before_the_switch("restored-migrated").legacy_machines(0)).await;
    let (name, id) = (format!("{}-restored", scene.shoot.class()), uuid("restored beside"));
    scene.add_server(Server::new(&*id, &*name));
    let options = Options::default().creation_timeout(Duration::from_secs(3));
    let mcm = scene.mcm(Provider::OpenStack, options).await;
    // Its server has no Machine yet and goes at once; the Machine comes back with a new one.
    assert_eq!(scene.cloud.server_count(&scene.shoot.project_id()), 0);
    scene.create_machine(&name, &format!("stackit://{}/{id}", scene.shoot.project_id()), "").await;
    mcm.await_known(&name, &format!("stackit://{}/{id}", scene.shoot.project_id()), DEADLINE).await.unwrap();
    scene.add_server(Server::new(&*id, &*name));
    let killed = tokio::time::timeout(DEADLINE, mcm.would_kill()).await.unwrap();
    assert_eq!((killed.server, killed.why.contains("Failed")), (id, true));
}

#[tokio::test]
async fn it_wakes_up_after_the_rewrite() {
    let scene = Scene::new(before_the_switch("woken")).await;
    let options = Options::default().lease(Duration::from_secs(6), Duration::from_secs(4), Duration::from_millis(500));
    let old = scene.mcm(Provider::OpenStack, options.clone()).await;
    old.freeze();
    objects::end_pod(&scene.client, &scene.shoot.namespace(), old.pod()).await.unwrap();
    scene.flip(Provider::Stackit).await;
    let new = scene.mcm(Provider::Stackit, options).await;
    scene.rewrite().await;
    scene.nobody_is_killed_by(&new).await;
    old.verdict().unwrap();
    old.thaw();
    scene.all_are_killed_by(&old).await;
    // Its lost Lease ends it, and nothing starts it again.
    old.await_event("the old one ends", DEADLINE, |event| *event == mcm_stand_in::Event::Ended).await.unwrap();
    new.verdict().unwrap();
}

#[tokio::test]
async fn it_takes_a_server_without_a_machine_and_no_other_shoots() {
    let scene = Scene::new(before_the_switch("orphans")).await;
    let orphan = uuid("an orphan");
    scene.add_server(Server::new(&*orphan, format!("{}-gone", scene.shoot.class())));
    scene.add_server(Server::new(uuid("foreign"), "shoot--other--one-worker"));
    // Its name begins like one of ours, and its metadata names its own shoot.
    let other = format!("{}-2", scene.shoot.namespace());
    let mut neighbour = Server::new(uuid("neighbour"), format!("{other}-worker"));
    neighbour.metadata.insert(format!("kubernetes.io-cluster-{other}"), "1".to_owned());
    scene.add_server(neighbour);
    let mcm = scene.mcm(Provider::OpenStack, Options::default()).await;
    assert!(scene.cloud.server(&orphan).is_none());
    assert_eq!(scene.cloud.server_count(&scene.shoot.project_id()), 5);
    scene.nobody_is_killed_by(&mcm).await;
}

#[tokio::test]
async fn a_shoots_pod_is_taken_over() {
    let shoot = before_the_switch("adopted").legacy_machines(1);
    let scene = Scene::new(shoot.clone()).await;
    let none = Mcm::for_shoot(&scene.server, &scene.shoot, scene.cloud.clone(), Options::default()).await;
    assert!(none.is_err(), "there is no pod: {none:?}");
    let mut pod = rig::shoot::mcm_pod("machine-controller-manager-0", Provider::OpenStack);
    pod["metadata"]["namespace"] = shoot.namespace().into();
    objects::create(&scene.client, &pod).await.unwrap();
    let mcm = Mcm::for_shoot(&scene.server, &shoot, scene.cloud.clone(), Options::default().quiet()).await.unwrap();
    assert_eq!(mcm.pod(), "machine-controller-manager-0");
    mcm.await_runs(1, DEADLINE).await.unwrap();
    // A region that is not the class's is another ID.
    let [machine] = scene.shoot.machines().try_into().unwrap();
    let id = legacy_id(&scene.shoot.server_id(&machine)).replace("RegionOne", "RegionTwo");
    scene.set_id(&machine, &id).await;
    scene.all_are_killed_by(&mcm).await;
}
