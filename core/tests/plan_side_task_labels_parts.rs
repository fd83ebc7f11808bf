//! What the OpenStack provider made apart for a server is labelled only when it is that server's for certain, after the same gates as the server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{PartKind, Reason, ServerId};
use mcm_migration_core::plan::{Action, ListedParts, Settings};
use proptest::prelude::*;
use side_task::example::{CLASS, NOW, armed, lease, rewritten, server};
use side_task::nearly::labelling_case;
use side_task::oracle::{closed, no_openstack, quarantine_is_proved};
use side_task::parts::{carries, is_the_machines, made_apart, wanted};
use side_task::{Case, DOMAIN, eu01, secs, server_id, steps};

/// A Machine whose server carries all its labels, and these parts.
fn labelled_server(parts: &[(PartKind, &str)]) -> Case {
    let mut shown = server(0, "m-0");
    for (key, value) in [("machine", "m-0"), ("machineclass", CLASS), ("cluster", "shoot--p--s")] {
        shown.labels.insert(format!("{DOMAIN}/{key}").into(), value.into());
    }
    let mut case = armed(&[("m-0", rewritten(0))], vec![shown]);
    // The Lease is renewed long after the ID was first seen.
    let mut look = case.looks[1].clone();
    (look.at, look.lease) = (secs(1_000), Some(Some(lease("mcm-0", 1_000))));
    case.looks.insert(1, look);
    for kind in PartKind::ALL {
        let of_kind = parts.iter().filter(|(of, _)| *of == kind);
        let parts = of_kind.map(|(kind, name)| made_apart(*kind, server_id(0), name));
        case.cloud.parts.insert((eu01(), kind), ListedParts::new(parts, secs(NOW)));
    }
    case
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn only_what_is_the_machines_is_labelled_and_after_every_gate(case in labelling_case()) {
        let actions = case.actions();
        for action in &actions {
            let Action::LabelPart { machine, region, server, part: id, labels } = action else { continue };
            let facts = &case.facts.machines[machine];
            prop_assert_eq!(&*facts.provider_id, format!("stackit://{}/{server}", case.facts.project.unwrap()));
            prop_assert!(closed(&case.facts) && no_openstack(&case.facts));
            prop_assert_eq!(quarantine_is_proved(&case, machine), Ok(()));
            let shown = &case.cloud.lists[region].servers[server];
            prop_assert_eq!(&shown.name, machine);
            prop_assert_eq!(shown.labels.get("kubernetes.io/machineclass"), Some(&facts.class), "the server goes first");

            let listed = &case.cloud.parts[&(region.clone(), id.kind())];
            prop_assert!(case.now <= listed.at + Settings::LIST_MAX_AGE);
            prop_assert!(case.cloud.part_trouble(region, id.kind()).is_none());
            let part = listed.attached[server].iter().find(|part| part.id == *id).expect("it was listed there");
            prop_assert!(is_the_machines(part, machine, *server), "{:?}", part);
            let wanted = wanted(machine, *server);
            prop_assert!(!labels.is_empty());
            for (key, value) in labels {
                prop_assert_eq!(wanted.get(&**key).map(String::as_str), Some(&**value), "only what is wanted");
                prop_assert!(part.labels.get(key) != Some(value), "only what differs");
            }
        }
        let of_parts = |action: &Action| matches!(action, Action::LabelPart { .. });
        let last = |action: &Action| of_parts(action) || matches!(action.step(), "complete" | "uncomplete");
        prop_assert!(actions.iter().skip_while(|action| !of_parts(action)).all(last), "servers go first");
    }

    #[test]
    fn the_marker_stays_until_every_part_is_labelled(case in labelling_case()) {
        for action in case.actions() {
            let Action::Clear { machine } = action else { continue };
            let id = &case.facts.machines[&machine].provider_id;
            let server = ServerId::parse(&id[id.len() - 36..]).unwrap();
            for kind in PartKind::ALL {
                let listed = &case.cloud.parts[&(eu01(), kind)];
                for part in listed.attached.get(&server).into_iter().flatten() {
                    let is_its = is_the_machines(part, &machine, server);
                    prop_assert!(!is_its || carries(part, &wanted(&machine, server)), "{:?}", part);
                }
            }
        }
    }
}

#[test]
fn both_kinds_are_listed_before_anything_is_said_of_a_machine() {
    let mut case = labelled_server(&[]);
    assert_eq!(steps(&case.actions()), ["clear"]);
    case.cloud.parts.clear();
    assert_eq!(steps(&case.actions()), ["list-nics", "list-volumes"]);
}

#[test]
fn a_part_holds_its_machine_and_not_its_servers_labels() {
    let case = labelled_server(&[(PartKind::Nic, "m-0"), (PartKind::Volume, "m-0"), (PartKind::Volume, "pvc-1")]);
    assert_eq!(steps(&case.actions()), ["label-nic", "label-volume"]);
    assert_eq!(case.plan().unwrap().labelled, 1, "the server itself carries every label");

    let mut bare = case.clone();
    bare.cloud.take_up(&eu01(), server(0, "m-0"));
    assert_eq!(steps(&bare.actions()), ["label"]);

    // The list of volumes is refused: the network interface is labelled, and the Machine says what it waits for.
    let mut refused = case.clone();
    refused.cloud.part_troubles.insert((eu01(), PartKind::Volume), Because::of(Reason::CloudForbidden));
    assert_eq!(steps(&refused.actions()), ["label-nic"]);
    let mut stopped = case;
    stopped.cloud.parts.insert((eu01(), PartKind::Nic), ListedParts::new([], secs(NOW)));
    stopped.cloud.parts_stopped.insert(PartKind::Volume, Because::of(Reason::PartLabelRefused));
    assert!(stopped.actions().is_empty());
    assert_eq!(stopped.waits("m-0"), ["part-label-refused"]);
}

#[test]
fn a_finished_machine_whose_part_lost_its_label_gets_it_after_a_quarantine_of_this_leader() {
    let mut case = labelled_server(&[(PartKind::Nic, "m-0")]);
    side_task::example::change(&mut case, |facts| facts.machines.get_mut("m-0").unwrap().marked = false);
    assert_eq!(steps(&case.actions()), ["label-nic"]);
    case.looks.drain(..2);
    assert_eq!((steps(&case.actions()), case.waits("m-0").len()), (vec![], 1));
}

#[test]
fn a_name_that_no_label_holds_is_said() {
    let mut case = labelled_server(&[(PartKind::Nic, "m-0")]);
    case.namespace = "x".repeat(64);
    assert!(case.actions().is_empty());
    assert!(case.waits("m-0")[0].starts_with("name-too-long"));
}
