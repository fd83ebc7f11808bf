//! Small shoots in which one thing decides what is planned, and what is said while nothing is.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use std::sync::Arc;

use mcm_migration_core::decide::{Because, MachineFacts};
use mcm_migration_core::domain::{GuardLabel, Reason, Server, ServerStatus};
use mcm_migration_core::plan::{Action, Finding, Kind, Listed, PROBES, Proof, Settings, Wait, is_armed};
use side_task::example::{
    CLASS, NOW, OPENSTACK, armed, before_the_flip, change, labelled, legacy, pod, rewritten, server, without_id,
};
use side_task::{Case, eu01, openstack_class, secs, server_id, stackit_class, steps};

fn finished(n: usize) -> MachineFacts {
    MachineFacts { marked: false, ..rewritten(n) }
}

/// A server with every label that the Machine of its name must have.
fn with_all_labels(n: usize, name: &str) -> Server {
    let mut server = labelled(server(n, name), CLASS);
    server.labels.insert("kubernetes.io/machine".into(), name.into());
    server.labels.insert("kubernetes.io/cluster".into(), "shoot--p--s".into());
    server
}

fn reasons(case: &Case, name: &str) -> Vec<String> {
    case.waits(name)
}

#[test]
fn what_never_migrates_says_nothing_until_it_is_guarded() {
    let mut case = armed(&[("m-0", MachineFacts { migrated: false, ..finished(0) })], vec![]);
    assert_eq!(reasons(&case, ""), ["nothing-to-migrate"]);
    change(&mut case, |facts| {
        facts.namespace.as_mut().unwrap().guard = None;
        facts.migration = None;
    });
    assert!(reasons(&case, "").is_empty());
    case.facts.machines.insert("m-1".into(), legacy(1));
    case.facts.mcm_deployment.as_mut().unwrap().openstack = true;
    assert_eq!(reasons(&case, ""), ["openstack-mcm-deployed"]);
}

#[test]
fn a_guard_that_is_closed_is_probed_also_where_nothing_is_left_to_migrate() {
    let mut case = armed(&[("m-0", MachineFacts { migrated: false, ..finished(0) })], vec![]);
    for (proof, probes) in [(Proof::Unasked, true), (Proof::Holds, false)] {
        case.proof = proof;
        assert_eq!(steps(&case.actions()).contains(&"probe"), probes);
    }
    case.proof = Proof::Unasked;
    case.facts.namespace.as_mut().unwrap().guard = None;
    assert!(!steps(&case.actions()).contains(&"probe"));
}

#[test]
fn nothing_is_touched_where_the_operator_does_not_want_it() {
    let mut case = armed(&[("m-0", legacy(0))], vec![]);
    assert!(steps(&case.actions()).contains(&"touch"));
    assert_eq!(reasons(&case, "m-0"), ["rewrite-pending"]);
    case.settings.touch = false;
    assert!(!steps(&case.actions()).contains(&"touch"));
    assert_eq!(reasons(&case, "m-0"), ["touch-off"]);
}

#[test]
fn a_class_takes_over_from_one_of_its_own_pool_and_zone_first() {
    let sibling = |left: &str, stackit: &[&str]| {
        let mut case = armed(&[("m-0", legacy(0))], vec![]);
        case.classes = stackit.iter().map(|name| ((*name).into(), stackit_class())).collect();
        case.classes.insert(left.into(), openstack_class());
        let classes = side_task::providers(&case.classes);
        change(&mut case, |facts| {
            facts.classes = classes.clone();
            facts.machine_deployments = [("md".into(), stackit[0].into())].into();
            facts.workers.get_mut("w").unwrap().wanted_machine_deployments = vec!["md".into()];
        });
        case.actions().into_iter().find_map(|action| match action {
            Action::Retire { class, sibling, .. } if &*class == left => sibling,
            _ => None,
        })
    };
    assert_eq!(sibling("b-z1-old", &["a-z1-new", "b-z1-new", "b-z2-new"]).as_deref(), Some("b-z1-new"));
    assert_eq!(sibling("c-z1-old", &["a-z1-new", "b-z1-new"]).as_deref(), Some("a-z1-new"));
    // A name without a hash is of no pool.
    assert_eq!(sibling("old", &["a-z1-new", "new"]).as_deref(), Some("a-z1-new"));
}

