//! What each record of a Machine comes to, by its ID and its annotations, where the gate of the way back is open.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod way_back;
mod worlds;

use mcm_migration_core::archive::{Change, MachineRecord, Record, Verdict, finding};
use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{GuardLabel, Reason, keys};
use mcm_migration_core::plan::way_back::Step;
use way_back::{Kind, World, eu01, name, new_id, old_id, server, server_id};

const OTHER_PROJECT: &str = "99999999-7d5e-4f60-8a91-b2c3d4e5f601";

/// One Machine with this ID, whose server carries no label any more.
fn world(id: &str) -> World {
    let mut world = World::of(&[Kind::Rewritten { annotated: false }]);
    world.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::RollingBack);
    world.facts.machines.get_mut(&name(0)).unwrap().provider_id = id.into();
    world.servers = [(server_id(0), server(0, false))].into();
    world.carry_out(&Step::List { region: eu01() });
    world
}

fn verdict(world: &World, id: &str, annotations: &[(&str, &str)]) -> Verdict {
    let record = Record::Machine(MachineRecord {
        namespace: "shoot--p--s".into(),
        name: name(0),
        uid: "u".into(),
        provider_id: id.into(),
        class: "of-once".into(),
        annotations: annotations.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
    });
    finding(&record, &world.shoot(), world.now).unwrap().verdict
}

fn refused(reason: Reason) -> Verdict {
    Verdict::Refused(vec![Because::about(reason, "m-0")])
}

fn annotations(set: &[(&'static str, &str)]) -> Verdict {
    let set = set.iter().map(|(key, value)| (*key, (*value).into())).collect();
    Verdict::Write(Change::Annotations { machine: name(0), set })
}

fn written_back(set: &[(&'static str, &str)]) -> Verdict {
    let set = set.iter().map(|(key, value)| (*key, (*value).into())).collect();
    Verdict::Write(Change::ProviderId { machine: name(0), provider_id: old_id(0).into(), set })
}

/// The annotation that names the ID from before.
fn previous(id: &str) -> [(&'static str, &str); 1] {
    [(keys::PREVIOUS_PROVIDER_ID, id)]
}

#[test]
fn an_id_that_is_there_already_is_the_same() {
    for id in [old_id(0), new_id(0)] {
        assert_eq!(verdict(&world(&id), &id, &[]), Verdict::Same, "{id}");
    }
}

#[test]
fn a_stackit_id_is_left_to_admission_where_the_openstack_one_names_the_same_server() {
    let left = Verdict::Left(Because::about(Reason::LeftToAdmission, new_id(0)));
    assert_eq!(verdict(&world(&old_id(0)), &new_id(0), &[]), left);
    assert_eq!(verdict(&world(&old_id(1)), &new_id(0), &[]), refused(Reason::PreviousIdMismatch));
}

#[test]
fn an_id_of_another_project_or_region_is_refused() {
    let other_project = new_id(0).replace(worlds::PROJECT, OTHER_PROJECT);
    assert_eq!(verdict(&world(&new_id(0)), &other_project, &[]), refused(Reason::ProjectMismatch));
    let other_region = old_id(0).replace("RegionOne", "RegionTwo");
    assert_eq!(verdict(&world(&old_id(0)), &other_region, &[]), refused(Reason::PreviousIdMismatch));
}

#[test]
fn an_openstack_id_is_written_back_where_the_machine_says_no_other() {
    let mut world = world(&new_id(0));
    assert_eq!(verdict(&world, &old_id(0), &[]), written_back(&[]));
    world.previous.insert(name(0), old_id(0).into());
    assert_eq!(verdict(&world, &old_id(0), &[]), written_back(&[]));
    let other_region = old_id(0).replace("RegionOne", "RegionTwo");
    world.previous.insert(name(0), other_region.into());
    assert_eq!(verdict(&world, &old_id(0), &[]), refused(Reason::PreviousIdMismatch));
}

#[test]
fn that_a_machine_came_from_openstack_is_said_again_and_never_unsaid() {
    let migrated = [(keys::MIGRATED_MACHINE, keys::TRUE)];
    let mut lost = world(&new_id(0));
    lost.facts.machines.get_mut(&name(0)).unwrap().migrated = false;
    assert_eq!(verdict(&lost, &new_id(0), &migrated), annotations(&migrated));
    assert_eq!(verdict(&lost, &old_id(0), &migrated), written_back(&migrated));
    for record in [&[][..], &[(keys::MIGRATED_MACHINE, "false")]] {
        assert_eq!(verdict(&lost, &new_id(0), record), Verdict::Same, "{record:?}");
    }
    let there = world(&new_id(0));
    for record in [&[][..], &migrated, &[(keys::MIGRATED_MACHINE, "false")]] {
        assert_eq!(verdict(&there, &new_id(0), record), Verdict::Same, "{record:?}");
    }
}

#[test]
fn a_previous_id_is_set_again_only_where_it_names_the_server_and_none_is_there() {
    let (ours, others) = (old_id(0), old_id(1));
    let mut world = world(&new_id(0));
    assert_eq!(verdict(&world, &new_id(0), &previous(&ours)), annotations(&previous(&ours)));
    for wrong in [&*others, "nonsense"] {
        assert_eq!(verdict(&world, &new_id(0), &previous(wrong)), refused(Reason::PreviousIdMismatch), "{wrong}");
    }
    world.previous.insert(name(0), ours.as_str().into());
    assert_eq!(verdict(&world, &new_id(0), &previous(&ours)), Verdict::Same);
    let other_region = ours.replace("RegionOne", "RegionTwo");
    for wrong in [&others, &other_region] {
        assert_eq!(verdict(&world, &new_id(0), &previous(wrong)), refused(Reason::PreviousIdMismatch), "{wrong}");
    }
}

#[test]
fn a_previous_id_is_nothing_to_a_machine_that_has_it_as_its_own() {
    assert_eq!(verdict(&world(&old_id(0)), &old_id(0), &previous(&old_id(1))), Verdict::Same);
}
