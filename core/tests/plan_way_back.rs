//! The way back in a world where anything may happen between two steps: no step is ever planned that could cost a server, and it ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod way_back;
mod worlds;

use std::time::Duration;

use mcm_migration_core::decide::MachineFacts;
use mcm_migration_core::domain::GuardLabel;
use mcm_migration_core::plan::way_back::{Ends, Next, Step};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use way_back::{CLASS, Kind, OPENSTACK, STACKIT, World, name, new_id, old_id, pod, secs, server_id};

/// What happens between two steps.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// Time passes.
    Wait(u64),
    /// The command is killed and run again.
    Crash,
    /// A pod of the STACKIT provider is there, or gone.
    StackitPod(bool),
    /// The Deployment turns.
    Deployment(bool),
    /// A Machine without an ID is made.
    Made,
    /// A Machine goes, with its server or without.
    Goes(usize, bool),
    /// A server goes.
    ServerGoes(usize),
    /// A write that was under way sets a label after all.
    Labelled(usize),
    /// An admission whose cache is old rewrites a Machine once more.
    RewrittenAgain(usize),
    /// Somebody lifts the pause.
    Lifted,
    /// The OpenStack pod is replaced.
    Replaced(u8),
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        4 => any::<bool>().prop_map(|annotated| Kind::Rewritten { annotated }),
        2 => any::<bool>().prop_map(|marked| Kind::Legacy { marked }),
        1 => Just(Kind::Stackit),
        1 => Just(Kind::Empty),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..400_u64).prop_map(Event::Wait),
        1 => Just(Event::Crash),
        1 => any::<bool>().prop_map(Event::StackitPod),
        1 => any::<bool>().prop_map(Event::Deployment),
        1 => Just(Event::Made),
        1 => (0..4_usize, any::<bool>()).prop_map(|(n, with)| Event::Goes(n, with)),
        1 => (0..4_usize).prop_map(Event::ServerGoes),
        1 => (0..4_usize).prop_map(Event::Labelled),
        1 => (0..4_usize).prop_map(Event::RewrittenAgain),
        1 => Just(Event::Lifted),
        1 => any::<u8>().prop_map(Event::Replaced),
    ]
}

fn happen(world: &mut World, event: Event, made: &mut usize) {
    match event {
        Event::Wait(seconds) => world.look(secs(seconds)),
        Event::Crash => world.crash(),
        Event::StackitPod(there) => {
            if there {
                world.facts.mcm_pods.insert("mcm-0".into(), pod("u0", STACKIT));
            } else {
                world.facts.mcm_pods.remove("mcm-0");
            }
        }
        Event::Deployment(stackit) => world.facts.mcm_deployment = Some(if stackit { STACKIT } else { OPENSTACK }),
        Event::Made => {
            *made += 1;
            let machine = MachineFacts { class: CLASS.into(), ..MachineFacts::default() };
            world.facts.machines.insert(format!("new-{made}").into(), machine);
        }
        Event::Goes(n, with) => {
            world.facts.machines.remove(&name(n));
            world.previous.remove(&name(n));
            if with {
                world.servers.remove(&server_id(n));
            }
        }
        Event::ServerGoes(n) => drop(world.servers.remove(&server_id(n))),
        Event::Labelled(n) => {
            // No request lives for longer; and only a server whose Machine had a STACKIT ID is ever labelled.
            let late = world.in_flight.as_ref().filter(|(since, _)| world.now <= *since + secs(120));
            if late.is_some_and(|(_, machines)| machines.contains(&name(n)))
                && let Some(server) = world.servers.get_mut(&server_id(n))
            {
                server.labels.insert("kubernetes.io/machineclass".into(), CLASS.into());
            }
        }
        Event::RewrittenAgain(n) => {
            // Only as long as such a cache may live, and never once the guard is off.
            if world.facts.guard() == Some(GuardLabel::RollingBack)
                && let Some(machine) = world.facts.machines.get_mut(&name(n)).filter(|machine| machine.is_legacy())
            {
                machine.provider_id = new_id(n).into();
                (machine.marked, machine.migrated) = (true, true);
                world.previous.insert(name(n), old_id(n).into());
            }
        }
        Event::Lifted => {
            if let Some(migration) = &mut world.facts.migration {
                migration.paused = false;
            }
        }
        Event::Replaced(n) => {
            world.facts.mcm_pods.insert("mcm-1".into(), pod(&format!("u1-{n}"), OPENSTACK));
        }
    }
}

