//! The ways in which a switch kills or leaks servers, each played with living machine-controller-managers beside the product: none is lost, none
//! is left behind, no second one is made.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::side_task_support::{LONG, Seed, assert_harmless, server_of};
use mcm_stand_in::{Event, Mcm, Options};
use rig::objects;
use rig::shoot::{Provider, Shoot, class, mcm_deployment, node};
use serde_json::{Value, json};
use simulator::Operation;

const OLD: &str = "openstack:///";
const NEW: &str = "stackit://";

/// A shoot before its switch, with the OpenStack MCM.
async fn begin(shoot: Shoot, options: Options) -> (Seed, Shoot, Mcm) {
    let seed = Seed::start().await;
    let shoot = seed.create(shoot.before_the_switch()).await;
    let old = Mcm::for_shoot(&seed.server, &shoot, seed.cloud(), options).await.unwrap();
    old.await_runs(1, LONG).await.unwrap();
    (seed, shoot, old)
}

fn here(shoot: &Shoot, mut object: Value) -> Value {
    object["metadata"]["namespace"] = shoot.namespace().into();
    object
}

/// Gardener writes the Deployment.
async fn deploy(seed: &Seed, shoot: &Shoot) {
    let deployment = here(shoot, mcm_deployment(Provider::Stackit));
    let containers = deployment["spec"]["template"]["spec"]["containers"].clone();
    let template = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    objects::merge(&seed.client, &deployment, &template).await.unwrap();
}

async fn stackit_mcm(seed: &Seed, shoot: &Shoot, options: Options) -> Mcm {
    let (namespace, project) = (shoot.namespace(), shoot.project_id());
    Mcm::start(&seed.server, &namespace, Provider::Stackit, seed.cloud(), &project, options).await.unwrap()
}

/// Gardener turns the class, as often as it takes.
async fn flip(seed: &Seed, shoot: &Shoot) {
    let class = here(shoot, class(&shoot.class(), Provider::Stackit)).to_string();
    rig::until("the class may be flipped", LONG, || async {
        seed.server.kubectl(&["replace", "-f", "-"], Some(&class)).await?.ok().map(Some)
    })
    .await
    .unwrap();
}

