//! What the outline of a way back tells before anything is written: whose labels, which IDs, and whether the pause stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod way_back;
mod worlds;

use mcm_migration_core::decide::ClusterFacts;
use mcm_migration_core::domain::{Reason, Region};
use mcm_migration_core::plan::Listed;
use mcm_migration_core::plan::way_back::{Line, State, Step, outline};
use way_back::{Kind, STACKIT, World, eu01, name, old_id, rolling_back, server_id, world};

fn line(world: &World, step: &str) -> Option<State> {
    let lines = outline(&world.shoot(), world.now);
    lines.into_iter().find(|line| line.step == step).map(|line| line.state)
}

fn listed(kinds: &[Kind]) -> World {
    let mut world = World::of(kinds);
    world.cloud.lists.insert(eu01(), Listed::new(world.servers.values().cloned(), world.now));
    world
}

#[test]
fn labels_are_taken_off_servers_that_came_from_openstack_and_off_no_others() {
    let mut world = listed(&[Kind::Rewritten { annotated: true }, Kind::Stackit]);
    world.leave_behind.insert(name(1));
    let Some(State::Would(told)) = line(&world, "unlabel") else { panic!("labels are to be taken off") };
    assert!(told.iter().any(|told| told.starts_with("m-0: ")), "{told:?}");
    assert!(!told.iter().any(|told| told.contains("m-1")), "{told:?}");
}

#[test]
fn a_pause_is_lifted_unless_an_operator_had_set_it() {
    let lifts = |paused: bool, by_us: bool| {
        let mut world = listed(&[Kind::Rewritten { annotated: true }]);
        world.facts.migration.as_mut().unwrap().paused = paused;
        world.paused_by_us = by_us;
        line(&world, "lift-pause") == Some(State::Would(vec![]))
    };
    assert!(lifts(false, false), "the way back pauses, and lifts that");
    assert!(lifts(true, true));
    assert!(!lifts(true, false));
}

#[test]
fn a_region_that_two_machines_call_differently_is_not_guessed() {
    let previous = |change_it: fn(&mut World)| {
        let mut world = listed(&[Kind::Rewritten { annotated: false }, Kind::Legacy { marked: false }]);
        change_it(&mut world);
        world.shoot().previous_id(&name(0), &world.facts.machines[&name(0)]).map_err(|because| because.to_string())
    };
    let unknown = Err("previous-id-unknown (m-0)".to_owned());
    assert_eq!(previous(|_| ()), Ok(old_id(0)));
    let another = |world: &mut World| {
        let id = format!("openstack:///RegionTwo/{}", server_id(1));
        world.facts.machines.get_mut(&name(1)).unwrap().provider_id = id.into();
    };
    assert_eq!(previous(another), unknown);
    let two_names = |world: &mut World| {
        world.settings.regions.insert("RegionTwo".to_owned(), Region::parse("eu01").unwrap());
    };
    assert_eq!(previous(two_names), unknown);
}

#[test]
fn the_outline_tells_every_step_and_everything_that_holds_it() {
    let mut world = world();
    world.facts.mcm_deployment = Some(STACKIT);
    world.previous.remove(&name(0));
    world.settings.regions.clear();
    let lines = outline(&world.shoot(), world.now);
    let state = |step: &str| lines.iter().find(|line| line.step == step).map(|line| line.state.clone()).unwrap();
    let steps: Vec<&str> = lines.iter().map(|line| line.step).collect();
    let wanted = [
        "pause",
        "guard",
        "nodes",
        "unlabel",
        "write-back",
        "clean",
        "unmark",
        "quarantine",
        "disarm",
        "guard-off",
        "lift-pause",
    ];
    assert_eq!(steps, wanted);
    assert_eq!(state("pause"), State::Done);
    let State::Held(held) = state("guard") else { panic!("{lines:?}") };
    let held: Vec<Reason> = held.iter().map(|because| because.reason).collect();
    assert_eq!(held, [Reason::PreviousIdUnknown, Reason::StackitMcmDeployed]);
    let written = vec!["m-0: previous-id-unknown (m-0)".to_owned(), format!("m-1: {}", old_id(1))];
    assert_eq!(state("write-back"), State::Would(written));
    assert_eq!(state("unmark"), State::Would(vec!["w".to_owned()]));
    assert_eq!(state("disarm"), State::Would(Vec::new()));
    assert_eq!(state("lift-pause"), State::Done, "an operator's own pause");
    assert_eq!(state("unlabel"), State::Would(vec!["list eu01".to_owned()]));

    let mut world = rolling_back();
    world.carry_out(&Step::List { region: eu01() });
    let lines = outline(&world.shoot(), world.now);
    assert_eq!(lines[1], Line { step: "guard", state: State::Done });
    let State::Would(labels) = &lines[3].state else { panic!("{lines:?}") };
    assert_eq!(labels[0], "m-0: kubernetes.io/cluster, kubernetes.io/machine, kubernetes.io/machineclass");
    world.facts.cluster = Some(ClusterFacts::default());
    assert!(matches!(&outline(&world.shoot(), world.now)[..], [Line { step: "pause", state: State::Held(_) }]));
}
