//! What a way back would leave behind for later, unless it is held: classes that nobody turns, labels of another domain, servers that never were.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod way_back;
mod worlds;

use mcm_migration_core::decide::{Because, MachineFacts};
use mcm_migration_core::domain::{GuardLabel, Provider, Reason, ServerStatus};
use mcm_migration_core::plan::way_back::{Ends, LabelsOf, Next, Step};
use way_back::{CLASS, Kind, POOL, REWRITTEN, STACKIT, World, eu01, name, pod, rolling_back, secs, server_id, world};

const OLD_CLASS: &str = "pool-a-z1-00000";

fn waits(world: &World) -> Vec<Because> {
    match world.next() {
        Next::Wait { reasons, ends: Ends::ByOthers } => reasons,
        other => panic!("{other:?}"),
    }
}

/// The first Machine has a class that a roll-out left behind.
fn rolls_out(world: &mut World) {
    let class = world.classes[CLASS].clone();
    world.facts.classes.insert(OLD_CLASS.into(), class.provider);
    world.classes.insert(OLD_CLASS.into(), class);
    world.facts.machines.get_mut(&name(0)).unwrap().class = OLD_CLASS.into();
}

#[test]
fn a_roll_out_is_finished_forward_first() {
    let held = vec![Because::about(Reason::RollOutUnfinished, OLD_CLASS)];
    for mut world in [world(), rolling_back()] {
        rolls_out(&mut world);
        assert_eq!(waits(&world), held);
        // A MachineDeployment that is there but that the Worker wants no more holds nothing wanted.
        world.facts.machine_deployments.insert("gone-z1".into(), OLD_CLASS.into());
        assert_eq!(waits(&world), held);
        let worker = world.facts.workers.values_mut().next().unwrap();
        worker.wanted_machine_deployments.push("gone-z1".into());
        assert!(matches!(world.next(), Next::Do(_)), "both classes are wanted");
    }
    // The Worker's status says nothing yet.
    let mut world = world();
    world.facts.workers.values_mut().for_each(|worker| worker.wanted_machine_deployments.clear());
    assert_eq!(waits(&world), [Because::about(Reason::RollOutUnfinished, CLASS)]);
}

#[test]
fn machines_of_stackit_that_are_left_behind_roll_out_nothing() {
    let mut world = World::of(&[Kind::Stackit, REWRITTEN]);
    world.facts.migration.as_mut().unwrap().paused = true;
    world.leave_behind.insert(name(0));
    rolls_out(&mut world);
    world.look(secs(1));
    world.look(secs(200));
    assert_eq!(world.next(), Next::Do(vec![Step::OpenGuard]));
}

#[test]
fn a_class_that_stayed_stackit_is_told_when_the_command_is_run_again() {
    let mut world = World::of(&[Kind::Legacy { marked: false }, Kind::Legacy { marked: false }]);
    world.guard(None);
    world.facts.migration.as_mut().unwrap().armed = false;
    rolls_out(&mut world);
    assert_eq!(world.next(), Next::Done, "Gardener has turned none yet");
    world.facts.classes.insert(CLASS.into(), Provider::OpenStack);
    assert_eq!(waits(&world), [Because::about(Reason::ClassLeftStackit, OLD_CLASS)]);
    let mut wanted = world.clone();
    wanted.facts.machine_deployments.insert(POOL.into(), OLD_CLASS.into());
    assert_eq!(wanted.next(), Next::Done, "Gardener turns what it wants");
    let mut forward = world.clone();
    forward.facts.mcm_deployment = Some(STACKIT);
    assert_eq!(forward.next(), Next::Done, "the shoot goes forward");
    let mut nothing_runs = world.clone();
    nothing_runs.facts.mcm_deployment = None;
    assert_eq!(nothing_runs.next(), Next::Done, "OpenStack's has not come back");
    let mut alive = world.clone();
    alive.facts.mcm_pods.insert("mcm-0".into(), pod("u0", STACKIT));
    assert_eq!(alive.next(), Next::Done, "a pod of STACKIT can delete them");
    world.facts.classes.insert(OLD_CLASS.into(), Provider::OpenStack);
    assert_eq!(world.next(), Next::Done);
}

