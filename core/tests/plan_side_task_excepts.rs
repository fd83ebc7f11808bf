//! With `--force-after` a Machine whose own server is gone, or cannot be labelled, for so long no longer holds up the Worker; no other trouble ever
//! excuses one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use std::time::Duration;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{Exception, GuardLabel, Reason, Server, ServerStatus};
use mcm_migration_core::plan::{Action, Finding, Listed, Plan, Report, Seen, Settings, Shoot, plan};
use proptest::prelude::*;
use side_task::example::{NOW, armed, change, lease, rewritten, server};
use side_task::nearly::labelling_case;
use side_task::{Case, eu01, secs, server_id, steps};
use worlds::PROJECT;

const FORCE_AFTER: u64 = 3_600;

/// A leader that passes over one shoot again and again.
struct Leader {
    case: Case,
    seen: Seen,
}

impl Leader {
    /// Two Machines; the server of `m-0` is as given, that of `m-1` as it must be.
    fn of(first: Option<Server>) -> Self {
        let mut case = armed(&[("m-0", rewritten(0)), ("m-1", rewritten(1))], Vec::new());
        case.settings.force_after = Some(secs(FORCE_AFTER));
        let mut look = case.looks[1].clone();
        (look.at, look.lease) = (secs(NOW - 10), Some(Some(lease("mcm-0", NOW - 10))));
        case.looks.insert(1, look);
        case.cloud.lists.insert(eu01(), Listed::new(first.into_iter().chain([server(1, "m-1")]), secs(NOW)));
        let seen = case.seen();
        Self { case, seen }
    }

    /// One pass at a time after the first look, with a LIST that is as young.
    fn pass(&mut self, at: u64) -> Plan {
        self.case.cloud.lists.get_mut(&eu01()).unwrap().at = secs(NOW + at);
        self.case.cloud.parts.values_mut().for_each(|listed| listed.at = secs(NOW + at));
        self.pass_with_an_old_list(at)
    }

    fn pass_with_an_old_list(&mut self, at: u64) -> Plan {
        let now = secs(NOW + at);
        self.seen.observe(&self.case.facts, false, now);
        let shoot = Shoot {
            namespace: "shoot--p--s",
            facts: &self.case.facts,
            classes: &self.case.classes,
            seen: &self.seen,
            nodes: self.case.nodes.as_deref(),
            cloud: &self.case.cloud,
            proof: &self.case.proof,
            backoff: &self.case.backoff,
        };
        let plan = plan(&shoot, now, &self.case.settings).unwrap();
        self.seen.observe_troubles(&plan.findings, now);
        plan
    }

    fn excepts(&mut self, at: u64) -> Option<Reason> {
        excepted(&self.pass(at))
    }
}

fn excepted(plan: &Plan) -> Option<Reason> {
    plan.actions.iter().find_map(|action| match action {
        Action::Except { machine, server, reason, .. } => {
            assert_eq!((&**machine, *server), ("m-0", server_id(0)));
            Some(*reason)
        }
        _ => None,
    })
}

fn deallocated() -> Server {
    Server { status: ServerStatus::Deallocated, ..server(0, "m-0") }
}

#[test]
fn a_server_that_is_gone_or_deferred_for_long_enough_excepts_its_machine() {
    for (first, reason) in [(None, Reason::ServerGone), (Some(deallocated()), Reason::ServerDeferred)] {
        let mut leader = Leader::of(first);
        assert_eq!(leader.excepts(0), None);
        let plan = leader.pass(FORCE_AFTER - 1);
        assert_eq!((excepted(&plan), plan.next), (None, Some(secs(1))));
        assert_eq!(leader.excepts(FORCE_AFTER), Some(reason));
        // A new leader starts again.
        leader.seen = leader.case.seen();
        assert_eq!(leader.excepts(FORCE_AFTER + 1), None);
    }
}

#[test]
fn without_the_flag_nothing_is_ever_excepted() {
    let mut leader = Leader::of(None);
    leader.case.settings.force_after = None;
    assert_eq!(leader.excepts(0), None);
    assert_eq!(leader.excepts(100 * FORCE_AFTER), None);
}

#[test]
fn a_name_that_no_label_holds_counts_and_that_of_the_class_does_not() {
    let long = "m".repeat(64);
    let mut case = armed(&[(long.as_str(), rewritten(0))], vec![server(0, &long)]);
    case.settings.force_after = Some(secs(0));
    let plan = case.plan().unwrap();
    assert_eq!(plan.findings[&*long], Finding::Trouble);
    assert!(steps(&plan.actions).contains(&"except"), "{plan:?}");

    let (mut case, class) = of_a_class_that_no_label_holds();
    case.settings.force_after = Some(secs(0));
    assert_eq!(case.waits("m-0"), [format!("name-too-long ({class})")]);
    assert!(!steps(&case.actions()).contains(&"except"));
}

