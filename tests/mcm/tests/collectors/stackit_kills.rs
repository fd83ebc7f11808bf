//! Each way in which the STACKIT provider deletes the servers of live Machines is noticed, and nothing else is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::scene::{DEADLINE, Scene};
use mcm_stand_in::{Event, Options, Provider};
use rig::Shoot;
use rig::shoot::uuid;
use simulator::Server;

#[tokio::test]
async fn labelled_before_the_rewrite() {
    let scene = Scene::new(Shoot::new("early")).await;
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    // Without labels it does not see them.
    scene.nobody_is_killed_by(&mcm).await;
    scene.label_all();
    scene.all_are_killed_by(&mcm).await;
}

#[tokio::test]
async fn labelled_at_once_while_it_is_cut_off() {
    let scene = Scene::new(Shoot::new("cut")).await;
    let mcm = scene.mcm(Provider::Stackit, Options::default().proxied()).await;
    mcm.cut_off();
    scene.rewrite().await;
    scene.label_all();
    scene.all_are_killed_by(&mcm).await;
    mcm.heal();
}

#[tokio::test]
async fn labelled_while_nothing_reaches_it_past_the_wait() {
    let scene = Scene::new(Shoot::new("hung").legacy_machines(2)).await;
    let minute = Duration::from_secs(60);
    let options = Options::default().proxied().lease(minute * 2, minute, Duration::from_secs(1));
    let mcm = scene.mcm(Provider::Stackit, options).await;
    mcm.hang();
    scene.rewrite().await;
    // A wait of so many runs is no proof that it knows.
    mcm.await_runs(20, DEADLINE).await.unwrap();
    scene.label_all();
    scene.all_are_killed_by(&mcm).await;
}

#[tokio::test]
async fn labelled_while_its_copy_is_late() {
    let scene = Scene::new(Shoot::new("late")).await;
    let delay = Duration::from_secs(4);
    let mcm = scene.mcm(Provider::Stackit, Options::default().delay(delay)).await;
    scene.rewrite().await;
    scene.label_all();
    scene.all_are_killed_by(&mcm).await;
    // It catches up.
    let machine = &scene.shoot.machines()[0];
    mcm.await_known(machine, &scene.shoot.stackit_id(machine), DEADLINE).await.unwrap();
}

#[tokio::test]
async fn old_ids_are_written_back_over_labelled_servers() {
    let scene = Scene::new(Shoot::new("rolled-back").legacy_machines(0).migrated_machines(3)).await;
    scene.label_all();
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    scene.nobody_is_killed_by(&mcm).await;
    scene.write_back().await;
    scene.all_are_killed_by(&mcm).await;
}

#[tokio::test]
async fn restored_with_old_ids_over_labelled_servers() {
    let scene = Scene::new(Shoot::new("restored").legacy_machines(0)).await;
    let (name, id) = (format!("{}-restored", scene.shoot.class()), uuid("restored and labelled"));
    scene.add_server(Server::new(&*id, &*name));
    scene.create_machine(&name, &rig::shoot::legacy_id(&id), "").await;
    scene.label_server(&id, &name, &scene.shoot.class());
    let options = Options::default().creation_timeout(Duration::from_secs(5));
    let mcm = scene.mcm(Provider::Stackit, options).await;
    let phase = async || scene.machine(&name).await.unwrap()["status"]["currentStatus"]["phase"].clone();
    let crashes = || async { Ok((phase().await == "CrashLoopBackOff").then_some(())) };
    rig::until("it does not come up", DEADLINE, crashes).await.unwrap();
    mcm.verdict().unwrap();
    let killed = tokio::time::timeout(DEADLINE, mcm.would_kill()).await.unwrap();
    assert_eq!((killed.server, phase().await), (id, "Failed".into()));
}

#[tokio::test]
async fn labelled_with_the_name_of_another_machine() {
    let scene = Scene::new(Shoot::new("mixed").legacy_machines(2)).await;
    scene.rewrite().await;
    let [one, other] = scene.shoot.machines().try_into().unwrap();
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    scene.label_server(&scene.shoot.server_id(&one), &other, &scene.shoot.class());
    let killed = tokio::time::timeout(DEADLINE, mcm.would_kill()).await.unwrap();
    assert_eq!(killed.server, scene.shoot.server_id(&one));
}

#[tokio::test]
async fn a_labelled_server_without_a_machine_is_an_orphan() {
    let scene = Scene::new(Shoot::new("orphan")).await;
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    let id = uuid("labelled orphan");
    scene.add_server(Server::new(&*id, "another-landscape"));
    scene.label_server(&id, "another-landscape", &scene.shoot.class());
    let deleted = |event: &Event| matches!(event, Event::Deleted { server, .. } if *server == id);
    mcm.await_event("the orphan is deleted", DEADLINE, deleted).await.unwrap();
    assert!(scene.cloud.server(&id).is_none());
    let by = scene.cloud.journal().last().and_then(|call| call.by.clone());
    assert_eq!(by.as_deref(), Some(mcm.pod()));
    scene.nobody_is_killed_by(&mcm).await;
}

#[tokio::test]
async fn another_class_of_the_namespace_in_the_label_is_harmless() {
    let scene = Scene::new(Shoot::new("classes")).await;
    scene.add_class("sibling", Provider::Stackit).await;
    scene.rewrite().await;
    for machine in scene.shoot.machines() {
        scene.label(&machine, "sibling");
    }
    let mcm = scene.mcm(Provider::Stackit, Options::default()).await;
    scene.nobody_is_killed_by(&mcm).await;
}

#[tokio::test]
async fn the_right_order_kills_nobody() {
    let scene = Scene::new(Shoot::new("order").before_the_switch()).await;
    let options = Options::default().delay(Duration::from_secs(1));
    let old = scene.mcm(Provider::OpenStack, options.clone()).await;
    old.stop().await.unwrap();
    scene.flip(Provider::Stackit).await;
    let new = scene.starting(Provider::Stackit, options).await;
    scene.rewrite().await;
    for machine in scene.shoot.machines() {
        new.await_known(&machine, &scene.shoot.stackit_id(&machine), DEADLINE).await.unwrap();
    }
    scene.label_all();
    scene.nobody_is_killed_by(&new).await;
    old.verdict().unwrap();
}