#[test]
fn a_server_that_the_api_lets_nobody_change_is_waited_for_after_the_others() {
    let mut world = rolling_back();
    world.servers.get_mut(&server_id(0)).unwrap().status = ServerStatus::Deallocated;
    world.carry_out(&Step::List { region: eu01() });
    let Next::Do(steps) = world.next() else { panic!("{:?}", world.next()) };
    assert!(matches!(&steps[..], [Step::Unlabel { machine, .. }] if *machine == name(1)), "{steps:?}");
    world.carry_out(&steps[0]);
    assert_eq!(waits(&world), [Because::about(Reason::ServerDeferred, "m-0: Deallocated")]);
    // Without our labels its state is nobody's business.
    world.servers.get_mut(&server_id(0)).unwrap().labels.clear();
    world.carry_out(&Step::List { region: eu01() });
    assert!(matches!(world.next(), Next::Do(_)));
}

#[test]
fn a_class_label_of_another_domain_is_refused_and_never_taken_off() {
    let key = "other.example/machineclass";
    let mut world = rolling_back();
    world.settings.label_domain = "other.example".to_owned();
    world.carry_out(&Step::List { region: eu01() });
    let differs = |n| Because::about(Reason::LabelDomainDiffers, format!("m-{n}: kubernetes.io/machineclass"));
    assert_eq!(world.next(), Next::Refuse(vec![differs(0), differs(1)]));

    // Also beside the labels of the right one.
    let mut world = rolling_back();
    world.servers.get_mut(&server_id(0)).unwrap().labels.insert(key.into(), CLASS.into());
    world.carry_out(&Step::List { region: eu01() });
    let refused = Next::Refuse(vec![Because::about(Reason::LabelDomainDiffers, format!("m-0: {key}"))]);
    assert_eq!(world.next(), refused);
    // And when it is all that is left.
    world.servers.get_mut(&server_id(0)).unwrap().labels.retain(|label, _| &**label == key);
    world.carry_out(&Step::List { region: eu01() });
    assert_eq!(world.next(), refused);
    let machine = &world.facts.machines[&name(0)];
    assert_eq!(world.shoot().labels_of(machine, world.now), LabelsOf::On(key));

    // A value that is no class of the namespace is somebody else's label, and so is another key.
    for (label, value) in [(key, "their-pool"), ("other.example/machineclasses", CLASS)] {
        let mut world = rolling_back();
        world.servers.get_mut(&server_id(0)).unwrap().labels.insert(label.into(), value.into());
        world.carry_out(&Step::List { region: eu01() });
        assert!(matches!(world.next(), Next::Do(steps) if steps.len() == 2), "{label}");
    }
}

#[test]
fn a_machine_that_was_made_before_the_nodes_were_waited_for_may_have_a_server() {
    let empty = MachineFacts { class: CLASS.into(), ..MachineFacts::default() };
    // A STACKIT pod came back and is gone from the API; on its Node it may still run.
    let mut world = rolling_back();
    world.facts.mcm_pods.insert("mcm-0".into(), pod("u0", STACKIT));
    world.look(secs(2));
    world.facts.mcm_pods.remove("mcm-0");
    world.look(secs(2));
    world.look(secs(2));
    world.facts.machines.insert("early".into(), empty.clone());
    world.look(secs(2));
    world.look(secs(200));
    assert_eq!(waits(&world), [Because::about(Reason::StackitMachinesRemain, "early")]);
    // One that is made after that has none.
    world.facts.machines.remove("early");
    world.look(secs(2));
    world.facts.machines.insert("late".into(), empty);
    world.look(secs(2));
    assert_eq!(world.next(), Next::Do(vec![Step::List { region: eu01() }]));
    assert_eq!(world.facts.guard(), Some(GuardLabel::RollingBack));
}
