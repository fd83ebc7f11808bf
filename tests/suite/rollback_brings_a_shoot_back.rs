//! The whole way back, beside machine-controller-managers that delete what they take for orphans; and forward again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::rollback_support::{Back, FOREIGN, PAUSED_BY, assert_only_ours_came_off};
use crate::side_task_support::LONG;
use mcm_stand_in::Options;
use rig::shoot::{Provider, Shoot};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn back_and_forward_again_no_server_is_lost() {
    let back = Back::start().await;
    let shoot = back.migrated("there", 3).await;
    let stackit = back.mcm(&shoot, Provider::Stackit, Options::default().pod("machine-controller-manager-0")).await;
    let _product = back.seed.one_replica(&[]).await;
    stackit.await_runs(2, LONG).await.unwrap();

    let labelled = || async { Ok((back.labelled_parts(&shoot) == 3).then_some(())) };
    rig::until("the network interfaces are labelled", LONG, labelled).await.unwrap();

    let early = back.run(&shoot, &[]).await;
    assert_eq!(early.code, 2, "{early:?}");
    assert_eq!(early.reasons(), ["stackit-mcm-deployed", "stackit-mcm-alive"], "{early:?}");
    assert_eq!(back.guard(&shoot).await.as_deref(), Some("closed"));

    back.deployment(&shoot, Provider::OpenStack, None).await;
    stackit.stop().await.unwrap();
    let options = Options::default().pod("machine-controller-manager-1");
    let openstack = back.mcm(&shoot, Provider::OpenStack, options).await;
    assert!(back.turn_class(&shoot, Provider::OpenStack).await.is_err(), "the guard lets the class turn too early");
    let run = openstack.watch_over(back.run(&shoot, &[])).await;
    assert_eq!(run.code, 0, "{run:#?}");
    let steps = ["guard", "unlabel", "unlabel-part", "write-back", "unmark", "disarm", "guard-off", "lift-pause"];
    assert_eq!(run.done(), steps, "{run:#?}");
    back.assert_back(&shoot).await;
    assert!(assert_only_ours_came_off(&back.seed.cloud().journal()) > 0);
    for machine in shoot.machines() {
        let server = back.seed.cloud().server(&shoot.server_id(&machine)).unwrap();
        assert_eq!(server.labels.text(FOREIGN.0), Some(FOREIGN.1));
    }
    let migration = back.migration(&shoot).await;
    assert_eq!(migration["spec"]["paused"], false, "{migration}");
    assert!(migration["metadata"]["annotations"][PAUSED_BY].is_null(), "{migration}");
    let account = &migration["status"]["rollback"];
    assert!(account["ended"].is_string(), "{account}");
    let kept: Vec<&str> =
        account["steps"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(
        kept,
        ["pause", "guard", "unlabel", "unlabel-part", "write-back", "unmark", "disarm", "guard-off", "lift-pause"]
    );

    // Only now Gardener may turn the class, and the OpenStack provider finds every server named.
    let let_in = || async { back.turn_class(&shoot, Provider::OpenStack).await.map(Some) };
    rig::until("the class may turn", LONG, let_in).await.unwrap();
    openstack.await_runs(4, LONG).await.unwrap();
    openstack.verdict().unwrap();

    // And forward again.
    back.deployment(&shoot, Provider::Stackit, None).await;
    openstack.stop().await.unwrap();
    let options = Options::default().pod("machine-controller-manager-2");
    let again = back.mcm(&shoot, Provider::Stackit, options).await;
    let let_in = || async { back.turn_class(&shoot, Provider::Stackit).await.map(Some) };
    rig::until("the class may be flipped", LONG, let_in).await.unwrap();
    again.watch_over(back.seed.await_condition(&shoot, "Complete", LONG * 2)).await;
    again.await_runs(3, LONG).await.unwrap();
    back.seed.assert_complete(&shoot).await;
    for mcm in [&stackit, &openstack, &again] {
        mcm.verdict().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_any_pod_and_with_an_operators_own_pause() {
    let back = Back::start().await;
    let shoot = back.migrated("paused", 2).await;
    back.pause(&shoot).await;
    back.switched_back(&shoot).await;
    let run = back.run(&shoot, &[]).await;
    assert_eq!(run.code, 0, "{run:#?}");
    assert_eq!(run.done(), ["guard", "unlabel", "write-back", "unmark", "disarm", "guard-off"], "{run:#?}");
    back.assert_back(&shoot).await;
    assert_eq!(back.migration(&shoot).await["spec"]["paused"], true, "an operator's own pause stays");
    let versions = back.versions(&shoot).await;
    let again = back.run(&shoot, &[]).await;
    assert_eq!((again.code, again.done().len()), (0, 0), "{again:#?}");
    assert_eq!(back.versions(&shoot).await, versions, "a second run writes nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shoot_that_never_migrated_is_left_alone() {
    let back = Back::start().await;
    let shoot = back.seed.create(Shoot::new("never").before_the_switch()).await;
    let versions = back.versions(&shoot).await;
    let run = back.run(&shoot, &[]).await;
    assert_eq!((run.code, run.done().len()), (0, 0), "{run:#?}");
    assert_eq!(back.versions(&shoot).await, versions);
}