async fn ids(seed: &Seed, shoot: &Shoot) -> Vec<String> {
    let machines = seed.machines(&shoot.namespace()).await.into_iter();
    machines.map(|machine| machine["spec"]["providerID"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn await_gone(seed: &Seed, shoot: &Shoot, name: &str) {
    rig::until(&format!("{name} has gone"), LONG, || async {
        let machine = objects::get(&seed.client, &shoot.machine(name, "")).await?;
        anyhow::ensure!(machine.is_none(), "it is still there");
        Ok(Some(()))
    })
    .await
    .unwrap();
}

/// Every Machine has one server, and every server a Machine.
async fn assert_one_server_each(seed: &Seed, shoot: &Shoot) {
    let mut named: Vec<String> =
        ids(seed, shoot).await.iter().map(|id| id.rsplit('/').next().unwrap().to_owned()).collect();
    let mut servers: Vec<String> =
        seed.cloud().servers(&shoot.project_id()).into_iter().map(|server| server.id).collect();
    named.sort();
    servers.sort();
    assert_eq!(named, servers);
    assert_harmless(&seed.cloud().journal());
}

fn assert_no_leak(mcm: &Mcm) {
    let bad = |event: &&Event| matches!(event, Event::Leaked { .. } | Event::Created { second: true, .. });
    assert_eq!(mcm.events().iter().find(bad), None);
    mcm.verdict().unwrap();
}

/// A Machine as its `MachineSet` makes it.
fn without_id(shoot: &Shoot, name: &str) -> Value {
    let mut machine = shoot.machine(name, "");
    machine["spec"].as_object_mut().unwrap().remove("providerID");
    machine.as_object_mut().unwrap().remove("status");
    machine
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_an_openstack_mcm_is_terminating_every_id_stays() {
    let (seed, shoot, old) = begin(Shoot::new("lingers").legacy_machines(3), Options::default()).await;
    let _product = seed.one_replica(&[]).await;
    deploy(&seed, &shoot).await;
    // It has a Node, so it terminates until its kubelet says that it has ended; the process goes on meanwhile.
    let pod = here(&shoot, json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": old.pod()}}));
    objects::delete(&seed.client, &pod).await.unwrap();
    let new = stackit_mcm(&seed, &shoot, Options::default()).await;
    // Not even a class that somebody turned past the gate changes that.
    seed.server.kubectl(&["delete", "validatingwebhookconfigurations", "--all"], None).await.unwrap().ok().unwrap();
    flip(&seed, &shoot).await;
    old.watch_over(new.watch_over(old.await_runs(16, LONG))).await.unwrap();
    assert!(ids(&seed, &shoot).await.iter().all(|id| id.starts_with(OLD)));
    assert_eq!(seed.cloud().count(Operation::PatchServer), 0);
    old.stop().await.unwrap();
    new.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    seed.assert_complete(&shoot).await;
    assert_no_leak(&old);
    assert_no_leak(&new);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_openstack_mcm_that_wakes_up_on_a_hung_node_finds_its_ids() {
    let options = Options { node: "seed-node-2".to_owned(), ..Options::default() };
    let seed = Seed::start().await;
    objects::create(&seed.client, &node("seed-node-2", true)).await.unwrap();
    let shoot = seed.create(Shoot::new("hung").before_the_switch().pods(&[]).legacy_machines(3)).await;
    let (namespace, project) = (shoot.namespace(), shoot.project_id());
    let old = Mcm::start(&seed.server, &namespace, Provider::OpenStack, seed.cloud(), &project, options).await.unwrap();
    old.await_runs(1, LONG).await.unwrap();
    // Once the Node is back, its kubelet ends the pod within this time.
    let _product = seed.one_replica(&["--node-ready-for", "10s"]).await;
    // On a busy machine it may have lost its Lease before.
    let ends = || old.events().iter().filter(|event| **event == Event::Ended).count();
    let ended = ends();
    // The Node hangs; Gardener force-deletes its pod, and goes on.
    old.freeze();
    objects::patch_status(&seed.client, &node("seed-node-2", false), &node("seed-node-2", false)["status"])
        .await
        .unwrap();
    objects::end_pod(&seed.client, &namespace, old.pod()).await.unwrap();
    deploy(&seed, &shoot).await;
    let new = stackit_mcm(&seed, &shoot, Options::default()).await;
    flip(&seed, &shoot).await;
    let lost = || async {
        let migration = seed.migration(&namespace).await?.to_string();
        anyhow::ensure!(migration.contains("SeedNodeLost"), "{migration}");
        Ok(Some(()))
    };
    rig::until("the lost Node is named", LONG, lost).await.unwrap();
    // Whoever still holds the Lease goes on as long as it likes; the Lease is lost by now.
    new.await_event("it leads", LONG, |event| *event == Event::Leads).await.unwrap();
    old.thaw();
    new.watch_over(old.watch_over(new.await_runs(20, LONG))).await.unwrap();
    assert!(ids(&seed, &shoot).await.iter().all(|id| id.starts_with(OLD)));
    objects::patch_status(&seed.client, &node("seed-node-2", true), &node("seed-node-2", true)["status"])
        .await
        .unwrap();
    rig::until("it ends itself", LONG, || async { Ok((ends() > ended).then_some(())) }).await.unwrap();
    new.watch_over(old.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2))).await;
    seed.assert_complete(&shoot).await;
    assert_no_leak(&old);
    assert_no_leak(&new);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_in_creation_at_the_switch_keep_their_server_and_get_no_second() {
    // The server is there at once, and its ID would be written only long after.
    let creates = Options::default().creates(Duration::from_secs(60));
    let (seed, shoot, old) = begin(Shoot::new("in-flight").legacy_machines(1), creates).await;
    let [alive, terminating, later] = ["alive", "terminating", "later"].map(|name| format!("{}-{name}", shoot.class()));
    for name in [&alive, &terminating] {
        objects::create(&seed.client, &without_id(&shoot, name)).await.unwrap();
        let made = |event: &Event| matches!(event, Event::Created { machine, .. } if machine == name);
        old.await_event("its server is made", LONG, made).await.unwrap();
    }
    let _product = seed.one_replica(&[]).await;
    deploy(&seed, &shoot).await;
    old.stop().await.unwrap();
    objects::delete(&seed.client, &shoot.machine(&terminating, "")).await.unwrap();
    let new = stackit_mcm(&seed, &shoot, Options::default().creates(Duration::from_millis(100))).await;
    objects::create(&seed.client, &without_id(&shoot, &later)).await.unwrap();
    new.watch_over(flip(&seed, &shoot)).await;
    new.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    new.watch_over(await_gone(&seed, &shoot, &terminating)).await;
    let has_id = || async {
        let ids = ids(&seed, &shoot).await;
        anyhow::ensure!(ids.len() == 3 && ids.iter().all(|id| id.starts_with(NEW)), "{ids:?}");
        Ok(Some(()))
    };
    new.watch_over(rig::until("each has its ID", LONG, has_id)).await.unwrap();
    new.watch_over(new.await_runs(3, LONG)).await.unwrap();
    let annotations = |name: &str, machines: &[Value]| {
        let machine = machines.iter().find(|machine| machine["metadata"]["name"] == name).unwrap();
        machine["metadata"]["annotations"].clone()
    };
    let machines = seed.machines(&shoot.namespace()).await;
    assert_eq!(annotations(&alive, &machines)["stackit.cloud/migrated-machine"], "true");
    assert!(annotations(&later, &machines)["stackit.cloud/migrated-machine"].is_null(), "made by STACKIT");
    let server = seed.cloud().servers(&shoot.project_id()).into_iter().find(|server| server.name == alive).unwrap();
    assert!(server.nics[0].allowed_addresses.iter().any(|address| address == "100.64.0.0/12"), "{server:?}");
    assert_one_server_each(&seed, &shoot).await;
    assert_no_leak(&old);
    assert_no_leak(&new);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_is_deleted_with_its_old_id_goes_with_its_server() {
    let (seed, shoot, old) = begin(Shoot::new("deleted").legacy_machines(3), Options::default()).await;
    deploy(&seed, &shoot).await;
    old.stop().await.unwrap();
    let new = stackit_mcm(&seed, &shoot, Options::default()).await;
    new.await_event("it leads", LONG, |event| *event == Event::Leads).await.unwrap();
    let _product = seed.one_replica(&["--node-ready-for", "5s"]).await;
    flip(&seed, &shoot).await;
    let doomed = shoot.machines().swap_remove(0);
    objects::delete(&seed.client, &shoot.machine(&doomed, "")).await.unwrap();
    // It hangs until the rewrite.
    let hangs = |event: &Event| matches!(event, Event::Hangs { machine, .. } if *machine == doomed);
    new.await_event("its deletion hangs", LONG, hangs).await.unwrap();
    new.watch_over(await_gone(&seed, &shoot, &doomed)).await;
    assert!(seed.cloud().server(&shoot.server_id(&doomed)).is_none(), "its server stays");
    new.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    seed.assert_complete(&shoot).await;
    assert_one_server_each(&seed, &shoot).await;
    assert_no_leak(&new);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_class_that_a_roll_out_leaves_behind_is_retired_and_its_machines_go_with_their_servers() {
    let (seed, shoot, old) = begin(Shoot::new("roll-out").legacy_machines(2), Options::default()).await;
    // The same pool and zone with another hash: what the roll-out comes from, with one Machine.
    let (left, name) =
        (format!("{}-0ld00", shoot.machine_deployment()), format!("{}-0ld00-m", shoot.machine_deployment()));
    objects::create(&seed.client, &here(&shoot, class(&left, Provider::OpenStack))).await.unwrap();
    seed.cloud().add_server(&shoot.project_id(), "eu01", server_of(&shoot, &name));
    let mut machine = shoot.machine(&name, &shoot.legacy_id(&name));
    machine["spec"]["class"]["name"] = left.clone().into();
    objects::create(&seed.client, &machine).await.unwrap();
    let _product = seed.one_replica(&[]).await;
    deploy(&seed, &shoot).await;
    old.stop().await.unwrap();
    let new = stackit_mcm(&seed, &shoot, Options::default()).await;
    // Gardener turns only the class that it wants; the roll-out takes the other one's Machine away.
    new.watch_over(flip(&seed, &shoot)).await;
    objects::delete(&seed.client, &machine).await.unwrap();
    new.watch_over(await_gone(&seed, &shoot, &name)).await;
    assert!(seed.cloud().server(&shoot.server_id(&name)).is_none(), "its server stays");
    new.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    let retired = objects::get(&seed.client, &here(&shoot, class(&left, Provider::Stackit))).await.unwrap().unwrap();
    assert_eq!(retired.data["provider"], "stackit");
    seed.assert_complete(&shoot).await;
    assert_one_server_each(&seed, &shoot).await;
    assert_no_leak(&old);
    assert_no_leak(&new);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_mcm_whose_copy_is_late_sees_every_id_before_its_label() {
    let (seed, shoot, old) = begin(Shoot::new("late").legacy_machines(3), Options::default()).await;
    let _product = seed.one_replica(&["--quarantine", "8s"]).await;
    deploy(&seed, &shoot).await;
    old.stop().await.unwrap();
    // Later than a label would come without the quarantine.
    let new = stackit_mcm(&seed, &shoot, Options::default().delay(Duration::from_secs(4))).await;
    // What it lists at its start is fresh.
    let machine = shoot.machines().swap_remove(0);
    new.await_known(&machine, &shoot.legacy_id(&machine), LONG).await.unwrap();
    new.watch_over(flip(&seed, &shoot)).await;
    new.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    new.watch_over(new.await_runs(20, LONG)).await.unwrap();
    seed.assert_complete(&shoot).await;
    assert_no_leak(&new);
}