/// One Machine, and the name of its class.
fn of_a_class_that_no_label_holds() -> (Case, Box<str>) {
    let mut case = armed(&[("m-0", rewritten(0))], vec![server(0, "m-0")]);
    let class = case.classes.pop_first().unwrap().1;
    let long: Box<str> = "c".repeat(64).into();
    case.classes.insert(long.clone(), class);
    change(&mut case, |facts| {
        facts.classes = [(long.clone(), mcm_migration_core::domain::Provider::Stackit)].into();
        facts.machines.get_mut("m-0").unwrap().class = long.clone();
    });
    (case, long)
}

#[test]
fn a_refused_patch_of_its_own_counts_and_a_lost_one_does_not() {
    for (reason, counts) in [
        (Reason::ServerDeferred, true),
        (Reason::ServerGone, true),
        (Reason::CloudUnavailable, false),
        (Reason::CloudForbidden, false),
        (Reason::CloudRefused, false),
        (Reason::LabelUnverified, false),
        (Reason::CredentialsInvalid, false),
        (Reason::WriteFailed, false),
    ] {
        let mut leader = Leader::of(Some(server(0, "m-0")));
        leader.case.settings.force_after = Some(Duration::ZERO);
        let label = Action::label_of("m-0", &eu01(), server_id(0));
        leader.case.backoff.failed(&label, Because::of(reason), secs(NOW), 1.0);
        let plan = leader.pass(0);
        assert_eq!(excepted(&plan), counts.then_some(reason), "{reason}");
        assert!(plan.waits.iter().any(|wait| wait.because.reason == reason), "{plan:?}");
    }
}

/// Something that stands in the way of the whole shoot, project or class, or of knowing whose the server is.
type Obstacle = (&'static str, fn(&mut Leader));

fn obstacles() -> Vec<Obstacle> {
    vec![
        ("credentials", |it| it.case.cloud.stopped = Some(Because::of(Reason::CredentialsInvalid))),
        ("labels refused", |it| it.case.cloud.stopped = Some(Because::of(Reason::LabelRefused))),
        ("no LIST", |it| {
            it.case.cloud.troubles.insert(eu01(), Because::of(Reason::CloudUnavailable));
        }),
        ("paused", |it| it.case.facts.migration.as_mut().unwrap().paused = true),
        ("guard", |it| it.case.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::RollingBack)),
        ("guard open", |it| it.case.facts.namespace.as_mut().unwrap().guard = None),
        ("project", |it| it.case.facts.project = None),
        ("class", |it| it.case.classes.clear()),
        ("another name", |it| it.case.cloud.take_up(&eu01(), server(0, "of-another"))),
        ("restoring", |it| {
            let worker = it.case.facts.workers.values_mut().next().unwrap();
            worker.last_operation.type_ = "Restore".into();
            worker.last_operation.state = "Processing".into();
        }),
        ("OpenStack", |it| it.case.facts.mcm_deployment.as_mut().unwrap().openstack = true),
    ]
}

#[test]
fn while_something_else_stands_in_the_way_the_time_stands_still_and_nobody_is_excused() {
    for (what, obstruct) in obstacles() {
        let mut leader = Leader::of(None);
        leader.pass(0);
        leader.pass(1_000);
        let (clear, seen) = (leader.case.clone(), leader.seen.clone());
        obstruct(&mut leader);
        // Long over, and still not excused.
        for at in [1_001, 10 * FORCE_AFTER] {
            assert_eq!(leader.excepts(at), None, "{what}");
        }
        leader.case = clear;
        assert_eq!(leader.seen.id("m-0"), seen.id("m-0"));
        let back = 10 * FORCE_AFTER + 1;
        assert_eq!(leader.excepts(back), None, "{what}: the time went on");
        assert_eq!(leader.excepts(back + FORCE_AFTER - 1_001), None, "{what}: the time went on");
        assert_eq!(leader.excepts(back + FORCE_AFTER - 1_000), Some(Reason::ServerGone), "{what}: it began anew");
    }
}

#[test]
fn in_quarantine_a_deferred_server_is_not_looked_at() {
    let mut leader = Leader::of(Some(deallocated()));
    leader.case.settings.force_after = Some(Duration::ZERO);
    leader.case.settings.quarantine = secs(NOW);
    let plan = leader.pass(0);
    assert_eq!((excepted(&plan), plan.findings.get("m-0")), (None, None));
}