#[test]
fn a_server_that_is_being_made_is_waited_for_and_then_told() {
    let case = |status: ServerStatus, at: u64| {
        let mut case = before_the_flip(&[("m-0", without_id())], vec![Server { status, ..server(0, "m-0") }]);
        // OpenStack's provider is gone since 100 s.
        case.now = secs(at);
        case.cloud.lists.get_mut(&eu01()).unwrap().at = secs(at);
        case.looks.retain(|look| look.at <= secs(at));
        case
    };
    let early = case(ServerStatus::Creating, 699);
    assert_eq!(reasons(&early, "m-0"), ["in-flight"]);
    assert_eq!(early.plan().unwrap().next, Some(secs(1)));
    for late in [700, 701] {
        let late = case(ServerStatus::Creating, late);
        assert_eq!(reasons(&late, "m-0"), ["in-flight-unresolved (its server is Creating for too long)"]);
    }
    assert_eq!(steps(&case(ServerStatus::Error, 699).actions()), ["settle"]);
}

fn looked_at(machine: MachineFacts, servers: Vec<Server>) -> Case {
    armed(&[("m-0", machine)], servers)
}

#[test]
fn a_marker_goes_when_every_label_is_in_place() {
    let case = looked_at(rewritten(0), vec![with_all_labels(0, "m-0")]);
    assert_eq!(steps(&case.actions()), ["clear"]);
    let plan = case.plan().unwrap();
    assert_eq!((plan.labelled, plan.unknown), (1, 0));
    let two = armed(
        &[("m-0", rewritten(0)), ("m-1", finished(1))],
        vec![with_all_labels(0, "m-0"), with_all_labels(1, "m-1")],
    );
    assert_eq!(two.plan().unwrap().labelled, 2);
}

#[test]
fn what_nobody_can_look_at_is_unknown_of_a_finished_machine_and_waits_for_a_marked_one() {
    let because = Because::about(Reason::CloudUnavailable, "eu01");
    let mut case = armed(&[("m-0", finished(0)), ("m-1", finished(1))], vec![]);
    case.cloud.troubles.insert(eu01(), because.clone());
    let plan = case.plan().unwrap();
    assert_eq!((plan.labelled, plan.unknown), (0, 2));
    let wait = Wait { kind: Kind::Shoot, name: "".into(), because: because.clone() };
    assert_eq!(plan.waits.iter().filter(|found| **found == wait).count(), 1, "said once");
    for machine in ["m-0", "m-1"] {
        case.facts.machines.get_mut(machine).unwrap().marked = true;
        assert_eq!(case.waits(machine), [because.to_string()]);
    }
    assert_eq!(case.plan().unwrap().unknown, 0);
}

#[test]
fn labels_are_looked_at_again_when_the_list_is_as_old_as_the_drift() {
    let plan = |age: u64| {
        let mut case = armed(&[("m-0", finished(0)), ("m-1", finished(1))], vec![]);
        case.now = secs(10_000);
        let servers = [with_all_labels(0, "m-0"), with_all_labels(1, "m-1")];
        case.cloud.lists.insert(eu01(), Listed::new(servers, secs(10_000 - age)));
        case.cloud.parts.values_mut().for_each(|listed| listed.at = case.now);
        let plan = case.plan().unwrap();
        (steps(&plan.actions).contains(&"list"), plan.labelled, plan.unknown)
    };
    assert_eq!(plan(3_599), (false, 2, 0));
    assert_eq!(plan(3_600), (true, 0, 2));
}

