//! The gate that `rollback`, `restore` and the model ask, and what it is asked with: the old ID, and the labels of the server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod way_back;
mod worlds;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{GuardLabel, LegacyProviderId, PartKind, ProjectId, Provider, Reason, Region};
use mcm_migration_core::plan::way_back::{LabelsOf, Next, Step, may_write_back, may_write_old};
use way_back::{
    CLASS, Kind, REWRITTEN, STACKIT, World, eu01, name, new_id, old_id, pod, rolling_back, secs, server, server_id,
};

#[test]
fn the_region_is_read_backwards_only_where_it_is_certain() {
    let previous = |world: &World, n: usize| {
        world.shoot().previous_id(&name(n), &world.facts.machines[&name(n)]).map_err(|because| because.reason)
    };
    let unsure = || World::of(&[Kind::Rewritten { annotated: false }, REWRITTEN, Kind::Legacy { marked: false }]);
    let mut world = unsure();
    assert_eq!(previous(&world, 0), Ok(old_id(0)));
    world.settings.regions.insert("RegionTwo".to_owned(), eu01());
    assert_eq!(previous(&world, 0), Err(Reason::PreviousIdUnknown), "two names");
    assert_eq!(previous(&world, 1), Ok(old_id(1)), "the annotation says it");
    world.settings.regions.remove("RegionOne");
    assert_eq!(previous(&world, 0), Err(Reason::PreviousIdUnknown), "others say RegionOne");
    world.facts.machines.remove(&name(2));
    assert_eq!(previous(&world, 0), Err(Reason::PreviousIdUnknown), "an annotation says RegionOne");
    world.previous.clear();
    assert_eq!(previous(&world, 0), Ok(old_id(0).replace("RegionOne", "RegionTwo")));
    world.settings.regions = [("RegionOne".to_owned(), Region::parse("eu02").unwrap())].into();
    assert_eq!(previous(&world, 0), Err(Reason::PreviousIdUnknown), "no name");
    let mut gone = unsure();
    gone.classes.clear();
    assert_eq!(previous(&gone, 0), Err(Reason::PreviousIdUnknown));
}

#[test]
fn network_interfaces_and_volumes_lose_our_labels_and_what_cannot_be_written_holds_nothing() {
    let mut world = rolling_back();
    world.carry_out(&Step::List { region: eu01() });
    for n in 0..2 {
        world.servers.insert(server_id(n), server(n, false));
    }
    // A label with another value, and one on a part of another server, are somebody else's.
    world.parts[0].labels.insert("mcm-migration-shoot".into(), "other".into());
    world.parts[3].server = Some(server_id(9));
    world.carry_out(&Step::List { region: eu01() });
    let Next::Do(lists) = world.next() else { panic!("{:?}", world.next()) };
    assert!(lists.len() == 2 && lists.iter().all(|step| step.name() == "list-parts" && step.subject() == "eu01"));
    for step in &lists {
        world.carry_out(step);
    }
    let Next::Do(steps) = world.next() else { panic!("{:?}", world.next()) };
    let keys = |step: &Step| match step {
        Step::UnlabelPart { machine, keys, .. } => (machine.to_string(), keys.len()),
        other => panic!("{other:?}"),
    };
    let found: Vec<_> = steps.iter().map(keys).collect();
    assert_eq!(found, [("m-0".to_owned(), 2), ("m-1".to_owned(), 3), ("m-0".to_owned(), 3)]);
    for kind in PartKind::ALL {
        world.cloud.part_troubles.insert((eu01(), kind), Because::of(Reason::CloudForbidden));
    }
    assert!(matches!(world.next(), Next::Do(steps) if steps[0].name() == "write-back"));
    world.cloud.part_troubles.clear();
    world.look(secs(61));
    world.carry_out(&Step::List { region: eu01() });
    assert_eq!(world.next(), Next::Do(lists), "an old list is made again");
}

