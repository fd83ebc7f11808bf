//! Each way in which a VM is killed or left behind, once, by name; and that nothing is planned then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::decide::{Because, MachineFacts};
use mcm_migration_core::domain::{GuardLabel, Provider, Reason, ServerStatus};
use mcm_migration_core::plan::{Action, ClassDetails, Listed, Proof};
use serde_json::json;
use side_task::example::{
    CLASS, NOW, OPENSTACK, STACKIT, armed, before_the_flip, change, labelled, lease, legacy, nodes, pod, rewritten,
    server, without_id,
};
use side_task::{Case, eu01, openstack_class, secs, server_id, stackit_class, steps};
use worlds::last_operation;

fn planned(case: &Case) -> Vec<&'static str> {
    steps(&case.actions())
}

/// A shoot that labels the server of `m-0` now.
fn labelling() -> Case {
    let mut case = armed(&[("m-0", rewritten(0))], vec![server(0, "m-0")]);
    let mut look = case.looks[1].clone();
    (look.at, look.lease) = (secs(1990), Some(Some(lease("mcm-0", 1990))));
    case.looks.insert(1, look);
    case
}

/// A shoot in which `m-0` has no ID and its server is ACTIVE, with its addresses in place.
fn in_flight() -> Case {
    let mut case = before_the_flip(&[("m-0", without_id())], vec![server(0, "m-0")]);
    case.cloud.addressed.insert(server_id(0));
    case
}

fn servers(case: &mut Case, servers: Vec<mcm_migration_core::domain::Server>) {
    case.cloud.lists = [(eu01(), Listed::new(servers, secs(NOW)))].into();
}

/// A class of the roll-out before last that is still `OpenStack`, and the class that is wanted now.
fn rolled() -> Case {
    let mut case = before_the_flip(&[("m-0", legacy(0))], vec![server(0, "m-0")]);
    case.classes.insert("pool-a-z1-bbbbb".into(), stackit_class());
    change(&mut case, |facts| {
        facts.classes.insert("pool-a-z1-bbbbb".into(), Provider::Stackit);
        facts.machine_deployments.insert("md".into(), "pool-a-z1-bbbbb".into());
        facts.workers.get_mut("w").unwrap().wanted_machine_deployments = vec!["md".into()];
    });
    case
}

#[test]
fn the_examples_do_what_they_are_for_when_nothing_is_wrong() {
    let id =
        |case: &Case| format!("openstack:///RegionOne/{}", case.cloud.lists[&eu01()].servers.keys().next().unwrap());
    let case = in_flight();
    assert_eq!(case.actions(), [Action::SettleId { machine: "m-0".into(), provider_id: id(&case) }]);
    let case = labelling();
    assert_eq!(planned(&case), ["label"]);
    let case = armed(&[("m-0", legacy(0))], vec![server(0, "m-0")]);
    assert_eq!(case.actions(), [Action::Touch { machine: "m-0".into() }]);
    assert_eq!(planned(&rolled()), ["retire"]);
}

// 1. The OpenStack provider deletes every server whose ID was rewritten.

#[test]
fn nothing_is_rewritten_while_something_of_openstack_is_left() {
    type Change = fn(&mut Case);
    let remains: [Change; 4] = [
        |case| change(case, |f| drop(f.mcm_pods.insert("old".into(), pod("o", "n-1", OPENSTACK)))),
        |case| {
            let both = mcm_migration_core::domain::McmContainers { openstack: true, stackit: true };
            change(case, move |f| drop(f.mcm_pods.insert("old".into(), pod("o", "n-1", both))));
        },
        |case| change(case, |f| f.mcm_deployment = Some(OPENSTACK)),
        |case| {
            case.classes.insert("nobody-s".into(), openstack_class());
            change(case, |f| f.classes.extend([("nobody-s".into(), Provider::OpenStack)]));
            change(case, |f| f.workers.get_mut("w").unwrap().wanted_machine_deployments.clear());
        },
    ];
    for remain in remains {
        for mut case in [armed(&[("m-0", legacy(0))], vec![server(0, "m-0")]), labelling()] {
            remain(&mut case);
            assert_eq!(planned(&case), ["disarm"], "{:?}", case.facts);
        }
    }
}

// 2. A server is labelled only once every machine-controller-manager knows its new ID. (More in plan_side_task_quarantine.rs.)

