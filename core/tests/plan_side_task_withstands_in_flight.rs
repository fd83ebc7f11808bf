//! A Machine without an ID at the switch: each way in which it would get a second server, or lose its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::decide::{Because, MachineFacts};
use mcm_migration_core::domain::{Reason, Server, ServerStatus};
use mcm_migration_core::plan::{Action, Listed};
use side_task::example::{NOW, OPENSTACK, armed, before_the_flip, change, legacy, nodes, pod, server, without_id};
use side_task::{Case, eu01, secs, server_id, steps};

fn planned(case: &Case) -> Vec<&'static str> {
    steps(&case.actions())
}

/// A shoot in which `m-0` has no ID and its server is ACTIVE, with its addresses in place.
fn in_flight() -> Case {
    let mut case = before_the_flip(&[("m-0", without_id())], vec![server(0, "m-0")]);
    case.cloud.addressed.insert(server_id(0));
    case
}

fn servers(case: &mut Case, servers: Vec<Server>) {
    case.cloud.lists = [(eu01(), Listed::new(servers, secs(NOW)))].into();
}

#[test]
fn while_somebody_may_still_create_in_openstack_nothing_is_settled() {
    let mut alive = in_flight();
    change(&mut alive, |f| drop(f.mcm_pods.insert("old".into(), pod("o", "n-1", OPENSTACK))));
    assert_eq!((planned(&alive), alive.waits("m-0")), (vec![], vec!["in-flight".to_owned()]));
    let mut not_switched = in_flight();
    change(&mut not_switched, |f| f.mcm_deployment = Some(OPENSTACK));
    assert_eq!(planned(&not_switched), [""; 0]);
    let mut gone = in_flight();
    change(&mut gone, |f| f.mcm_deployment = None);
    assert_eq!(planned(&gone), [""; 0]);
}

#[test]
fn an_openstack_pod_that_may_come_back_starts_the_wait_again() {
    // No pod for a while, but the Deployment still makes one: what was made then was not made too late.
    let mut case = before_the_flip(&[("m-0", without_id())], vec![]);
    case.looks[0].facts.mcm_deployment = Some(OPENSTACK);
    case.looks[0].facts.machines.clear();
    assert_eq!((planned(&case), case.waits("m-0")), (vec![], vec!["in-flight".to_owned()]));
    // The caches were lost: a pod may have come and gone.
    let mut case = before_the_flip(&[("m-0", without_id())], vec![]);
    assert_eq!(planned(&case), ["settle"]);
    case.looks[1].lost = true;
    assert_eq!(planned(&case), [""; 0]);
}

#[test]
fn a_server_gets_its_addresses_before_its_machine_gets_its_id() {
    let mut case = in_flight();
    case.cloud.addressed.clear();
    assert_eq!(planned(&case), ["address"]);
    servers(&mut case, vec![Server { status: ServerStatus::Error, ..server(0, "m-0") }]);
    assert_eq!(planned(&case), ["settle"], "a server in error has no pods");
}

#[test]
fn a_machine_is_let_go_only_after_the_time_out_by_a_list_taken_after_it() {
    let mut case = before_the_flip(&[("m-0", without_id())], vec![]);
    (case.now, case.cloud.lists.get_mut(&eu01()).unwrap().at) = (secs(700), secs(699));
    case.looks.truncate(1);
    // The time is over, and the LIST is from before: only another one can tell.
    assert_eq!((planned(&case), case.waits("m-0")), (vec!["list"], vec!["in-flight".to_owned()]));
    case.cloud.lists.get_mut(&eu01()).unwrap().at = secs(700);
    assert_eq!(case.actions(), [Action::SettleNoServer { machine: "m-0".into() }]);
}