#[test]
fn a_server_of_somebody_else_that_carries_the_label_of_the_class_stops_labelling() {
    let reason = |other: Server, machines: &[(&str, MachineFacts)]| {
        let mut machines = machines.to_vec();
        machines.push(("m-0", rewritten(0)));
        let mut case = armed(&machines, vec![server(0, "m-0"), other]);
        // Long enough after the ID was seen, with a Lease that is renewed.
        for at in [1_000, 1_500] {
            let mut look = case.looks[0].clone();
            look.at = secs(at);
            look.lease = Some(Some(side_task::example::lease("mcm-0", at)));
            case.looks.insert(case.looks.len() - 1, look);
        }
        assert_eq!(case.now, secs(NOW));
        (case.waits("m-0"), steps(&case.actions()).contains(&"label"))
    };
    let foreign = labelled(server(7, "x"), CLASS);
    let stopped = vec![format!("class-label-foreign ({})", server_id(7))];
    assert_eq!(reason(foreign.clone(), &[]), (stopped, false));
    let unconfirmed = (vec!["labels-unconfirmed".to_owned()], true);
    assert_eq!(reason(server(7, "x"), &[]), unconfirmed, "without the label");
    assert_eq!(reason(labelled(server(7, "x"), "another-class"), &[]), unconfirmed);
    assert_eq!(reason(Server { status: ServerStatus::Deleting, ..foreign.clone() }, &[]), unconfirmed);
    assert_eq!(reason(foreign.clone(), &[("x", legacy(7))]), unconfirmed, "a Machine's own");
    assert_eq!(reason(foreign.clone(), &[("x", MachineFacts { settled: true, ..without_id() })]), unconfirmed);
    let other_machine = reason(foreign, &[("y", MachineFacts { settled: true, ..without_id() })]);
    assert_eq!(other_machine, (vec![format!("class-label-foreign ({})", server_id(7))], false));
}

#[test]
fn whose_a_labelled_server_is_is_not_judged_by_a_list_from_before() {
    // The Machine `x` of the LIST's time went with its server in a roll-out.
    let mut case = armed(&[("m-0", rewritten(0))], vec![server(0, "m-0"), labelled(server(7, "x"), CLASS)]);
    for at in [1_000, 1_500] {
        let mut look = case.looks[0].clone();
        look.at = secs(at);
        look.lease = Some(Some(side_task::example::lease("mcm-0", at)));
        case.looks.insert(case.looks.len() - 1, look);
    }
    let mut listed_at = |at: u64| {
        case.cloud.lists.get_mut(&eu01()).unwrap().at = secs(at);
        (case.waits("m-0"), steps(&case.actions()))
    };
    assert_eq!(listed_at(NOW - 61), (vec!["labels-unconfirmed".to_owned()], vec!["list"]));
    assert_eq!(listed_at(NOW - 60).0, [format!("class-label-foreign ({})", server_id(7))]);
}

#[test]
fn a_legacy_machine_whose_server_carries_a_class_label_is_told() {
    let case = looked_at(legacy(0), vec![labelled(server(0, "m-0"), CLASS)]);
    assert!(reasons(&case, "m-0").contains(&format!("legacy-labelled ({CLASS})")));
    let case = looked_at(legacy(0), vec![server(0, "m-0"), labelled(server(1, "m-1"), CLASS)]);
    assert_eq!(reasons(&case, "m-0"), ["rewrite-pending"]);
}