#[test]
fn nothing_is_labelled_in_quarantine() {
    let mut case = labelling();
    case.now = secs(999);
    servers(&mut case, vec![server(0, "m-0")]);
    case.cloud.lists.get_mut(&eu01()).unwrap().at = case.now;
    assert_eq!(planned(&case), [""; 0]);
    assert_eq!(case.waits("m-0"), ["quarantined"]);
}

#[test]
fn the_quarantine_of_another_id_ends_nothing() {
    let mut case = labelling();
    // The caches still show the ID of another server.
    for look in &mut case.looks {
        look.facts.machines.insert("m-0".into(), rewritten(1));
    }
    assert_eq!(planned(&case), [""; 0]);
    assert_eq!(case.waits("m-0"), ["quarantined"]);
}

// 3. The wrong server becomes an orphan.

#[test]
fn nothing_is_labelled_that_is_not_the_machines_server() {
    let other = server(0, "somebody");
    let foreign = labelled(server(7, "nobody"), CLASS);
    let second = labelled(server(7, "m-0"), CLASS);
    let made = labelled(server(7, "m-made"), CLASS);
    for (listed, waits) in [
        (vec![], format!("server-gone ({})", server_id(0))),
        (vec![other], "name-mismatch (somebody)".to_owned()),
        (vec![server(0, "m-0"), foreign], format!("class-label-foreign ({})", server_id(7))),
        (vec![server(0, "m-0"), second], format!("class-label-foreign ({})", server_id(7))),
    ] {
        let mut case = labelling();
        servers(&mut case, listed);
        assert_eq!(planned(&case), [""; 0]);
        assert_eq!(case.waits("m-0"), [waits]);
    }
    // One that the STACKIT provider is just making for a Machine of ours is not foreign.
    let mut case = labelling();
    change(&mut case, |f| drop(f.machines.insert("m-made".into(), without_id())));
    servers(&mut case, vec![server(0, "m-0"), made]);
    assert_eq!(planned(&case), ["label"]);
}

#[test]
fn an_old_list_is_not_acted_on() {
    let mut case = labelling();
    case.cloud.lists.get_mut(&eu01()).unwrap().at = secs(NOW - 61);
    assert_eq!(case.actions(), [Action::List { region: eu01() }]);
    case.cloud.lists.get_mut(&eu01()).unwrap().at = secs(NOW - 60);
    assert_eq!(planned(&case), ["label"]);
}

#[test]
fn a_server_that_the_api_would_not_change_waits() {
    for status in [ServerStatus::Deallocated, ServerStatus::Creating, ServerStatus::Deleting] {
        let mut case = labelling();
        servers(&mut case, vec![mcm_migration_core::domain::Server { status, ..server(0, "m-0") }]);
        assert_eq!(planned(&case), [""; 0]);
        assert_eq!(case.waits("m-0"), [format!("server-deferred ({status:?})")]);
    }
}

#[test]
fn a_name_that_no_label_holds_is_said_and_never_sent() {
    let long = "m".repeat(64);
    let mut case = armed(&[(long.as_str(), rewritten(0))], vec![server(0, &long)]);
    assert_eq!(planned(&case), [""; 0]);
    assert_eq!(case.waits(&long), [format!("name-too-long ({long})")]);
    case.facts.machines.get_mut(&*long).unwrap().exception =
        Some(mcm_migration_core::domain::Exception::of("as I say"));
    assert_eq!(case.waits(&long), [""; 0], "an exception holds nothing up");
}

// 4. A malformed or wrong STACKIT ID leaks the VM silently.

#[test]
fn malformed_ids_and_ids_of_other_projects_are_said_and_left_alone() {
    let with = |id: &str| MachineFacts { provider_id: id.into(), ..rewritten(0) };
    let other = format!("stackit://99999999-7d5e-4f60-8a91-b2c3d4e5f601/{}", server_id(0));
    for (id, reason) in [
        ("openstack:///RegionOne/x", "provider-id-malformed"),
        ("stackit://x/y", "provider-id-malformed"),
        (other.as_str(), "project-mismatch"),
    ] {
        let case = armed(&[("m-0", with(id))], vec![server(0, "m-0")]);
        assert_eq!(planned(&case), [""; 0], "{id}");
        assert!(case.waits("m-0")[0].starts_with(reason), "{:?}", case.waits("m-0"));
    }
    let mut case = labelling();
    case.facts.project = None;
    assert_eq!(planned(&case), [""; 0]);
    assert_eq!(case.waits("m-0"), ["project-unknown"]);
}

// 5. Switching back is mass deletion: nothing is armed, rewritten or touched unless the guard is proved.

