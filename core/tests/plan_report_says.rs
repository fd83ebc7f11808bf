//! What the status of a MachineMigration says, state by state, from plans made by hand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::decide::{Because, MachineFacts, WorkerFacts};
use mcm_migration_core::domain::{Exception, GuardLabel, Reason};
use mcm_migration_core::plan::{Kind, Phase, Plan, Proof, Report, Wait};
use side_task::Case;
use side_task::example::{OPENSTACK, armed, change, legacy, rewritten};

fn wait(kind: Kind, name: &str, because: Because) -> Wait {
    Wait { kind, name: name.into(), because }
}

/// `type=holds/reason`, in the order in which they are said.
fn said(report: &Report) -> Vec<String> {
    let say = |say: &mcm_migration_core::plan::Say| format!("{}={}/{}", say.type_, say.holds, say.reason);
    report.conditions.iter().map(say).collect()
}

fn message(report: &Report, type_: &str) -> String {
    report.conditions.iter().find(|say| say.type_ == type_).map(|say| say.message.clone()).unwrap_or_default()
}

/// One Machine that is done and a Worker that is marked.
fn finished() -> Case {
    let mut case = armed(&[("m-0", MachineFacts { marked: false, ..rewritten(0) })], vec![]);
    change(&mut case, |facts| {
        facts.migration.as_mut().unwrap().labelled = true;
        facts.workers.get_mut("w").unwrap().marked = true;
    });
    case
}

fn migrating() -> Case {
    armed(
        &[("m-0", legacy(0)), ("m-1", MachineFacts { terminating: true, ..legacy(1) }), ("m-2", rewritten(2))],
        vec![],
    )
}

#[test]
fn a_finished_shoot_is_complete() {
    let case = finished();
    let report = case.report(&Plan { labelled: 1, ..Plan::default() });
    let expected = [
        "Guarded=true/guarded",
        "Rewritten=true/rewritten",
        "Labelled=true/labelled",
        "Complete=true/complete",
        "Paused=false/not-paused",
    ];
    assert_eq!(said(&report), expected);
    assert_eq!((report.phase, report.reason), (Phase::Complete, None));
}

#[test]
fn each_thing_that_is_missing_keeps_a_shoot_from_being_complete() {
    let phase = |change_it: &dyn Fn(&mut Case), plan: &Plan| {
        let mut case = finished();
        change_it(&mut case);
        let report = case.report(plan);
        let complete = report.conditions.iter().find(|say| say.type_ == "Complete").unwrap();
        assert_eq!(complete.holds, report.phase == Phase::Complete);
        assert_eq!(report.reason.is_none(), complete.holds);
        (report.phase, complete.reason)
    };
    let done = Plan::default();
    assert_eq!(phase(&|_| (), &done), (Phase::Complete, Reason::Complete));
    let unmarked = |case: &mut Case| case.facts.workers.get_mut("w").unwrap().marked = false;
    assert_eq!(phase(&unmarked, &done), (Phase::Labelled, Reason::LabelsUnconfirmed));
    assert_eq!(phase(&|case| case.facts.workers.clear(), &done).0, Phase::Labelled);
    let second_worker = |case: &mut Case| drop(case.facts.workers.insert("w-2".into(), WorkerFacts::default()));
    assert_eq!(phase(&second_worker, &done).0, Phase::Labelled);
    let open = |case: &mut Case| case.facts.namespace.as_mut().unwrap().guard = None;
    assert_eq!(phase(&open, &done).0, Phase::Pending);
    let back = |case: &mut Case| case.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::RollingBack);
    assert_eq!(phase(&back, &done), (Phase::RollingBack, Reason::RollingBack));
    let one_is_legacy = |case: &mut Case| drop(case.facts.machines.insert("m-1".into(), legacy(1)));
    assert_eq!(phase(&one_is_legacy, &done), (Phase::Armed, Reason::MachinesLegacy));
    let one_waits =
        Plan { waits: vec![wait(Kind::Machine, "m-0", Because::of(Reason::Quarantined))], ..Plan::default() };
    assert_eq!(phase(&|_| (), &one_waits), (Phase::Rewritten, Reason::Quarantined));
}