#[test]
fn it_is_told_before_the_flip_from_the_switch_of_the_deployment_on() {
    let mut case = before_the_flip(&[("m-0", legacy(0))], vec![labelled(server(0, "m-0"), CLASS)]);
    let told = format!("legacy-labelled ({CLASS})");
    assert!(reasons(&case, "m-0").contains(&told), "{:?}", case.plan());
    // While a pod of OpenStack is left, too.
    let mut alive = case.clone();
    change(&mut alive, |facts| drop(facts.mcm_pods.insert("old".into(), pod("o", "n-1", OPENSTACK))));
    assert!(reasons(&alive, "m-0").contains(&told));
    case.cloud.lists.clear();
    assert!(steps(&case.actions()).contains(&"list"));
    change(&mut case, |facts| facts.mcm_deployment = Some(OPENSTACK));
    assert_eq!(steps(&case.actions()), [""; 0], "it is not switched");
}

#[test]
fn a_worker_is_marked_when_the_guard_is_closed_and_every_label_is_in_place() {
    let marks = |change_it: fn(&mut Case)| {
        let mut case = looked_at(finished(0), vec![with_all_labels(0, "m-0")]);
        case.facts.migration.as_mut().unwrap().labelled = true;
        change_it(&mut case);
        let of_workers = |action: &Action| match action {
            Action::MarkWorker { worker } => Some(format!("mark {worker}")),
            Action::UnmarkWorker { worker } => Some(format!("unmark {worker}")),
            _ => None,
        };
        case.actions().iter().filter_map(of_workers).collect::<Vec<_>>()
    };
    assert_eq!(marks(|_| ()), ["mark w"]);
    assert!(marks(|case| case.facts.workers.get_mut("w").unwrap().marked = true).is_empty());
    assert!(marks(|case| case.facts.migration = None).is_empty());
    assert!(marks(|case| case.facts.migration.as_mut().unwrap().labelled = false).is_empty());
    assert!(marks(|case| case.facts.namespace.as_mut().unwrap().guard = None).is_empty());
    assert!(marks(|case| case.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::Unknown)).is_empty());
    assert!(marks(|case| case.cloud.lists.clear()).is_empty(), "labels that nobody has looked at");
    assert!(
        marks(|case| case.cloud.lists.get_mut(&eu01()).unwrap().servers = Arc::default()).is_empty(),
        "a server that is gone"
    );
    let open = |case: &mut Case| {
        case.facts.workers.get_mut("w").unwrap().marked = true;
        case.facts.machines.insert("m-1".into(), legacy(1));
    };
    assert_eq!(marks(open), ["unmark w"]);
}

#[test]
fn each_probe_says_what_it_tries() {
    let tries: Vec<_> = PROBES.iter().map(|probe| probe.tries()).collect();
    let expected = [
        "creating an OpenStack MachineClass",
        "turning a MachineClass to OpenStack",
        "changing a rewritten Machine's provider ID",
        "removing the guard's label",
    ];
    assert_eq!(tries, expected);
}

#[test]
fn admission_rewrites_behind_a_closed_guard_while_armed() {
    let mut case = armed(&[("m-0", legacy(0))], vec![]);
    assert!(is_armed(&case.facts));
    case.facts.migration.as_mut().unwrap().armed = false;
    assert!(!is_armed(&case.facts));
    case.facts.migration.as_mut().unwrap().armed = true;
    for guard in [None, Some(GuardLabel::RollingBack), Some(GuardLabel::Unknown)] {
        case.facts.namespace.as_mut().unwrap().guard = guard;
        assert!(!is_armed(&case.facts), "{guard:?}");
    }
    case.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::Closed);
    case.facts.migration = None;
    assert!(!is_armed(&case.facts));
}