#[test]
fn without_a_proved_guard_nothing_is_armed_or_touched() {
    for (proof, is_armed, expected) in [
        (Proof::Unasked, false, vec!["probe"]),
        (Proof::Unasked, true, vec!["probe"]),
        (Proof::Holds, false, vec!["arm"]),
        (Proof::Holds, true, vec!["touch"]),
        (Proof::Fails(Because::of(Reason::GuardOpen)), true, vec!["disarm"]),
        (Proof::Fails(Because::of(Reason::GuardUnproven)), false, vec![]),
    ] {
        let mut case = armed(&[("m-0", legacy(0))], vec![server(0, "m-0")]);
        change(&mut case, |f| f.migration.as_mut().unwrap().armed = is_armed);
        case.proof = proof;
        assert_eq!(planned(&case), expected);
    }
}

// 6. A Machine without an ID at the switch: plan_side_task_withstands_in_flight.rs.

// 7. Two seeds.

#[test]
fn a_seed_that_restores_a_shoot_rewrites_and_does_not_label() {
    for (operation, last) in [("restore", ""), ("", "Processing"), ("", "Error")] {
        let restore = |case: &mut Case| {
            change(case, |f| {
                let worker = f.workers.get_mut("w").unwrap();
                worker.operation = operation.into();
                worker.last_operation = last_operation("Restore", last);
            });
        };
        let mut case = labelling();
        restore(&mut case);
        change(&mut case, |f| drop(f.machines.insert("m-1".into(), legacy(1))));
        assert_eq!(case.actions(), [Action::Touch { machine: "m-1".into() }]);
    }
}

#[test]
fn a_seed_that_the_shoot_leaves_does_nothing() {
    type Change = fn(&mut Case);
    let leaves: [Change; 6] = [
        |case| change(case, |f| f.workers.get_mut("w").unwrap().operation = "migrate".into()),
        |case| change(case, |f| f.workers.get_mut("w").unwrap().operation = "wait-for-state".into()),
        |case| change(case, |f| f.cluster.as_mut().unwrap().shoot_spec_seed = "seed-two".into()),
        |case| {
            change(case, |f| {
                f.cluster.as_mut().unwrap().shoot_last_operation = last_operation("Migrate", "Processing");
            });
        },
        |case| change(case, |f| f.cluster = None),
        |case| change(case, |f| f.workers.clear()),
    ];
    for leave in leaves {
        let all = [labelling(), in_flight(), rolled(), armed(&[("m-0", legacy(0))], vec![])];
        for mut case in all {
            leave(&mut case);
            assert!(case.plan().is_err());
        }
    }
}

#[test]
fn a_restored_machine_without_an_id_and_a_slow_restore_are_alarms() {
    let mut case = armed(&[("m-0", without_id()), ("m-1", legacy(1))], vec![]);
    case.restoring = true;
    change(&mut case, |f| f.workers.get_mut("w").unwrap().operation = "restore".into());
    assert_eq!(case.waits("m-0"), ["in-flight-unresolved (its class is `stackit` already)"]);
    assert_eq!(case.waits(""), ["restore-slow"]);
    case.looks.remove(0);
    assert_eq!(case.waits(""), [""; 0]);
}

// 8. Back and forward again.

#[test]
fn on_the_way_back_and_while_paused_nothing_is_done() {
    for case in [labelling(), in_flight(), rolled(), armed(&[("m-0", legacy(0))], vec![])] {
        let mut back = case.clone();
        change(&mut back, |f| f.namespace.as_mut().unwrap().guard = Some(GuardLabel::RollingBack));
        assert_eq!((planned(&back), back.waits("")), (vec![], vec!["rolling-back".to_owned()]));
        let mut paused = case;
        change(&mut paused, |f| f.migration.get_or_insert_default().paused = true);
        assert_eq!((planned(&paused), paused.waits("")), (vec![], vec!["paused".to_owned()]));
    }
}

#[test]
fn a_legacy_machine_whose_server_carries_a_class_label_is_an_alarm_and_is_rewritten() {
    let case = armed(&[("m-0", legacy(0))], vec![labelled(server(0, "m-0"), CLASS)]);
    assert_eq!(planned(&case), ["touch"]);
    assert!(case.waits("m-0").contains(&format!("legacy-labelled ({CLASS})")), "{:?}", case.waits("m-0"));
}

// 9. A class that is left behind.

