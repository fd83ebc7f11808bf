//! A server is labelled only when it is its Machine's for certain and no machine-controller-manager can take it for an orphan.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use std::collections::BTreeMap;

use mcm_migration_core::domain::{GuardLabel, Provider, Server, ServerId, ServerStatus};
use mcm_migration_core::plan::{Action, Ownership, Settings, ownership};
use proptest::prelude::*;
use side_task::nearly::labelling_case;
use side_task::oracle::{closed, no_openstack, quarantine_is_proved};
use side_task::{Case, DOMAIN};

fn is_label_value(value: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric();
    value.is_empty()
        || value.len() <= 63
            && value.starts_with(letter)
            && value.ends_with(letter)
            && value.chars().all(|c| letter(c) || "-_.".contains(c))
}

/// The server by the last LIST, and the labels that it must have.
fn listed<'a>(case: &'a Case, name: &str, server: ServerId) -> Option<(&'a Server, BTreeMap<String, String>)> {
    let class_name = &case.facts.machines.get(name)?.class;
    let class = case.classes.get(class_name)?;
    let list = case.cloud.lists.get(&class.region(&case.settings.regions)?)?;
    let mut wanted: BTreeMap<String, String> =
        class.labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    wanted.insert(format!("{DOMAIN}/machine"), name.to_owned());
    wanted.insert(format!("{DOMAIN}/machineclass"), class_name.to_string());
    Some((list.servers.get(&server)?, wanted))
}

/// What must hold of a server before anything is done to it, or to its Machine in its name.
fn is_the_machines(case: &Case, name: &str, server: ServerId) -> Result<(), TestCaseError> {
    let machine = &case.facts.machines[name];
    let project = case.facts.project.expect("a project");
    prop_assert_eq!(&*machine.provider_id, format!("stackit://{project}/{server}"));
    prop_assert!(closed(&case.facts) && no_openstack(&case.facts));
    prop_assert_eq!(case.facts.classes.get(&machine.class), Some(&Provider::Stackit));
    let (shown, wanted) = listed(case, name, server).expect("the server was listed");
    prop_assert_eq!(&*shown.name, name);
    prop_assert!(wanted.values().all(|value| is_label_value(value)));
    Ok(())
}

/// A server with the label of the class that is nobody's here: neither the server of a Machine's ID, nor one that is just being made.
fn foreign_server(case: &Case, class: &str) -> bool {
    let list = &case.cloud.lists[&case.classes[class].region(&case.settings.regions).unwrap()];
    list.servers.values().any(|server| {
        let labelled = server.labels.get(&*format!("{DOMAIN}/machineclass")).is_some_and(|value| &**value == class);
        let made = || case.facts.machines.get(&server.name).is_some_and(|machine| machine.provider_id.is_empty());
        let named =
            || case.facts.machines.values().any(|machine| machine.provider_id.trim().ends_with(server.id.as_str()));
        labelled && server.status != ServerStatus::Deleting && !made() && !named()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn labels_are_set_on_the_machines_own_server_after_a_proved_quarantine(case in labelling_case()) {
        for action in case.actions() {
            let Action::Label { machine, region, server, labels } = action else { continue };
            is_the_machines(&case, &machine, server)?;
            prop_assert_eq!(quarantine_is_proved(&case, &machine), Ok(()));
            let list = &case.cloud.lists[&region];
            prop_assert!(case.now <= list.at + Settings::LIST_MAX_AGE);
            prop_assert!(case.cloud.stopped.is_none() && !case.cloud.troubles.contains_key(&region));

            let class = &case.facts.machines[&machine].class;
            prop_assert!(!foreign_server(&case, class), "somebody else has the label of {}", class);
            let (shown, wanted) = listed(&case, &machine, server).unwrap();
            prop_assert!(!matches!(shown.status, ServerStatus::Creating | ServerStatus::Deallocated | ServerStatus::Deleting));
            prop_assert!(!labels.is_empty());
            for (key, value) in &labels {
                prop_assert_eq!(wanted.get(&**key).map(String::as_str), Some(&**value), "only what is wanted");
                prop_assert!(shown.labels.get(key) != Some(value), "only what differs");
            }
            for (key, value) in &wanted {
                prop_assert!(labels.contains_key(&**key) || shown.labels.get(&**key).is_some_and(|is| **is == **value));
            }
        }
    }

    #[test]
    fn the_marker_goes_only_where_every_label_is_in_place(case in labelling_case()) {
        for action in case.actions() {
            let (machine, care) = match &action {
                Action::Clear { machine } => (machine, None),
                Action::CareForBootVolume { machine, server, .. } => (machine, Some(*server)),
                _ => continue,
            };
            let facts = &case.facts.machines[machine];
            prop_assert!(facts.marked);
            let server = ServerId::parse(&facts.provider_id[facts.provider_id.len() - 36..]).unwrap();
            is_the_machines(&case, machine, server)?;
            let (shown, wanted) = listed(&case, machine, server).unwrap();
            for (key, value) in &wanted {
                prop_assert_eq!(shown.labels.get(&**key).map(|value| &**value), Some(value.as_str()));
            }
            let to_care = case.settings.boot_volume_care && !case.cloud.cared.contains(&server);
            prop_assert_eq!(care, to_care.then_some(server));
        }
    }

    #[test]
    fn every_machine_that_came_from_openstack_is_labelled_or_says_why_not(case in labelling_case()) {
        let Ok(plan) = case.plan() else { return Ok(()) };
        let quiet = case.facts.migration.is_some_and(|migration| migration.paused)
            || case.facts.guard() == Some(GuardLabel::RollingBack);
        if quiet || ownership(&case.facts) != Ok(Ownership::Ours) || !closed(&case.facts) || !no_openstack(&case.facts) {
            return Ok(());
        }
        let ours = case.facts.machines.iter().filter(|(_, machine)| {
            machine.provider_id.starts_with("stackit:") && (machine.migrated || machine.marked)
        });
        let mut labelled = 0;
        for (name, machine) in ours {
            let server = ServerId::parse(machine.provider_id.rsplit('/').next().unwrap_or_default());
            let in_place = server.ok().and_then(|server| listed(&case, name, server)).is_some_and(|(shown, wanted)| {
                wanted.iter().all(|(key, value)| shown.labels.get(&**key).is_some_and(|is| **is == **value))
            });
            labelled += usize::from(in_place);
            let waits = plan.waits.iter().any(|wait| wait.name == *name);
            prop_assert!(waits || machine.exception.is_some() || in_place || plan.unknown > 0, "{} is forgotten", name);
        }
        prop_assert!(plan.labelled <= labelled);
    }
}