#[test]
fn an_old_list_excuses_nothing_and_another_is_asked_for() {
    let mut leader = Leader::of(None);
    leader.pass(0);
    let plan = leader.pass_with_an_old_list(FORCE_AFTER - 1);
    assert_eq!((excepted(&plan), plan.findings["m-0"]), (None, Finding::Trouble));
    leader.case.cloud.lists.get_mut(&eu01()).unwrap().at = secs(NOW + FORCE_AFTER - 61);
    let plan = leader.pass_with_an_old_list(FORCE_AFTER);
    assert_eq!(excepted(&plan), None);
    assert!(plan.actions.contains(&Action::List { region: eu01() }));
    assert_eq!(leader.excepts(FORCE_AFTER), Some(Reason::ServerGone));
}

#[test]
fn a_server_that_was_well_in_between_and_another_id_begin_anew() {
    let mut leader = Leader::of(Some(deallocated()));
    leader.pass(0);
    let mut well = server(0, "m-0");
    for (key, value) in [("machine", "m-0"), ("machineclass", side_task::example::CLASS), ("cluster", "shoot--p--s")] {
        well.labels.insert(format!("kubernetes.io/{key}").into(), value.into());
    }
    leader.case.cloud.take_up(&eu01(), well);
    assert_eq!(leader.pass(FORCE_AFTER).findings["m-0"], Finding::Fine);
    leader.case.cloud.take_up(&eu01(), deallocated());
    leader.case.cloud.lists.insert(eu01(), Listed::new([server(1, "m-1")], secs(NOW)));
    assert_eq!(leader.excepts(FORCE_AFTER + 1), None);

    leader.case.facts.machines.get_mut("m-0").unwrap().provider_id =
        format!("stackit://{PROJECT}/{}", server_id(7)).into();
    leader.seen.observe(&leader.case.facts, false, secs(NOW + FORCE_AFTER + 2));
    leader.case.facts.machines.insert("m-0".into(), rewritten(0));
    assert_eq!(leader.excepts(3 * FORCE_AFTER), None, "the time of another ID counted");
}

#[test]
fn what_the_side_task_excepted_is_taken_back_with_the_labels_and_what_an_operator_did_stays() {
    for (exception, taken_back) in [("server-gone", true), ("server-deferred", true), ("the disk is broken", false)] {
        let mut leader = Leader::of(Some(server(0, "m-0")));
        leader.case.facts.machines.get_mut("m-0").unwrap().exception = Some(Exception::of(exception));
        let label = leader.pass(0);
        assert!(label.actions.iter().any(|action| action.step() == "label" && action.subject() == "m-0"));
        assert_eq!(label.waits.iter().filter(|wait| &*wait.name == "m-0").count(), 0);
        let Some(Action::Label { labels, .. }) = label.actions.into_iter().find(|it| it.subject() == "m-0") else {
            panic!("no label");
        };
        let labelled = Server { labels, ..server(0, "m-0") };
        leader.case.cloud.take_up(&eu01(), labelled);
        let plan = leader.pass(1);
        let steps: Vec<_> = plan.actions.iter().filter(|it| it.subject() == "m-0").map(Action::step).collect();
        assert_eq!(steps, if taken_back { vec!["clear", "readmit"] } else { vec!["clear"] });
        leader.case.facts.machines.get_mut("m-0").unwrap().marked = false;
        let steps = steps_of(&leader.pass(2), "m-0");
        assert_eq!(steps, if taken_back { vec!["readmit"] } else { vec![] });
    }
}

fn steps_of(plan: &Plan, machine: &str) -> Vec<&'static str> {
    plan.actions.iter().filter(|it| it.subject() == machine).map(Action::step).collect()
}

#[test]
fn an_excepted_machine_whose_patch_fails_holds_up_nothing() {
    let mut leader = Leader::of(Some(server(0, "m-0")));
    leader.case.facts.machines.get_mut("m-0").unwrap().exception = Some(Exception::of("server-deferred"));
    let label = Action::label_of("m-0", &eu01(), server_id(0));
    leader.case.backoff.failed(&label, Because::of(Reason::ServerDeferred), secs(NOW), 1.0);
    assert_eq!(leader.pass(0).waits.iter().filter(|wait| &*wait.name == "m-0").count(), 0);
}