/// Asks the plain way whether a step may be taken.
fn check(world: &World, step: &Step) -> Result<(), TestCaseError> {
    let rolling_back = world.facts.guard() == Some(GuardLabel::RollingBack);
    let number = |machine: &str| machine.strip_prefix("m-").and_then(|n| n.parse::<usize>().ok());
    if !matches!(step, Step::Pause | Step::LiftPause | Step::Disarm) {
        prop_assert!(!world.stackit_lives(), "{step:?} while the STACKIT provider could act");
    }
    match step {
        Step::Unlabel { machine, server, keys, .. } => {
            let n = number(machine).unwrap();
            prop_assert!(rolling_back && *server == server_id(n));
            prop_assert!(keys.iter().all(|key| way_back::OURS.contains(&&**key)), "{keys:?}");
        }
        Step::WriteBack { machine, provider_id } => {
            let n = number(machine).unwrap();
            prop_assert!(rolling_back);
            prop_assert_eq!(provider_id, &old_id(n));
            prop_assert_eq!(world.facts.machines[machine].provider_id.to_string(), new_id(n));
        }
        Step::OpenGuard => {
            for (name, machine) in &world.facts.machines {
                let stackit = machine.provider_id.starts_with("stackit:") && !machine.migrated;
                let made_by_stackit = stackit || machine.provider_id.is_empty();
                prop_assert!(!made_by_stackit || world.leave_behind.contains(name), "{name}");
            }
        }
        Step::TakeGuardOff => {
            prop_assert!(rolling_back && world.facts.migration.is_some_and(|migration| !migration.armed));
            prop_assert!(world.facts.workers.values().all(|worker| !worker.marked));
            for (name, machine) in &world.facts.machines {
                prop_assert!(!machine.migrated || machine.provider_id.starts_with("openstack:///"), "{name}");
                if machine.is_legacy() {
                    let since = world.back_since[name].max(world.started);
                    prop_assert!(world.now >= since + world.settings.quarantine, "{name} since {since:?}");
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// What must hold at any moment, whatever happens. A late label is the world's own doing, and is taken off before the end.
fn check_world(world: &World) -> Result<(), TestCaseError> {
    for (name, machine) in &world.facts.machines {
        if machine.migrated && world.facts.guard().is_none() {
            prop_assert!(machine.is_legacy(), "{name} without a guard");
        }
    }
    Ok(())
}

fn step(world: &mut World) -> Result<Next, TestCaseError> {
    world.look(Duration::ZERO);
    let next = world.next();
    if let Next::Do(steps) = &next {
        prop_assert!(!steps.is_empty());
        for step in steps {
            check(world, step)?;
            let no_label_before_the_id = |world: &World| {
                let Step::WriteBack { machine, .. } = step else { return true };
                let n: usize = machine.strip_prefix("m-").unwrap().parse().unwrap();
                world.ours_on(server_id(n)).is_empty()
            };
            // The LIST is as old as the cloud here, unless a label came late.
            if no_label_before_the_id(world) {
                world.carry_out(step);
            } else {
                world.cloud.lists.clear();
                break;
            }
        }
    }
    check_world(world)?;
    Ok(next)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn no_step_could_cost_a_server_and_it_ends(kinds in vec(kind(), 0..4), events in vec(event(), 0..40), leave in any::<bool>()) {
        let mut world = World::of(&kinds);
        let mut made = 0;
        if leave {
            world.leave_behind = (0..4).map(name).chain((0..40).map(|n| format!("new-{n}").into())).collect();
        }
        for event in events {
            happen(&mut world, event, &mut made);
            step(&mut world)?;
        }
        // Calm: what holds it goes, and so do Machines that nobody leaves behind.
        world.facts.mcm_pods.remove("mcm-0");
        world.facts.mcm_deployment = Some(OPENSTACK);
        let mut ended = false;
        for _ in 0..120 {
            match step(&mut world)? {
                Next::Done => {
                    ended = true;
                    break;
                }
                Next::Do(_) => {}
                Next::Wait { ends: Ends::InTime(left), .. } => world.look(left),
                Next::Wait { ends: Ends::BySight, .. } => world.look(secs(61)),
                Next::Wait { ends: Ends::ByOthers, reasons } => {
                    for because in &reasons {
                        prop_assert!(!leave, "{reasons:?}");
                        prop_assert!(world.facts.machines.remove(&*because.subject).is_some(), "{reasons:?}");
                    }
                }
                Next::Refuse(reasons) => prop_assert!(false, "{reasons:?}"),
            }
        }
        prop_assert!(ended, "{:?}", world.next());
        for (n, kind) in kinds.iter().enumerate() {
            let Some(machine) = world.facts.machines.get(&name(n)) else { continue };
            match kind {
                Kind::Rewritten { .. } | Kind::Legacy { .. } => {
                    prop_assert_eq!(machine.provider_id.to_string(), old_id(n));
                    prop_assert!(!machine.marked && !world.previous.contains_key(&name(n)));
                    prop_assert!(world.ours_on(server_id(n)).is_empty());
                    prop_assert!(world.servers.get(&server_id(n)).is_none_or(|server| server.labels.contains_key("team")));
                }
                Kind::Stackit => prop_assert_eq!(machine.provider_id.to_string(), new_id(n)),
                Kind::Empty => prop_assert!(!machine.settled),
            }
        }
        for part in &world.parts {
            let live = world.facts.machines.contains_key(&part.name);
            prop_assert!(!live || part.labels.keys().eq(["team"].map(Box::<str>::from).iter()), "{part:?}");
        }
        prop_assert_eq!(world.facts.guard(), None);
        prop_assert!(!world.paused_by_us && !world.facts.migration.unwrap().armed);
    }
}