#[test]
fn a_class_is_not_retired_before_gardener_has_switched_all_that_it_wants() {
    type Change = fn(&mut Case);
    let early: [Change; 5] = [
        |case| change(case, |f| f.workers.get_mut("w").unwrap().wanted_machine_deployments.clear()),
        |case| change(case, |f| f.workers.get_mut("w").unwrap().wanted_machine_deployments.push("to-come".into())),
        |case| change(case, |f| drop(f.machine_deployments.insert("md".into(), CLASS.into()))),
        |case| change(case, |f| drop(f.machine_deployments.insert("md".into(), "unknown".into()))),
        |case| change(case, |f| drop(f.machines.insert("m-1".into(), without_id()))),
    ];
    for change in early {
        let mut case = rolled();
        change(&mut case);
        assert!(case.actions().iter().all(|action| action.step() != "retire"), "{:?}", case.facts);
        assert!(!case.waits(CLASS).is_empty());
    }
    let mut settled = rolled();
    change(&mut settled, |f| drop(f.machines.insert("m-1".into(), MachineFacts { settled: true, ..without_id() })));
    assert_eq!(planned(&settled), ["retire"]);
}

#[test]
fn a_terminating_worker_wants_nothing_and_its_last_class_gets_a_region_alone() {
    let mut case = before_the_flip(&[("m-0", MachineFacts { terminating: true, ..legacy(0) })], vec![]);
    change(&mut case, |f| f.workers.get_mut("w").unwrap().terminating = true);
    let provider_spec = json!({"region": "eu01"});
    assert_eq!(case.actions(), [Action::Retire { class: CLASS.into(), sibling: None, provider_spec }]);
    // Its region is not known: better nothing.
    let nowhere = ClassDetails::of("OpenStack", json!({"spec": {"region": "Nowhere"}}));
    case.classes.insert(CLASS.into(), nowhere);
    assert_eq!((planned(&case), case.waits(CLASS)), (vec![], vec!["region-unknown (Nowhere)".to_owned()]));
}

// 10. A pod that is gone is not a process that is dead.

#[test]
fn a_shoot_is_armed_only_when_every_node_was_ready_long_enough() {
    let mut case = armed(&[("m-0", legacy(0))], vec![server(0, "m-0")]);
    change(&mut case, |f| f.migration.as_mut().unwrap().armed = false);
    for (since, expected) in [
        ([Some(0), Some(0)], vec!["arm"]),
        ([Some(0), Some(NOW - 120)], vec!["arm"]),
        ([Some(0), Some(NOW - 119)], vec![]),
        ([Some(0), None], vec![]),
    ] {
        case.nodes = Some(nodes(&since));
        assert_eq!(planned(&case), expected, "{since:?}");
    }
    case.nodes = None;
    assert_eq!(planned(&case), [""; 0]);
    case.nodes = Some(nodes(&[Some(0), None]));
    case.settings.nodes.except = vec!["n-1".to_owned()];
    assert_eq!(planned(&case), ["arm"]);
}

#[test]
fn the_time_counts_from_where_the_last_openstack_pod_was_seen_gone() {
    let mut case = armed(&[("m-0", legacy(0))], vec![server(0, "m-0")]);
    change(&mut case, |f| f.migration.as_mut().unwrap().armed = false);
    let mut look = case.looks[1].clone();
    (look.at, case.looks[0].at) = (secs(NOW - 119), secs(NOW - 200));
    case.looks[0].facts.mcm_pods.insert("old".into(), pod("o", "n-1", OPENSTACK));
    case.looks.insert(1, look);
    assert_eq!(planned(&case), [""; 0]);
    case.looks[1].at = secs(NOW - 120);
    assert_eq!(planned(&case), ["arm"]);
}

// 11. Old data: an old ID that is written back behind the guard's back is a legacy Machine again.

#[test]
fn a_legacy_machine_in_a_finished_shoot_takes_the_mark_back_and_is_rewritten() {
    let mut case = armed(&[("m-0", legacy(0))], vec![labelled(server(0, "m-0"), CLASS)]);
    change(&mut case, |f| {
        f.migration.as_mut().unwrap().labelled = true;
        f.workers.get_mut("w").unwrap().marked = true;
        f.mcm_pods.insert("mcm-1".into(), pod("b", "n-1", STACKIT));
    });
    assert_eq!(planned(&case), ["touch", "uncomplete"]);
    let report = case.report(&case.plan().unwrap());
    assert!(report.conditions.iter().all(|say| say.type_ != "Complete" || !say.holds));
}