#[test]
fn what_is_not_known_of_labels_leaves_the_condition_as_it_is() {
    let unknown = Plan { unknown: 1, ..Plan::default() };
    let mut case = finished();
    let report = case.report(&unknown);
    assert!(!said(&report).iter().any(|say| say.starts_with("Labelled")));
    assert_eq!(report.phase, Phase::Complete, "the condition held before");
    case.facts.migration.as_mut().unwrap().labelled = false;
    assert_eq!(case.report(&unknown).phase, Phase::Rewritten);
    for change_it in [
        (|case| case.facts.migration.as_mut().unwrap().paused = true) as fn(&mut Case),
        |case| case.facts.cluster = None,
        |case| case.facts.mcm_deployment.as_mut().unwrap().openstack = true,
        |case| case.facts.mcm_pods.get_mut("mcm-0").unwrap().containers = OPENSTACK,
        |case| case.facts.namespace.as_mut().unwrap().guard = None,
    ] {
        let mut case = finished();
        change_it(&mut case);
        assert!(!said(&case.report(&Plan::default())).iter().any(|say| say.starts_with("Labelled")));
    }
}

#[test]
fn the_phase_before_the_rewrite_is_the_one_of_the_gate() {
    let mut case = migrating();
    assert_eq!(case.report(&Plan::default()).phase, Phase::Armed);
    case.facts.migration.as_mut().unwrap().armed = false;
    assert_eq!(case.report(&Plan::default()).phase, Phase::Guarded);
    case.facts.namespace.as_mut().unwrap().guard = None;
    assert_eq!(case.report(&Plan::default()).phase, Phase::Pending);
}

#[test]
fn a_migrating_shoot_says_how_many_are_where() {
    let waits = vec![
        wait(Kind::Shoot, "", Because::of(Reason::SeedNodeLost)),
        wait(Kind::Machine, "m-0", Because::of(Reason::RewritePending)),
        wait(Kind::Machine, "m-1", Because::of(Reason::RewritePending)),
        wait(Kind::Machine, "m-2", Because::of(Reason::Quarantined)),
        wait(Kind::MachineClass, "pool-b", Because::of(Reason::ClassStillWanted)),
    ];
    let mut case = migrating();
    case.facts.machines.get_mut("m-2").unwrap().exception = Some(Exception::of("server-gone"));
    let report = case.report(&Plan { waits, labelled: 1, ..Plan::default() });
    let counts = &report.counts;
    assert_eq!((counts.total, counts.legacy, counts.terminating_legacy), (3, 2, 1));
    assert_eq!((counts.quarantined, counts.labelled, counts.exceptions), (1, 1, 1));
    assert_eq!(counts.waiting, [(Reason::RewritePending, 2), (Reason::Quarantined, 1)].into());
    assert_eq!(report.exceptions, [("m-2".into(), Exception::of("server-gone"))]);
    assert_eq!(message(&report, "Rewritten"), "2 of 3 Machines have a legacy ID.");
    // The shoot's own reason comes before those of its Machines.
    assert_eq!(report.reason, Some(Reason::SeedNodeLost));
}

#[test]
fn without_a_reason_of_the_shoot_the_one_of_most_machines_is_shown() {
    let mut case = finished();
    case.facts.machines.get_mut("m-0").unwrap().marked = true;
    let quarantined = wait(Kind::Machine, "m-0", Because::about(Reason::Quarantined, "m-0"));
    let gone = |name| wait(Kind::Machine, name, Because::about(Reason::ServerGone, name));
    let waits = vec![quarantined, gone("m-1"), gone("m-2")];
    let report = case.report(&Plan { waits, ..Plan::default() });
    assert_eq!(report.reason, Some(Reason::ServerGone));
    let meaning = Reason::ServerGone.meaning().trim_end_matches('.');
    let about = format!("{meaning} (m-1).");
    assert_eq!(message(&report, "Complete"), about);
    assert_eq!(message(&report, "Labelled"), format!("0 of 1 Machines' servers carry every label; {about}"));
    assert!(said(&report).contains(&"Labelled=false/server-gone".to_owned()));
}

