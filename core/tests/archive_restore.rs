//! Whatever an export holds and whatever a shoot is like: a restore writes only what the gate of the way back lets through, never a STACKIT ID, and
//! nothing twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod way_back;
mod worlds;

use std::collections::BTreeMap;

use mcm_migration_core::archive::{
    Change, ClassRecord, Finding, MachineRecord, MigrationRecord, NamespaceRecord, Record, Verdict, WorkerRecord,
    finding,
};
use mcm_migration_core::domain::{GuardLabel, LegacyProviderId, ProviderId, Reason, StackitProviderId, keys};
use mcm_migration_core::plan::way_back::{Step, may_write_old};
use way_back::{Kind, OPENSTACK, STACKIT, World, eu01, name, new_id, old_id, pod, server, server_id};

const SHOOT: &str = "shoot--p--s";
const OTHER_PROJECT: &str = "99999999-7d5e-4f60-8a91-b2c3d4e5f601";

fn record(id: &str, annotations: &[(&str, &str)]) -> Record {
    Record::Machine(MachineRecord {
        namespace: SHOOT.into(),
        name: name(0),
        uid: "u".into(),
        provider_id: id.into(),
        class: "of-once".into(),
        annotations: annotations.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
    })
}

fn found(world: &World, record: &Record) -> Finding {
    finding(record, &world.shoot(), world.now).unwrap()
}

fn apply(world: &mut World, change: &Change) {
    let set = |world: &mut World, machine: &str, set: &BTreeMap<&'static str, Box<str>>| {
        for (key, value) in set {
            match *key {
                keys::MIGRATED_MACHINE => world.facts.machines.get_mut(machine).unwrap().migrated = true,
                keys::PREVIOUS_PROVIDER_ID => drop(world.previous.insert(machine.into(), value.clone())),
                other => panic!("{other} is written"),
            }
        }
    };
    match change {
        Change::ProviderId { machine, provider_id, set: more } => {
            let there = world.facts.machines.get_mut(machine).unwrap();
            there.provider_id = provider_id.clone();
            (there.marked, there.settled, there.exception) = (false, false, None);
            world.previous.remove(machine);
            set(world, machine, more);
        }
        Change::Annotations { machine, set: more } => set(world, machine, more),
        Change::UnmarkWorker { worker } => world.facts.workers.get_mut(worker).unwrap().marked = false,
    }
}

/// Every way in which a shoot of one Machine can be, as far as it matters here.
fn worlds() -> Vec<World> {
    let ids = [
        new_id(0),
        old_id(0),
        new_id(1),
        old_id(0).replace("RegionOne", "RegionTwo"),
        new_id(0).replace(worlds::PROJECT, OTHER_PROJECT),
        String::new(),
        "openstack:nonsense".to_owned(),
    ];
    let mut all = Vec::new();
    for id in ids {
        for guard in [None, Some(GuardLabel::Closed), Some(GuardLabel::RollingBack), Some(GuardLabel::Unknown)] {
            for (deployment, pods) in [(OPENSTACK, OPENSTACK), (STACKIT, STACKIT), (OPENSTACK, STACKIT)] {
                for labelled in [None, Some(true), Some(false)] {
                    for (previous, migrated) in
                        [(Some(old_id(0)), true), (Some(old_id(1)), true), (None, true), (None, false)]
                    {
                        let mut world = World::of(&[Kind::Rewritten { annotated: false }]);
                        world.facts.namespace.as_mut().unwrap().guard = guard;
                        world.facts.mcm_deployment = Some(deployment);
                        world.facts.mcm_pods = [("mcm-1".into(), pod("u1", pods))].into();
                        let machine = world.facts.machines.get_mut(&name(0)).unwrap();
                        (machine.provider_id, machine.migrated) = (id.as_str().into(), migrated);
                        world.previous.extend(previous.map(|id| (name(0), id.into())));
                        if let Some(labelled) = labelled {
                            world.servers = [(server_id(0), server(0, labelled))].into();
                            world.carry_out(&Step::List { region: eu01() });
                        }
                        all.push(world);
                    }
                }
            }
        }
    }
    all
}

fn records() -> Vec<Record> {
    let ids = [
        new_id(0),
        old_id(0),
        old_id(1),
        new_id(1),
        old_id(0).replace("RegionOne", "RegionTwo"),
        new_id(0).replace(worlds::PROJECT, OTHER_PROJECT),
        String::new(),
        "openstack:nonsense".to_owned(),
        "aws:///eu/i-1".to_owned(),
    ];
    let (old, other) = (old_id(0), old_id(1));
    let annotations: [&[(&str, &str)]; 4] = [
        &[],
        &[
            (keys::MIGRATED_MACHINE, "true"),
            (keys::PREVIOUS_PROVIDER_ID, &old),
            (keys::MACHINE_SHOULD_BE_MIGRATED, "true"),
        ],
        &[(keys::PREVIOUS_PROVIDER_ID, &other), (keys::EXCEPTION, "server-gone")],
        &[(keys::PREVIOUS_PROVIDER_ID, "nonsense"), (keys::SETTLED, "no-server")],
    ];
    ids.iter().flat_map(|id| annotations.iter().map(|annotations| record(id, annotations))).collect()
}