#[test]
fn a_machine_that_was_made_later_is_let_go_once_no_pod_can_wake_up_any_more() {
    let mut case = before_the_flip(&[("m-0", without_id())], vec![]);
    case.looks[0].facts.machines.clear();
    case.looks.truncate(1);
    let ready = case.looks[0].at + case.settings.nodes.ready_for;
    case.now = ready.saturating_sub(secs(1));
    assert_eq!((planned(&case), case.waits("m-0")), (vec![], vec!["seed-node-lost (n-1)".to_owned()]));
    case.now = ready;
    // A pod that is gone may still run on a Node that hangs, and ask for a server when it wakes up.
    case.nodes = Some(nodes(&[Some(0), None]));
    assert_eq!((planned(&case), case.waits("m-0")), (vec![], vec!["seed-node-lost (n-1)".to_owned()]));
    case.nodes = Some(nodes(&[Some(0), Some(0)]));
    assert_eq!(case.actions(), [Action::SettleNoServer { machine: "m-0".into() }]);
}

#[test]
fn a_machine_of_which_it_is_not_known_whether_it_was_made_later_goes_by_the_cloud() {
    let mut case = before_the_flip(&[("m-0", without_id())], vec![server(0, "m-0")]);
    case.looks[0].listed = false;
    case.looks.truncate(1);
    case.cloud.addressed.insert(server_id(0));
    case.now = case.looks[0].at + case.settings.nodes.ready_for;
    case.cloud.lists.get_mut(&eu01()).unwrap().at = case.now;
    // What woke up on a Node has made it.
    assert!(matches!(&case.actions()[..], [Action::SettleId { .. }]), "{:?}", case.plan());
    servers(&mut case, vec![]);
    case.cloud.lists.get_mut(&eu01()).unwrap().at = case.now;
    assert_eq!((planned(&case), case.waits("m-0")), (vec![], vec!["in-flight".to_owned()]));
    case.cloud.lists.clear();
    assert_eq!((planned(&case), case.waits("m-0")), (vec!["list"], vec!["in-flight".to_owned()]));
}

#[test]
fn what_cannot_be_told_for_certain_is_an_alarm() {
    let building = || Server { status: ServerStatus::Creating, ..server(0, "m-0") };
    let others = MachineFacts { provider_id: format!("openstack:///RegionOne/{}", server_id(0)).into(), ..legacy(0) };
    let case = |listed| {
        let mut case = in_flight();
        servers(&mut case, listed);
        case
    };
    let mut taken = case(vec![server(0, "m-0")]);
    change(&mut taken, |f| drop(f.machines.insert("m-1".into(), others.clone())));
    let mut forbidden = case(vec![]);
    forbidden.cloud.stopped = Some(Because::of(Reason::CloudForbidden));
    for (case, why) in [
        (case(vec![server(0, "m-0"), server(1, "m-0")]), "in-flight-unresolved (several servers have its name)"),
        (case(vec![building()]), "in-flight-unresolved (its server is Creating for too long)"),
        (taken, "in-flight-unresolved (another Machine has the server of its name)"),
        (forbidden, "in-flight-unresolved (cloud-forbidden)"),
    ] {
        assert!(case.actions().iter().all(|action| action.step() != "settle"), "{why}");
        assert_eq!(case.waits("m-0"), [why]);
    }
    let mut down = case(vec![]);
    down.cloud.troubles.insert(eu01(), Because::of(Reason::CloudUnavailable));
    assert_eq!((planned(&down), down.waits("m-0")), (vec![], vec!["cloud-unavailable".to_owned()]));
}

#[test]
fn a_machine_without_an_id_and_with_a_stackit_class_is_an_alarm_only_where_stackit_will_not_create_its_server() {
    let alarm = ["in-flight-unresolved (its class is `stackit` already)"];
    let case = |migrated, restoring| {
        let mut case = armed(&[("m-0", MachineFacts { migrated, ..without_id() })], vec![]);
        if restoring {
            change(&mut case, |facts| facts.workers.get_mut("w").unwrap().operation = "restore".into());
        }
        case
    };
    assert_eq!(case(false, false).waits("m-0"), [""; 0], "STACKIT creates it");
    assert_eq!(case(true, false).waits("m-0"), alarm);
    assert_eq!(case(false, true).waits("m-0"), alarm);
}