#[test]
fn the_guard_is_said_to_hold_only_when_it_is_closed_and_proved() {
    let guarded = |guard: Option<GuardLabel>, proof: Proof| {
        let mut case = migrating();
        case.facts.namespace.as_mut().unwrap().guard = guard;
        case.proof = proof;
        said(&case.report(&Plan::default())).into_iter().find(|say| say.starts_with("Guarded"))
    };
    let closed = Some(GuardLabel::Closed);
    let fails = || Proof::Fails(Because::of(Reason::GuardUnproven));
    assert_eq!(guarded(closed, Proof::Holds).as_deref(), Some("Guarded=true/guarded"));
    assert_eq!(guarded(closed, Proof::Unasked), None);
    assert_eq!(guarded(closed, fails()).as_deref(), Some("Guarded=false/guard-unproven"));
    for proof in [Proof::Holds, Proof::Unasked] {
        assert_eq!(guarded(None, proof).as_deref(), Some("Guarded=false/no-guard"));
    }
    for proof in [Proof::Holds, Proof::Unasked, fails()] {
        assert_eq!(guarded(Some(GuardLabel::RollingBack), proof), None);
    }
}

#[test]
fn not_armed_is_said_with_what_it_waits_for_unless_it_is_paused_or_on_its_way_back() {
    let say = |change_it: fn(&mut Case), plan: &Plan| {
        let mut case = migrating();
        case.facts.migration.as_mut().unwrap().armed = false;
        change_it(&mut case);
        let report = case.report(plan);
        (said(&report).into_iter().find(|say| say.starts_with("Armed")), message(&report, "Armed"))
    };
    let nothing = Plan::default();
    assert_eq!(say(|_| (), &nothing).0.as_deref(), Some("Armed=false/not-armed"));
    assert_eq!(say(|case| case.facts.migration.as_mut().unwrap().armed = true, &nothing).0, None);
    assert_eq!(say(|case| case.facts.migration.as_mut().unwrap().paused = true, &nothing).0, None);
    let back = |case: &mut Case| case.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::RollingBack);
    assert_eq!(say(back, &nothing).0, None);
    let (said, message) = say(|case| case.facts.machines.clear(), &nothing);
    assert_eq!(said.as_deref(), Some("Armed=false/guarded"));
    assert_eq!(message, "No Machine has a legacy ID or the marker: nothing to arm for.");
    let lost = Plan { waits: vec![wait(Kind::Shoot, "", Because::about(Reason::SeedNodeLost, "n-0"))], ..nothing };
    let (said, message) = say(|_| (), &lost);
    assert_eq!(said.as_deref(), Some("Armed=false/seed-node-lost"));
    assert_eq!(message, format!("{} (n-0).", Reason::SeedNodeLost.meaning().trim_end_matches('.')));
}

#[test]
fn a_pause_is_said() {
    let mut case = migrating();
    case.facts.migration.as_mut().unwrap().paused = true;
    let report = case.report(&Plan::default());
    assert!(said(&report).contains(&"Paused=true/paused".to_owned()));
}

#[test]
fn twenty_exceptions_are_named_and_all_are_counted() {
    let mut case = finished();
    for n in 0..25 {
        let machine = MachineFacts { exception: Some(Exception::of("because")), ..rewritten(n) };
        case.facts.machines.insert(format!("x-{n:02}").into(), machine);
    }
    let report = case.report(&Plan::default());
    assert_eq!((report.counts.exceptions, report.exceptions.len()), (25, Report::EXCEPTIONS));
    assert_eq!(&*report.exceptions[0].0, "x-00");
}

#[test]
fn the_reason_of_most_machines_is_shown_whatever_its_place_in_the_list() {
    let case = finished();
    let one = |name, reason| wait(Kind::Machine, name, Because::of(reason));
    for (most, least) in [(Reason::Quarantined, Reason::ServerGone), (Reason::ServerGone, Reason::Quarantined)] {
        let waits = vec![one("m-1", most), one("m-2", least), one("m-3", most)];
        assert_eq!(case.report(&Plan { waits, ..Plan::default() }).reason, Some(most));
    }
}
