//! Which labels of a domain used before are told, and which markers are only left over.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use std::collections::BTreeMap;

use mcm_migration_core::decide::{MachineFacts, NamespaceFacts};
use mcm_migration_core::domain::{Part, PartKind, ProjectId, Server, ServerId, ServerStatus};
use mcm_migration_core::plan::{Action, Alive, ClassDetails, Remains, old_labels, stale_markers};
use side_task::example::{CLASS, rewritten, server};
use side_task::parts::made_apart;
use side_task::{DOMAIN, NAMESPACE, eu01, openstack_class, server_id, stackit_class};
use worlds::{PROJECT, switched_shoot};

const OLD: &str = "old.example";

struct Shown {
    machine: MachineFacts,
    server: Server,
    classes: BTreeMap<Box<str>, ClassDetails>,
    project: ProjectId,
}

impl Shown {
    /// A finished Machine whose server carries every label of the present domain, and those of the old one.
    fn finished() -> Self {
        let mut server = server(0, "m-0");
        for (key, value) in [
            (format!("{DOMAIN}/machine"), "m-0"),
            (format!("{DOMAIN}/machineclass"), CLASS),
            ("kubernetes.io/cluster".to_owned(), "shoot--p--s"),
            (format!("{OLD}/machine"), "m-0"),
            (format!("{OLD}/machineclass"), CLASS),
        ] {
            server.labels.insert(key.into(), value.into());
        }
        let machine = MachineFacts { marked: false, ..rewritten(0) };
        let classes = [(CLASS.into(), stackit_class())].into();
        Self { machine, server, classes, project: ProjectId::parse(PROJECT).unwrap() }
    }

    fn ask<T>(&self, question: impl FnOnce(&Remains<'_>) -> T) -> T {
        let facts = NamespaceFacts { machines: [("m-0".into(), self.machine.clone())].into(), ..switched_shoot() };
        let servers: BTreeMap<ServerId, Server> = [(self.server.id, self.server.clone())].into();
        let alive = Alive::of([("m-0", &self.machine)]);
        question(&Remains {
            namespace: NAMESPACE,
            facts: &facts,
            project: self.project,
            servers: &servers,
            parts: &[],
            alive: &alive,
        })
    }

    fn old(&self, domains: &[&str]) -> Vec<String> {
        let domains: Vec<String> = domains.iter().map(|domain| (*domain).to_owned()).collect();
        let found = self.ask(|remains| old_labels(remains, &self.classes, DOMAIN, &domains));
        found.iter().flat_map(|old| old.keys.iter().map(|key| format!("{} {key}", old.machine))).collect()
    }

    fn stale(&self) -> Vec<String> {
        self.ask(|remains| stale_markers(remains, &self.classes, DOMAIN).map(str::to_owned).collect())
    }
}

#[test]
fn labels_of_the_old_domain_on_a_finished_machines_server_are_told() {
    let shown = Shown::finished();
    let both = ["m-0 old.example/machine", "m-0 old.example/machineclass"];
    assert_eq!(shown.old(&[OLD]), both);
    assert_eq!(shown.old(&["other.example", OLD]), both);
    assert!(shown.old(&[]).is_empty());
    assert!(shown.old(&[DOMAIN]).is_empty(), "the present domain is no old one");
    assert!(shown.old(&["other.example"]).is_empty());
}

#[test]
fn only_the_very_value_that_this_program_gave_is_told() {
    let mut shown = Shown::finished();
    shown.server.labels.insert(format!("{OLD}/machine").into(), "m-1".into());
    assert_eq!(shown.old(&[OLD]), ["m-0 old.example/machineclass"]);
    shown.server.labels.remove(&*format!("{OLD}/machineclass"));
    assert!(shown.old(&[OLD]).is_empty());
}

#[test]
fn a_key_that_the_class_asks_for_is_none() {
    let mut shown = Shown::finished();
    let class = shown.classes.get_mut(CLASS).unwrap();
    class.labels.insert(format!("{OLD}/machine").into(), "m-0".into());
    assert_eq!(shown.old(&[OLD]), ["m-0 old.example/machineclass"]);
}

#[test]
fn nothing_is_told_of_a_machine_that_is_not_finished_or_of_a_server_that_is_not_its_own() {
    for (what, change_it) in [
        ("marked", (|shown| shown.machine.marked = true) as fn(&mut Shown)),
        ("never migrated", |shown| shown.machine.migrated = false),
        ("terminating", |shown| shown.machine.terminating = true),
        ("another server", |shown| shown.server.id = server_id(1)),
        ("another name", |shown| shown.server.name = "m-1".into()),
        ("another project", |shown| shown.project = ProjectId::parse(server_id(5).as_str()).unwrap()),
        ("no class", |shown| shown.classes.clear()),
        ("a class of OpenStack", |shown| drop(shown.classes.insert(CLASS.into(), openstack_class()))),
        ("a label is missing", |shown| drop(shown.server.labels.remove("kubernetes.io/machine"))),
        ("the API refuses changes", |shown| shown.server.status = ServerStatus::Deallocated),
    ] {
        let mut shown = Shown::finished();
        change_it(&mut shown);
        assert!(shown.old(&[OLD]).is_empty(), "{what}");
    }
}

#[test]
fn a_marker_is_stale_when_every_label_is_in_place() {
    let mut shown = Shown::finished();
    assert!(shown.stale().is_empty(), "there is no marker");
    shown.machine.marked = true;
    assert_eq!(shown.stale(), ["m-0"]);
    shown.server.labels.remove("kubernetes.io/machine");
    assert!(shown.stale().is_empty());
}

#[test]
fn parts_are_named_by_kind_and_id() {
    let named = |kind| made_apart(kind, server_id(0), "m").id.to_string();
    assert_eq!(named(PartKind::Nic), format!("network interface {}", server_id(0)));
    assert_eq!(named(PartKind::Volume), format!("volume {}", server_id(0)));
    assert_eq!(PartKind::ALL.map(|kind| kind.to_string()), ["network interface", "volume"]);
    let of_csi = |key: &str| Part {
        labels: [(key.into(), "x".into())].into(),
        ..made_apart(PartKind::Volume, server_id(0), "m")
    };
    assert!(of_csi("Cinder.CSI.openstack.org/cluster").is_of_csi());
    assert!(!of_csi("kubernetes.io/cluster").is_of_csi());
}

#[test]
fn the_steps_that_are_about_a_region_are_told_from_the_others() {
    let list = Action::List { region: eu01() };
    let parts = PartKind::ALL.map(|kind| Action::ListParts { region: eu01(), kind });
    for action in parts.iter().chain([&list]) {
        assert!(Action::is_list(action.step()), "{action:?}");
    }
    assert!(!Action::is_list(Action::Clear { machine: "m".into() }.step()));
}
