//! Why a sweep only tells of something, in its own words, and whose it takes it to be.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::decide::{Because, MigrationFacts, NamespaceFacts, NamespaceLabels};
use mcm_migration_core::domain::{GuardLabel, Part, PartKind, ProjectId, Reason};
use mcm_migration_core::plan::{Alive, Kept, Remains, leftovers, leftovers_of_others, may_be_swept};
use side_task::example::CLASS;
use side_task::parts::made_apart;
use side_task::{NAMESPACE, providers, server_id, stackit_class};
use worlds::{PROJECT, switched_shoot};

fn project() -> ProjectId {
    ProjectId::parse(PROJECT).unwrap()
}

fn shoot(guard: Option<GuardLabel>) -> NamespaceFacts {
    NamespaceFacts {
        namespace: Some(NamespaceLabels { guard, terminating: false }),
        migration: Some(MigrationFacts { armed: true, ..MigrationFacts::default() }),
        classes: providers(&[(CLASS.into(), stackit_class())].into()),
        ..switched_shoot()
    }
}

/// A part without a server, of this name and with these labels.
fn part(name: &str, labels: &[(&str, &str)]) -> Part {
    let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Part { server: None, idle: true, labels, ..made_apart(PartKind::Volume, server_id(0), name) }
}

#[test]
fn each_reason_to_keep_something_is_one_sentence() {
    let server = server_id(3);
    for (kept, text) in [
        (Kept::NotProven, "its name and its labels do not prove whose it was".to_owned()),
        (Kept::Attached, "it is attached".to_owned()),
        (Kept::NotIdle, "its status does not say that it is unused".to_owned()),
        (Kept::MachineLives, "a Machine of the seed has its name or its server".to_owned()),
        (Kept::ServerThere(server), format!("server {server} is there: its Machine may live in another seed")),
        (
            Kept::SettledNoServer,
            "it has the name of a Machine that is settled as no-server, and no label of ours".to_owned(),
        ),
        (Kept::Unlabelled, "it has the name of a Machine that is gone, and no label of ours".to_owned()),
        (Kept::OfCsi, "a storage driver made it".to_owned()),
        (Kept::ShootElsewhere, "its shoot is not in this seed".to_owned()),
        (Kept::Held(Because::of(Reason::Paused)), "its shoot is held: paused".to_owned()),
    ] {
        assert_eq!(kept.to_string(), text);
    }
}

#[test]
fn a_shoot_is_swept_only_behind_a_closed_guard() {
    let swept = |guard| may_be_swept(&shoot(guard), project()).map_err(|because| because.reason);
    assert_eq!(swept(Some(GuardLabel::Closed)), Ok(()));
    assert_eq!(swept(Some(GuardLabel::RollingBack)), Err(Reason::RollingBack));
    assert_eq!(swept(Some(GuardLabel::Unknown)), Err(Reason::NoGuard));
    assert_eq!(swept(None), Err(Reason::NoGuard));
}

#[test]
fn parts_of_shoots_that_are_elsewhere_are_told() {
    let of = |shoot| part("m", &[("mcm-migration-shoot", shoot)]);
    let attached = Part { server: Some(server_id(1)), ..of("shoot--p--x") };
    let parts = [of("shoot--p--x"), of(NAMESPACE), part("m", &[]), attached];
    let told = leftovers_of_others(&parts, |shoot| shoot == NAMESPACE);
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0].part, &told[0].fate), (&parts[0], &Err(Kept::ShootElsewhere)));
}

#[test]
fn a_part_is_of_the_shoot_that_its_label_names_or_else_of_the_one_that_its_name_begins_with() {
    let fate = |part: Part| {
        let (facts, alive) = (shoot(Some(GuardLabel::Closed)), Alive::default());
        let (servers, parts) = ([].into(), [part]);
        let remains = Remains {
            namespace: NAMESPACE,
            facts: &facts,
            project: project(),
            servers: &servers,
            parts: &parts,
            alive: &alive,
        };
        leftovers(&remains).pop().map(|leftover| leftover.fate)
    };
    let own = format!("{NAMESPACE}-w-0");
    assert_eq!(fate(part(&own, &[])), Some(Err(Kept::Unlabelled)));
    assert_eq!(fate(part("shoot--p--x-w-0", &[])), None);
    assert_eq!(fate(part(&format!("{NAMESPACE}x-w-0"), &[])), None);
    assert_eq!(fate(part(&own, &[("mcm-migration-shoot", "shoot--p--x")])), None);
    assert_eq!(fate(part("x", &[("mcm-migration-shoot", NAMESPACE)])), Some(Err(Kept::NotProven)));
    let attached = Part { server: Some(server_id(1)), ..part(&own, &[]) };
    assert_eq!(fate(attached), None);
    let of_network = Part { of_network: true, ..part(&own, &[]) };
    assert_eq!(fate(of_network), None);
}