#[test]
fn a_step_that_failed_is_left_out_and_said_of_what_it_is_about() {
    let held = |case: &Case, step: fn(&Action) -> bool| {
        let mut case = case.clone();
        let action = case.actions().into_iter().find(step).unwrap();
        case.backoff.failed(&action, Because::of(Reason::WriteFailed), case.now, 1.0);
        let plan = case.plan().unwrap();
        assert!(!plan.actions.contains(&action));
        assert_eq!(plan.next, Some(secs(5)));
        let wait = plan.waits.into_iter().find(|wait| wait.because.reason == Reason::WriteFailed).unwrap();
        (wait.kind, wait.name.into_string())
    };
    let touch = armed(&[("m-0", legacy(0))], vec![]);
    assert_eq!(held(&touch, |action| matches!(action, Action::Touch { .. })), (Kind::Machine, "m-0".to_owned()));
    let mut list = touch.clone();
    list.cloud.lists.clear();
    assert_eq!(held(&list, |action| matches!(action, Action::List { .. })), (Kind::Shoot, String::new()));
    let mut done = looked_at(finished(0), vec![with_all_labels(0, "m-0")]);
    done.facts.migration.as_mut().unwrap().labelled = true;
    assert_eq!(held(&done, |action| matches!(action, Action::MarkWorker { .. })), (Kind::Shoot, String::new()));
    let mut left = before_the_flip(&[("m-0", legacy(0))], vec![]);
    change(&mut left, |facts| facts.workers.get_mut("w").unwrap().terminating = true);
    assert_eq!(held(&left, |action| matches!(action, Action::Retire { .. })), (Kind::MachineClass, CLASS.to_owned()));
}

#[test]
fn a_region_that_cannot_be_listed_is_passed_over_again_when_its_pause_is_over() {
    let mut case = looked_at(rewritten(0), vec![server(0, "m-0")]);
    let because = Because::of(Reason::CloudUnavailable);
    case.cloud.troubles.insert(eu01(), because.clone());
    case.backoff.failed(&Action::List { region: eu01() }, because, case.now, 1.0);
    let plan = case.plan().unwrap();
    assert_eq!((case.waits("m-0"), plan.next), (vec!["cloud-unavailable".to_owned()], Some(secs(5))));
    assert!(plan.actions.is_empty(), "{:?}", plan.actions);
}

#[test]
fn machines_that_are_terminating_are_touched_first() {
    let case = armed(&[("m-0", legacy(0)), ("m-1", MachineFacts { terminating: true, ..legacy(1) })], vec![]);
    let touched: Vec<_> = case.actions().into_iter().filter(|action| matches!(action, Action::Touch { .. })).collect();
    assert_eq!(touched, ["m-1", "m-0"].map(|machine| Action::Touch { machine: machine.into() }));
}

#[test]
fn a_restore_is_slow_only_while_legacy_machines_are_left_after_ten_minutes() {
    let slow = |restoring: bool, machine: MachineFacts, now: u64| {
        let mut case = armed(&[("m-0", machine)], vec![]);
        if restoring {
            change(&mut case, |facts| facts.workers.get_mut("w").unwrap().operation = "restore".into());
        }
        (case.restoring, case.now) = (true, secs(now));
        case.looks.truncate(1);
        case.waits("").contains(&"restore-slow".to_owned())
    };
    assert!(slow(true, legacy(0), 700));
    assert!(!slow(true, legacy(0), 699));
    assert!(!slow(true, finished(0), 700));
    assert!(!slow(false, legacy(0), 700));
}

#[test]
fn what_several_machines_say_of_the_shoot_is_said_once_and_other_things_are_said_too() {
    let us = |region: &str| mcm_migration_core::domain::Region::parse(region).unwrap();
    let mut case = armed(&[("m-0", finished(0)), ("m-1", finished(1)), ("m-2", finished(2))], vec![]);
    let mut class = stackit_class();
    class.region = "us01".into();
    case.classes.insert("pool-b".into(), class);
    change(&mut case, |facts| {
        facts.classes.insert("pool-b".into(), mcm_migration_core::domain::Provider::Stackit);
        facts.machines.get_mut("m-2").unwrap().class = "pool-b".into();
    });
    for region in ["eu01", "us01"] {
        case.cloud.troubles.insert(us(region), Because::about(Reason::CloudUnavailable, region));
    }
    assert_eq!(case.waits(""), ["cloud-unavailable (eu01)", "cloud-unavailable (us01)"]);
}

