//! The order of the way back, and what holds it, one thing at a time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod way_back;
mod worlds;

use std::time::Duration;

use mcm_migration_core::decide::{Because, MachineFacts};
use mcm_migration_core::domain::{GuardLabel, McmContainers, PartKind, Reason};
use mcm_migration_core::plan::way_back::{Ends, Line, Next, State, Step, outline};
use mcm_migration_core::plan::{Direction, NodeSeen, Seen};
use way_back::{
    CLASS, Kind, OPENSTACK, REWRITTEN, STACKIT, World, eu01, name, new_id, old_id, pod, rolling_back, secs, server_id,
    world,
};

fn reasons(next: &Next) -> Vec<Reason> {
    match next {
        Next::Wait { reasons, .. } | Next::Refuse(reasons) => reasons.iter().map(|because| because.reason).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_steps_come_in_their_order() {
    let mut world = World::of(&[REWRITTEN, Kind::Legacy { marked: true }]);
    let mut names: Vec<&str> = Vec::new();
    for _ in 0..60 {
        world.look(secs(1));
        match world.next() {
            Next::Do(steps) => {
                for step in steps {
                    assert!(Step::NAMES.contains(&step.name()));
                    names.push(step.name());
                    world.carry_out(&step);
                }
            }
            Next::Wait { ends: Ends::InTime(left), .. } => world.look(left),
            Next::Wait { .. } => world.look(secs(61)),
            Next::Done => break,
            other @ Next::Refuse(_) => panic!("{other:?}"),
        }
    }
    names.dedup();
    let wanted = [
        "pause",
        "guard",
        "list",
        "unlabel",
        "list-parts",
        "unlabel-part",
        "write-back",
        "clean",
        "unmark",
        "list",
        "list-parts",
        "disarm",
        "guard-off",
        "lift-pause",
    ];
    assert_eq!(names, wanted);
    assert_eq!(world.next(), Next::Done);
}

#[test]
fn what_others_have_to_do_is_waited_for_before_the_guard_and_behind_it() {
    type Break = fn(&mut World);
    let cases: [(Break, &[Reason]); 7] = [
        (|world| world.facts.mcm_deployment = Some(STACKIT), &[Reason::StackitMcmDeployed]),
        (
            |world| world.facts.mcm_deployment = Some(McmContainers { openstack: true, stackit: true }),
            &[Reason::StackitMcmDeployed],
        ),
        (|world| world.facts.mcm_deployment = Some(McmContainers::default()), &[Reason::OpenstackMcmMissing]),
        (|world| world.facts.mcm_deployment = None, &[Reason::OpenstackMcmMissing]),
        (|world| drop(world.facts.mcm_pods.insert("p".into(), pod("p", STACKIT))), &[Reason::StackitMcmAlive]),
        // A pod without any provider's container is none of OpenStack's alone.
        (
            |world| drop(world.facts.mcm_pods.insert("p".into(), pod("p", McmContainers::default()))),
            &[Reason::StackitMcmAlive],
        ),
        (
            |world| {
                let made =
                    MachineFacts { provider_id: new_id(7).into(), class: CLASS.into(), ..MachineFacts::default() };
                world.facts.machines.insert("made".into(), made);
                let empty = MachineFacts { class: CLASS.into(), ..MachineFacts::default() };
                world.facts.machines.insert("with-id-to-come".into(), empty);
            },
            &[Reason::StackitMachinesRemain, Reason::StackitMachinesRemain],
        ),
    ];
    for (number, (broken, wanted)) in cases.into_iter().enumerate() {
        let mut closed = world();
        assert_eq!(closed.next(), Next::Do(vec![Step::OpenGuard]));
        broken(&mut closed);
        assert!(matches!(closed.next(), Next::Wait { ends: Ends::ByOthers, .. }), "{number}");
        assert_eq!(reasons(&closed.next()), wanted, "{number}");
        let mut open = rolling_back();
        assert_eq!(open.next(), Next::Do(vec![Step::List { region: eu01() }]));
        broken(&mut open);
        let wanted = if number == 6 { &wanted[..1] } else { wanted };
        assert_eq!(reasons(&open.next()), wanted, "{number}: the one without an ID was made when nobody made servers");
    }
    // One that has ended is none.
    let mut ended = world();
    let mut pod = pod("p", STACKIT);
    pod.ended = true;
    ended.facts.mcm_pods.insert("p".into(), pod);
    assert_eq!(ended.next(), Next::Do(vec![Step::OpenGuard]));
}

#[test]
fn a_machine_without_an_id_that_may_have_been_there_before_holds_it_also_behind_the_guard() {
    let empty = MachineFacts { class: CLASS.into(), ..MachineFacts::default() };
    let mut world = rolling_back();
    world.crash();
    world.facts.machines.insert("empty".into(), empty);
    world.look(secs(1));
    world.look(secs(1));
    assert_eq!(reasons(&world.next()), [Reason::StackitMachinesRemain], "this process cannot know when it was made");
    world.leave_behind.insert("empty".into());
    world.look(secs(200));
    assert_eq!(world.next(), Next::Do(vec![Step::List { region: eu01() }]));
    assert_eq!(world.shoot().left_behind(), ["empty"]);
    // What came from OpenStack is never left behind.
    world.leave_behind.insert(name(0));
    assert_eq!(world.shoot().left_behind(), ["empty"]);
}

#[test]
fn what_needs_a_decision_is_refused() {
    type Break = fn(&mut World);
    let cases: [(Break, Reason); 11] = [
        (|world| drop(world.previous.insert(name(0), "openstack:///nonsense".into())), Reason::PreviousIdUnknown),
        (|world| drop(world.previous.insert(name(0), old_id(9).into())), Reason::PreviousIdMismatch),
        (
            |world| world.facts.machines.get_mut(&name(0)).unwrap().provider_id = "stackit://x/y".into(),
            Reason::ProviderIdMalformed,
        ),
        (
            |world| world.facts.machines.get_mut(&name(0)).unwrap().provider_id = "aws:///x".into(),
            Reason::ProviderIdMalformed,
        ),
        (|world| world.facts.project = None, Reason::ProjectUnknown),
        (
            |world| {
                world.facts.machines.get_mut(&name(0)).unwrap().class = "gone".into();
                world.facts.machine_deployments.insert("gone-z1".into(), "gone".into());
                let worker = world.facts.workers.values_mut().next().unwrap();
                worker.wanted_machine_deployments.push("gone-z1".into());
            },
            Reason::RegionUnknown,
        ),
        (|world| world.facts.cluster.as_mut().unwrap().shoot_spec_seed = "other".into(), Reason::NotOurs),
        (|world| world.facts.cluster = None, Reason::ClusterAbsent),
        (
            |world| world.facts.workers.values_mut().for_each(|worker| worker.is_stackit = false),
            Reason::WorkerNotStackit,
        ),
        (
            |world| world.facts.workers.values_mut().for_each(|worker| worker.operation = "restore".into()),
            Reason::WorkerRestoring,
        ),
        (|world| world.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::Unknown), Reason::NoGuard),
    ];
    for (broken, wanted) in cases {
        for mut world in [world(), rolling_back()] {
            broken(&mut world);
            assert!(matches!(world.next(), Next::Refuse(_)), "{wanted}: {:?}", world.next());
            assert_eq!(reasons(&world.next()), [wanted]);
        }
    }
    // A foreign ID of a Machine that is left behind is nobody's business.
    let mut world = world();
    world.facts.machines.get_mut(&name(0)).unwrap().provider_id = "aws:///x".into();
    world.leave_behind.insert(name(0));
    assert_eq!(world.next(), Next::Do(vec![Step::OpenGuard]));
}

#[test]
fn a_shoot_that_is_being_deleted_here_may_go_back() {
    let mut world = world();
    world.facts.workers.values_mut().for_each(|worker| worker.terminating = true);
    assert_eq!(world.next(), Next::Do(vec![Step::OpenGuard]));
}

#[test]
fn without_a_guard_only_what_is_left_of_a_way_back_is_done() {
    let mut world = world();
    world.facts.namespace.as_mut().unwrap().guard = None;
    assert_eq!(reasons(&world.next()), [Reason::NoGuard], "rewritten Machines without a guard");
    assert_eq!(
        outline(&world.shoot(), world.now),
        [Line { step: "guard", state: State::Held(vec![Because::of(Reason::NoGuard)]) }]
    );
    world.facts.machines.clear();
    assert_eq!(world.next(), Next::Do(vec![Step::Disarm]));
    world.carry_out(&Step::Disarm);
    assert_eq!(world.next(), Next::Done, "an operator's own pause stays");
    assert_eq!(outline(&world.shoot(), world.now), []);
    world.paused_by_us = true;
    assert_eq!(world.next(), Next::Do(vec![Step::LiftPause]));
    assert_eq!(outline(&world.shoot(), world.now), [Line { step: "lift-pause", state: State::Would(Vec::new()) }]);
}

#[test]
fn the_nodes_are_waited_for_in_each_process_anew() {
    let mut world = rolling_back();
    world.crash();
    world.look(secs(1));
    assert_eq!(
        world.next(),
        Next::Wait { reasons: vec![Because::about(Reason::SeedNodeLost, "n-0")], ends: Ends::InTime(secs(120)) }
    );
    world.look(secs(119));
    assert_eq!(reasons(&world.next()), [Reason::SeedNodeLost]);
    world.look(secs(1));
    assert_eq!(world.next(), Next::Do(vec![Step::List { region: eu01() }]));
    world.nodes = Some(vec![NodeSeen { name: "n-1".to_owned(), ready_since: None }]);
    let lost = vec![Because::about(Reason::SeedNodeLost, "n-1")];
    assert_eq!(world.next(), Next::Wait { reasons: lost, ends: Ends::BySight });
    world.nodes = None;
    assert!(matches!(world.next(), Next::Wait { ends: Ends::BySight, .. }));
}

/// Past the labels and the IDs: only the quarantine is left.
fn written_back() -> World {
    let mut world = rolling_back();
    for _ in 0..10 {
        match world.next() {
            Next::Do(steps) => steps.iter().for_each(|step| world.carry_out(step)),
            _ => break,
        }
    }
    world.look(Duration::ZERO);
    assert!(world.facts.machines.values().all(MachineFacts::is_legacy));
    world
}

#[test]
fn the_quarantine_of_an_id_that_was_never_rewritten_begins_with_the_guard_of_the_way_back() {
    let mut world = written_back();
    world.seen = Seen::of(Direction::Back);
    world.guard(Some(GuardLabel::Closed));
    world.look(secs(1));
    world.look(secs(900));
    world.guard(Some(GuardLabel::RollingBack));
    world.look(secs(1));
    let Next::Wait { reasons, ends } = world.next() else { panic!("{:?}", world.next()) };
    let said = (reasons[0].reason, ends);
    let wanted = (Reason::Quarantined, Ends::InTime(secs(900)));
    assert_eq!(said, wanted, "before it a webhook with late caches may still rewrite");
}

#[test]
fn the_guard_comes_off_only_after_quarantine_and_evidence_and_a_last_look_at_the_labels() {
    let mut world = written_back();
    let wait = |world: &World| match world.next() {
        Next::Wait { reasons, ends } => (reasons[0].reason, ends),
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(&world), (Reason::Quarantined, Ends::InTime(secs(900))));
    world.look(secs(500));
    assert_eq!(wait(&world), (Reason::Quarantined, Ends::InTime(secs(400))));
    world.renews = false;
    world.look(secs(1));
    world.look(secs(399));
    // The Lease changed once more when its holder stopped to renew; it must renew well after the IDs were seen.
    assert_eq!(world.next(), Next::Do(vec![Step::List { region: eu01() }]));

    let mut silent = written_back();
    silent.renews = false;
    silent.look(secs(1));
    silent.look(secs(900));
    assert_eq!(wait(&silent), (Reason::NoLeaseEvidence, Ends::BySight));
    silent.facts.mcm_pods.clear();
    silent.look(secs(1));
    assert_eq!(silent.next(), Next::Do(vec![Step::List { region: eu01() }]), "no pod at all holds no cache");

    // A label that came late is taken off before the guard is.
    world.servers.get_mut(&server_id(0)).unwrap().labels.insert("kubernetes.io/machine".into(), name(0));
    world.carry_out(&Step::List { region: eu01() });
    let Next::Do(steps) = world.next() else { panic!("{:?}", world.next()) };
    assert!(matches!(&steps[..], [Step::Unlabel { .. }]), "{steps:?}");
    world.carry_out(&steps[0]);
    for kind in PartKind::ALL {
        world.carry_out(&Step::ListParts { region: eu01(), kind });
    }
    assert_eq!(world.next(), Next::Do(vec![Step::Disarm]));
    world.carry_out(&Step::Disarm);
    assert_eq!(world.next(), Next::Do(vec![Step::TakeGuardOff]));
    // Everything is read again before it: an ID that is another now begins the wait anew.
    let machine = world.facts.machines.get_mut(&name(0)).unwrap();
    machine.provider_id = format!("openstack:///Other/{}", server_id(0)).into();
    assert_eq!(reasons(&world.next()), [Reason::Quarantined]);
}

#[test]
fn a_pod_that_may_act_on_an_old_cache_holds_the_guard() {
    let mut world = written_back();
    let mut standby = pod("u2", OPENSTACK);
    standby.node = "n-unknown".into();
    world.facts.mcm_pods.insert("mcm-2".into(), standby);
    world.look(secs(1));
    world.look(secs(300));
    world.look(secs(600));
    assert_eq!(reasons(&world.next()), [Reason::McmUnproven]);
    world.facts.mcm_pods.get_mut("mcm-2").unwrap().restarts += 1;
    world.look(secs(1));
    assert_eq!(world.next(), Next::Do(vec![Step::List { region: eu01() }]));
}

#[test]
fn labels_are_taken_off_by_fresh_lists_alone_and_never_a_foreign_key() {
    let mut world = rolling_back();
    world.carry_out(&Step::List { region: eu01() });
    let Next::Do(steps) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!(steps.len(), 2);
    let keys = |step: &Step| match step {
        Step::Unlabel { keys, machine, region, server } => {
            assert_eq!((region, *machine == name(0)), (&eu01(), *server == server_id(0)));
            keys.iter().map(ToString::to_string).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(keys(&steps[0]), ["kubernetes.io/cluster", "kubernetes.io/machine", "kubernetes.io/machineclass"]);
    assert_eq!(steps[0].subject(), "m-0");

    // A key of the class whose value is another one is somebody else's.
    world.servers.get_mut(&server_id(0)).unwrap().labels.insert("kubernetes.io/cluster".into(), "theirs".into());
    world.carry_out(&Step::List { region: eu01() });
    let Next::Do(steps) = world.next() else { panic!("{:?}", world.next()) };
    assert_eq!(keys(&steps[0]), ["kubernetes.io/machine", "kubernetes.io/machineclass"]);

    // A list that is too old is made again.
    world.look(secs(61));
    assert_eq!(world.next(), Next::Do(vec![Step::List { region: eu01() }]));
    world.carry_out(&Step::List { region: eu01() });
    let trouble = Because::of(Reason::CloudUnavailable);
    world.cloud.troubles.insert(eu01(), trouble.clone());
    assert_eq!(world.next(), Next::Wait { reasons: vec![trouble], ends: Ends::BySight });
    world.cloud.troubles.clear();

    // Somebody else's server.
    world.servers.get_mut(&server_id(0)).unwrap().name = "other".into();
    world.carry_out(&Step::List { region: eu01() });
    assert_eq!(world.next(), Next::Refuse(vec![Because::about(Reason::NameMismatch, "m-0: other")]));
    // Without our labels its name is nobody's business.
    world.servers.get_mut(&server_id(0)).unwrap().labels.clear();
    world.carry_out(&Step::List { region: eu01() });
    assert!(matches!(world.next(), Next::Do(steps) if steps.len() == 1));
}

#[test]
fn what_the_migration_left_over_comes_off_every_machine_but_those_of_stackit() {
    let mut world =
        World::of(&[Kind::Legacy { marked: true }, Kind::Legacy { marked: false }, Kind::Empty, Kind::Stackit]);
    world.facts.migration.as_mut().unwrap().paused = true;
    world.leave_behind = [name(2), name(3)].into();
    world.facts.machines.get_mut(&name(3)).unwrap().settled = true;
    world.carry_out(&Step::OpenGuard);
    world.look(secs(1));
    world.look(secs(200));
    let clean = |n| Step::Clean { machine: name(n) };
    assert_eq!(world.next(), Next::Do(vec![clean(0), clean(2)]));
    world.facts.machines.get_mut(&name(1)).unwrap().exception =
        Some(mcm_migration_core::domain::Exception::of("by-hand"));
    assert_eq!(world.next(), Next::Do(vec![clean(0), clean(1), clean(2)]));
}
