//! Machine-controller-managers that delete what they take for orphans run beside the side task, and no server of a live
//! Machine would have died.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::side_task_support::{LONG, QUARANTINE, Seed, assert_harmless};
use mcm_stand_in::{Event, Mcm, Options};
use rig::shoot::{Provider, Shoot, class, mcm_deployment};
use rig::{ApiServer, objects};
use serde_json::{Value, json};
use simulator::Operation;

/// What Gardener does when a shoot is switched: the Deployment, its pod, then the class, as soon as it is let.
async fn switch(seed: &Seed, shoot: &Shoot, old: &Mcm) -> Mcm {
    let (namespace, template) = (shoot.namespace(), mcm_deployment(Provider::Stackit)["spec"]["template"].clone());
    let containers = json!({ "spec": { "template": { "spec": { "containers": template["spec"]["containers"] } } } });
    let mut deployment = mcm_deployment(Provider::Stackit);
    deployment["metadata"]["namespace"] = namespace.clone().into();
    objects::merge(&seed.client, &deployment, &containers).await.unwrap();
    old.stop().await.unwrap();
    let (project, options) = (shoot.project_id(), Options::default());
    let new = Mcm::start(&seed.server, &namespace, Provider::Stackit, seed.cloud(), &project, options).await.unwrap();
    let let_in = || async { flip(&seed.server, shoot).await.map(Some) };
    rig::until("the class may be flipped", LONG, let_in).await.unwrap();
    new
}

async fn flip(server: &ApiServer, shoot: &Shoot) -> anyhow::Result<()> {
    let mut class = class(&shoot.class(), Provider::Stackit);
    class["metadata"]["namespace"] = shoot.namespace().into();
    server.kubectl(&["replace", "-f", "-"], Some(&class.to_string())).await?.ok()?;
    Ok(())
}

fn labelled(seed: &Seed) -> usize {
    seed.cloud().count(Operation::PatchServer)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_is_switched_under_living_machine_controller_managers() {
    let seed = Seed::start().await;
    let shoot = seed.create(Shoot::new("switched").before_the_switch().legacy_machines(5)).await;
    let old = Mcm::for_shoot(&seed.server, &shoot, seed.cloud(), Options::default()).await.unwrap();
    old.await_runs(1, LONG).await.unwrap();
    let _product = seed.one_replica(&[]).await;
    let new = switch(&seed, &shoot, &old).await;
    new.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    // With the labels it sees them.
    new.await_runs(3, LONG).await.unwrap();
    seed.assert_complete(&shoot).await;
    assert_harmless(&seed.cloud().journal());
    old.verdict().unwrap();
    new.verdict().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_is_cut_off_for_longer_than_the_quarantine() {
    let seed = Seed::start().await;
    let shoot = seed.create(Shoot::new("cut-off").legacy_machines(3)).await;
    // It has to end itself after four times the quarantine.
    let options = Options::default().proxied().lease(QUARANTINE * 6, QUARANTINE * 4, QUARANTINE / 3);
    let mcm = Mcm::for_shoot(&seed.server, &shoot, seed.cloud(), options).await.unwrap();
    mcm.await_runs(1, LONG).await.unwrap();
    let machine = shoot.machines().swap_remove(0);
    mcm.await_known(&machine, &shoot.legacy_id(&machine), LONG).await.unwrap();

    mcm.cut_off();
    let _product = seed.one_replica(&[]).await;
    let rewritten = || async {
        let ids: Vec<Value> =
            seed.machines(&shoot.namespace()).await.into_iter().map(|one| one["spec"]["providerID"].clone()).collect();
        anyhow::ensure!(ids.iter().all(|id| id.as_str().is_some_and(|id| id.starts_with("stackit://"))), "{ids:?}");
        Ok(Some(()))
    };
    mcm.watch_over(rig::until("all are rewritten", LONG, rewritten)).await.unwrap();
    // Nothing proves that it knows: it is cut off all the while.
    let passed = tokio::time::sleep(QUARANTINE * 3);
    mcm.watch_over(passed).await;
    assert_eq!(labelled(&seed), 0, "labelled without evidence");
    mcm.await_event("it ends itself", LONG, |event| *event == Event::Ended).await.unwrap();
    mcm.heal();
    mcm.watch_over(seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    mcm.await_runs(3, LONG).await.unwrap();
    seed.assert_complete(&shoot).await;
    mcm.verdict().unwrap();
}