#[test]
fn a_boot_volume_is_cared_for_before_the_marker_goes() {
    let mut case = looked_at(rewritten(0), vec![with_all_labels(0, "m-0")]);
    case.settings.boot_volume_care = true;
    assert_eq!(steps(&case.actions()), ["boot-volume"]);
    case.cloud.cared.insert(server_id(0));
    assert_eq!(steps(&case.actions()), ["clear"]);
}

#[test]
fn parts_are_looked_at_again_when_their_list_is_older_than_the_drift_and_may_not_be_acted_on() {
    let plan = |drift: u64, age: Option<u64>| {
        let mut case = armed(&[("m-0", finished(0)), ("m-1", finished(1))], vec![]);
        (case.now, case.settings.drift_every) = (secs(10_000), secs(drift));
        let servers = [with_all_labels(0, "m-0"), with_all_labels(1, "m-1")];
        case.cloud.lists.insert(eu01(), Listed::new(servers, case.now));
        match age {
            Some(age) => case.cloud.parts.values_mut().for_each(|listed| listed.at = secs(10_000 - age)),
            None => case.cloud.parts.clear(),
        }
        let plan = case.plan().unwrap();
        (steps(&plan.actions), plan.labelled, plan.unknown)
    };
    for (drift, age) in [(3_600, 3_600), (1, 60)] {
        assert_eq!(plan(drift, Some(age)), (vec![], 2, 0), "{drift} {age}");
        for age in [Some(age + 1), None] {
            assert_eq!(plan(drift, age), (vec!["list-nics", "list-volumes"], 2, 2), "{drift} {age:?}");
        }
    }
}

#[test]
fn nothing_is_found_of_a_server_that_nobody_can_look_at_or_whose_id_is_another() {
    let mut case = looked_at(finished(0), vec![with_all_labels(0, "m-0")]);
    assert_eq!(case.plan().unwrap().findings, [("m-0".into(), Finding::Fine)].into());
    case.cloud.lists.clear();
    assert_eq!(case.plan().unwrap().findings, [("m-0".into(), Finding::Unknown)].into());
    let mut other = case.clone();
    other.looks.iter_mut().for_each(|look| drop(look.facts.machines.insert("m-0".into(), finished(7))));
    assert!(other.plan().unwrap().findings.is_empty());
    case.cloud.troubles.insert(eu01(), Because::of(Reason::CloudUnavailable));
    assert!(case.plan().unwrap().findings.is_empty());
}

#[test]
fn nothing_is_done_to_the_server_of_a_machine_that_never_was_on_openstack() {
    let case = looked_at(MachineFacts { migrated: false, ..finished(0) }, vec![server(0, "m-0")]);
    let plan = case.plan().unwrap();
    assert!(plan.actions.is_empty() && plan.findings.is_empty());
    assert_eq!((plan.labelled, plan.unknown), (0, 0));
    assert!(case.waits("m-0").is_empty());
}

#[test]
fn a_step_that_fails_again_and_again_is_tried_every_five_minutes() {
    let case = armed(&[("m-0", legacy(0))], vec![]);
    let action = case.actions().into_iter().find(|action| matches!(action, Action::Touch { .. })).unwrap();
    let mut backoff = case.backoff.clone();
    let pauses = [5, 10, 20, 40, 80, 160, 300, 300].map(|pause| {
        backoff.failed(&action, Because::of(Reason::WriteFailed), case.now, 1.0);
        (backoff.held(&action, case.now).unwrap().1, secs(pause))
    });
    assert!(pauses.iter().all(|(is, wanted)| is == wanted), "{pauses:?}");
}

#[test]
fn a_quarantine_counts_as_safe_only_where_it_is_longer_than_a_watch() {
    assert!(Settings::SAFE_QUARANTINE > secs(10 * 60));
}