/// What the side task excepted a Machine for says nothing of what comes later: whose its server is may have changed.
#[test]
fn an_exception_silences_no_trouble_but_its_own() {
    type Change = fn(&mut Leader);
    let changes: [(&str, Change); 5] = [
        ("name-mismatch (m-0: of-another)", |it| it.case.cloud.take_up(&eu01(), server(0, "of-another"))),
        ("class-label-foreign (m-0: 00000007-aaaa-4bbb-8ccc-ddddeeeeffff)", |it| {
            let foreign = side_task::example::labelled(server(7, "x"), side_task::example::CLASS);
            it.case.cloud.take_up(&eu01(), foreign);
        }),
        ("project-mismatch (m-0: 00000001-aaaa-4bbb-8ccc-ddddeeeeffff)", |it| {
            it.case.facts.machines.get_mut("m-0").unwrap().provider_id =
                format!("stackit://{}/{}", server_id(1), server_id(0)).into();
        }),
        ("label-unverified (m-0)", |it| {
            let label = Action::label_of("m-0", &eu01(), server_id(0));
            it.case.backoff.failed(&label, Because::of(Reason::LabelUnverified), secs(NOW), 1.0);
        }),
        ("cloud-unavailable", |it| {
            it.case.cloud.troubles.insert(eu01(), Because::of(Reason::CloudUnavailable));
        }),
    ];
    for (told, change_it) in changes {
        let told_of = |exception: &str| {
            let mut leader = Leader::of(Some(server(0, "m-0")));
            leader.case.facts.machines.get_mut("m-0").unwrap().exception = Some(Exception::of(exception));
            change_it(&mut leader);
            let plan = leader.pass(0);
            assert!(!plan.waits.iter().any(|wait| &*wait.name == "m-0"), "{told} holds up the Worker");
            let of_shoot = plan.waits.iter().filter(|wait| wait.name.is_empty()).map(|wait| wait.because.to_string());
            of_shoot.filter(|said| said == told).count()
        };
        assert_eq!(told_of("server-gone"), 1, "{told}");
        assert_eq!(told_of("the disk is broken"), 0, "{told}: an operator has looked");
    }
    for own in [None, Some(deallocated()), Some(server(0, "m-0"))] {
        let mut leader = Leader::of(own);
        leader.case.facts.machines.get_mut("m-0").unwrap().exception = Some(Exception::of("server-gone"));
        assert!(!leader.pass(0).waits.iter().any(|wait| wait.because.to_string().contains("m-0")));
    }
}

#[test]
fn of_the_names_that_no_label_holds_only_the_machines_is_its_own_trouble() {
    let said = |mut case: Case| {
        change(&mut case, |facts| {
            for machine in facts.machines.values_mut() {
                machine.exception = Some(Exception::of("name-too-long"));
            }
        });
        case.plan().unwrap().waits.iter().map(|wait| wait.because.to_string()).collect::<Vec<_>>()
    };
    let long = "m".repeat(64);
    assert_eq!(said(armed(&[(long.as_str(), rewritten(0))], vec![server(0, &long)])), [""; 0]);
    let (case, class) = of_a_class_that_no_label_holds();
    assert_eq!(said(case), [format!("name-too-long (m-0: {class})")]);
}

#[test]
fn the_status_names_the_first_exceptions_and_counts_all() {
    let machines: Vec<_> = (0..30).map(|n| (format!("m-{n:02}"), rewritten(n))).collect();
    let machines: Vec<_> = machines.iter().map(|(name, machine)| (name.as_str(), machine.clone())).collect();
    let mut case = armed(&machines, Vec::new());
    change(&mut case, |facts| {
        for machine in facts.machines.values_mut().skip(1) {
            machine.exception = Some(Exception::of("server-gone"));
        }
    });
    let report = case.report(&case.plan().unwrap());
    assert_eq!(report.counts.exceptions, 29);
    assert_eq!(report.exceptions.len(), Report::EXCEPTIONS);
    assert_eq!(report.exceptions[0], ("m-01".into(), Exception::of("server-gone")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// Whatever the shoot is like: who is excepted has a STACKIT ID of its project, seen by this leader, whose server a young LIST shows to be gone,
    /// deferred, or of a name that no label holds.
    #[test]
    fn nobody_is_excepted_for_the_trouble_of_another(case in labelling_case()) {
        let mut case = case;
        case.settings.force_after = Some(Duration::ZERO);
        for action in case.actions() {
            let Action::Except { machine, region, server, reason } = action else { continue };
            let facts = &case.facts.machines[&machine];
            prop_assert_eq!(&*facts.provider_id, format!("stackit://{}/{server}", case.facts.project.unwrap()));
            let seen = case.seen();
            prop_assert_eq!(seen.id(&machine), Some(&*facts.provider_id));
            prop_assert!(case.facts.guard() == Some(GuardLabel::Closed) && facts.exception.is_none());
            prop_assert!(case.facts.openstack_remains().next().is_none() && case.cloud.stopped.is_none());
            let listed = &case.cloud.lists[&region];
            prop_assert!(listed.age(case.now) <= Settings::LIST_MAX_AGE);
            let found = listed.servers.get(&server);
            let held = case.backoff.held(&Action::label_of(&machine, &region, server), case.now);
            let held = held.map(|(because, _)| because.reason);
            let own = match reason {
                Reason::ServerGone => found.is_none() || held == Some(Reason::ServerGone),
                Reason::ServerDeferred => held == Some(reason) || found.is_some_and(|it| it.status.forbids_changes()),
                Reason::NameTooLong => machine.len() > 63,
                _ => false,
            };
            prop_assert!(own, "{machine} is excepted for {reason}");
        }
    }
}