#[test]
fn only_what_the_gate_lets_through_is_written_never_a_stackit_id_and_nothing_twice() {
    let (mut back, mut lost, mut refused) = (0, 0, 0);
    for before in worlds() {
        for record in records() {
            let mut world = before.clone();
            let Record::Machine(wanted) = &record else { panic!("{record:?}") };
            let there = world.facts.machines[&name(0)].clone();
            match found(&world, &record).verdict {
                Verdict::Write(change) => {
                    assert!(may_write_old(&world.facts).is_ok(), "{change:?} behind a closed gate");
                    match &change {
                        Change::ProviderId { provider_id, .. } => {
                            let previous = LegacyProviderId::parse(provider_id).expect("a legacy ID");
                            let now = StackitProviderId::parse(&there.provider_id).expect("a STACKIT ID");
                            assert_eq!((now.server, Some(now.project)), (previous.server(), world.facts.project));
                            assert_eq!(*provider_id, wanted.provider_id);
                            let listed = world.cloud.lists.get(&eu01()).expect("the labels were looked at");
                            let labels = listed.servers.get(&now.server).map(|server| server.labels.clone());
                            let ours = |key: &str| way_back::OURS.contains(&key);
                            assert!(!labels.unwrap_or_default().keys().any(|key| ours(key)), "{change:?}");
                            back += 1;
                        }
                        Change::Annotations { .. } => {
                            assert_eq!(there.provider_id, wanted.provider_id, "{change:?}");
                            lost += 1;
                        }
                        Change::UnmarkWorker { .. } => panic!("no Worker was asked for"),
                    }
                    apply(&mut world, &change);
                    assert_eq!(found(&world, &record).verdict, Verdict::Same, "{change:?} is written twice");
                }
                Verdict::Refused(reasons) => {
                    assert!(!reasons.is_empty());
                    refused += 1;
                }
                Verdict::Left(because) => {
                    assert_eq!(because.reason, Reason::LeftToAdmission);
                    let ProviderId::Legacy(old) = ProviderId::of(&there.provider_id) else { panic!("{there:?}") };
                    let new = StackitProviderId::parse(&wanted.provider_id).expect("a STACKIT ID");
                    assert_eq!(new.server, old.server(), "what is said of another server");
                }
                Verdict::Same => assert_eq!(there.provider_id, wanted.provider_id),
            }
        }
    }
    assert!(back > 0 && lost > 0 && refused > 1_000, "{back} {lost} {refused}");
}

#[test]
fn a_worker_loses_its_mark_behind_an_open_gate_alone_and_never_gets_it() {
    let mut world = World::of(&[]);
    let (worker, marked) = world.facts.workers.first_key_value().map(|(name, it)| (name.clone(), it.marked)).unwrap();
    assert!(marked);
    let of = |annotations: &[(&str, &str)]| {
        let annotations = annotations.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        Record::Worker(WorkerRecord { namespace: SHOOT.into(), name: worker.clone(), uid: "u".into(), annotations })
    };
    let (with, without) = (of(&[(keys::WORKER_MIGRATED, "true")]), of(&[]));
    assert_eq!(found(&world, &with).verdict, Verdict::Same);
    assert!(matches!(found(&world, &without).verdict, Verdict::Refused(_)));
    world.facts.namespace.as_mut().unwrap().guard = Some(GuardLabel::RollingBack);
    let Verdict::Write(change) = found(&world, &without).verdict else { panic!("{:?}", found(&world, &without)) };
    apply(&mut world, &change);
    assert_eq!(found(&world, &without).verdict, Verdict::Same);
    assert!(matches!(found(&world, &with).verdict, Verdict::Left(_)));
}

#[test]
fn the_guard_the_pause_and_the_classes_are_compared_and_never_written() {
    let mut world = World::of(&[]);
    let (class, _) = world.classes.first_key_value().map(|(name, it)| (name.clone(), it.clone())).unwrap();
    let (namespace, uid): (Box<str>, Box<str>) = (SHOOT.into(), "u".into());
    let guard = |value: Option<&str>| {
        Record::Namespace(NamespaceRecord {
            namespace: namespace.clone(),
            uid: uid.clone(),
            guard: value.map(Into::into),
        })
    };
    let paused = |paused| {
        let (namespace, uid) = (namespace.clone(), uid.clone());
        Record::MachineMigration(MigrationRecord { namespace, uid, paused, annotations: BTreeMap::new() })
    };
    let provider = |provider: &str| {
        let (namespace, uid, name) = (namespace.clone(), uid.clone(), class.clone());
        Record::MachineClass(ClassRecord { namespace, name, uid, provider: provider.into() })
    };
    for guard_now in [GuardLabel::Closed, GuardLabel::RollingBack] {
        world.facts.namespace.as_mut().unwrap().guard = Some(guard_now);
        let closed = guard_now == GuardLabel::Closed;
        for (record, same) in [
            (guard(Some("closed")), closed),
            (guard(Some("rolling-back")), !closed),
            (guard(None), false),
            (paused(false), true),
            (paused(true), false),
            (provider("stackit"), true),
            (provider("OpenStack"), false),
        ] {
            let verdict = found(&world, &record).verdict;
            assert!(if same { verdict == Verdict::Same } else { matches!(verdict, Verdict::Left(_)) }, "{record:?}");
        }
    }
}