#[test]
fn something_old_may_be_written_only_while_everything_speaks_for_it() {
    let open = rolling_back().facts;
    assert_eq!(may_write_old(&open), Ok(()));
    let refused = |change: &dyn Fn(&mut World)| {
        let mut world = rolling_back();
        change(&mut world);
        may_write_old(&world.facts).unwrap_err().into_iter().map(|because| because.reason).collect::<Vec<_>>()
    };
    for guard in [None, Some(GuardLabel::Closed), Some(GuardLabel::Unknown)] {
        let of = move |world: &mut World| world.facts.namespace.as_mut().unwrap().guard = guard;
        assert_eq!(refused(&of), [Reason::GuardNotRollingBack]);
    }
    assert_eq!(refused(&|world| world.facts.cluster = None), [Reason::ClusterAbsent]);
    assert_eq!(
        refused(&|world| world.facts.workers.values_mut().for_each(|worker| worker.operation = "restore".into())),
        [Reason::WorkerRestoring]
    );
    assert_eq!(
        refused(&|world| world.facts.mcm_deployment = Some(STACKIT)),
        [Reason::StackitMcmDeployed, Reason::OpenstackMcmMissing]
    );
    assert_eq!(refused(&|world| world.facts.mcm_deployment = None), [Reason::OpenstackMcmMissing]);
    assert_eq!(
        refused(&|world| drop(world.facts.mcm_pods.insert("p".into(), pod("p", STACKIT)))),
        [Reason::StackitMcmAlive]
    );
}

#[test]
fn an_old_id_may_be_written_back_only_over_its_own_server_without_labels() {
    let world = rolling_back();
    let text = old_id(0);
    let previous = LegacyProviderId::parse(&text).unwrap();
    let ask = |world: &World, labels| {
        let asked = may_write_back(&world.facts, "m-0", &previous, labels);
        asked.map_err(|reasons| reasons.into_iter().map(|because| because.reason).collect::<Vec<_>>())
    };
    for labels in [LabelsOf::Off, LabelsOf::Gone] {
        assert_eq!(ask(&world, labels), Ok(()));
    }
    assert_eq!(ask(&world, LabelsOf::Unknown), Err(vec![Reason::LabelsUnconfirmed]));
    assert_eq!(ask(&world, LabelsOf::On("k")), Err(vec![Reason::StillLabelled]));
    let with = |id: &str| {
        let mut world = rolling_back();
        world.facts.machines.get_mut("m-0").unwrap().provider_id = id.into();
        ask(&world, LabelsOf::Off)
    };
    assert_eq!(with(&text), Ok(()), "it is there already");
    assert_eq!(with(&text.replace("One", "Two")), Err(vec![Reason::PreviousIdMismatch]));
    assert_eq!(with(&new_id(1)), Err(vec![Reason::PreviousIdMismatch]));
    assert_eq!(with(""), Err(vec![Reason::MachinesWithoutId]));
    for odd in ["stackit://x", "openstack:///x", "aws:///x"] {
        assert_eq!(with(odd), Err(vec![Reason::ProviderIdMalformed]));
    }
    let mut other = rolling_back();
    other.facts.project = ProjectId::parse("00000000-0000-4000-8000-000000000001").ok();
    assert_eq!(ask(&other, LabelsOf::Off), Err(vec![Reason::ProjectMismatch]));
    other.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::Closed);
    assert_eq!(ask(&other, LabelsOf::Off), Err(vec![Reason::GuardNotRollingBack, Reason::ProjectMismatch]));
}

#[test]
fn a_server_counts_as_gone_only_where_every_region_was_listed() {
    let mut world = rolling_back();
    let labels = |world: &World| format!("{:?}", world.shoot().labels_of(&world.facts.machines[&name(0)], world.now));
    assert_eq!(labels(&world), "Unknown");
    world.carry_out(&Step::List { region: eu01() });
    assert_eq!(labels(&world), "On(\"kubernetes.io/cluster\")");
    world.servers.insert(server_id(0), server(0, false));
    world.carry_out(&Step::List { region: eu01() });
    assert_eq!(labels(&world), "Off");
    world.servers.remove(&server_id(0));
    world.carry_out(&Step::List { region: eu01() });
    assert_eq!(labels(&world), "Gone");
    world.facts.machines.get_mut(&name(0)).unwrap().class = "unknown".into();
    assert_eq!(labels(&world), "Unknown", "nobody knows where to look");
    world.facts.machines.get_mut(&name(0)).unwrap().class = CLASS.into();
    let mut other = world.classes[CLASS].clone();
    other.region = "eu02".into();
    world.classes.insert("other".into(), other);
    world.facts.classes.insert("other".into(), Provider::Stackit);
    assert_eq!(labels(&world), "Unknown", "another region was not listed");
    world.now += secs(61);
    assert_eq!(labels(&world), "Unknown");
}
