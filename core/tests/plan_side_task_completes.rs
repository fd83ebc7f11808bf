//! The Worker is marked when every Machine is done, unmarked when one is not, and the status says what is so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use std::collections::BTreeSet;

use mcm_migration_core::decide::every_machine_is_done;
use mcm_migration_core::domain::{GuardLabel, Reason, ServerId};
use mcm_migration_core::plan::{Action, Ownership, Phase, Plan, Proof, Report, ownership};
use proptest::prelude::*;
use side_task::generate::case;
use side_task::nearly::labelling_case;
use side_task::oracle::{closed, no_openstack};
use side_task::{Case, DOMAIN};

/// Whether the last LISTs show every label of the class and the Machine on the server of each Machine that came from OpenStack, exceptions aside.
fn labels_are_shown(case: &Case) -> bool {
    case.facts.machines.iter().all(|(name, machine)| {
        let migrated = machine.provider_id.starts_with("stackit:") && (machine.migrated || machine.marked);
        !migrated || machine.exception.is_some() || is_labelled(case, name)
    })
}

fn is_labelled(case: &Case, name: &str) -> bool {
    let machine = &case.facts.machines[name];
    let labelled = || {
        let class = case.classes.get(&machine.class)?;
        let list = case.cloud.lists.get(&class.region(&case.settings.regions)?)?;
        let server = list.servers.get(&ServerId::parse(machine.provider_id.rsplit('/').next()?).ok()?)?;
        let has = |key: &str, value: &str| server.labels.get(key).is_some_and(|is| &**is == value);
        let wanted = class.labels.iter().all(|(key, value)| key.starts_with(DOMAIN) || has(key, value));
        Some(
            wanted && has(&format!("{DOMAIN}/machine"), name) && has(&format!("{DOMAIN}/machineclass"), &machine.class),
        )
    };
    labelled() == Some(true)
}

fn holds(report: &Report, type_: &str) -> Option<bool> {
    report.conditions.iter().find(|say| say.type_ == type_).map(|say| say.holds)
}

fn anything() -> impl Strategy<Value = Case> {
    prop_oneof![case(0).boxed(), case(1).boxed(), labelling_case().boxed()]
}

fn planned(case: &Case) -> Option<(Plan, Report)> {
    let plan = case.plan().ok()?;
    let report = case.report(&plan);
    Some((plan, report))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_worker_is_marked_only_when_nothing_is_left_to_do(case in labelling_case()) {
        for action in case.actions() {
            let Action::MarkWorker { worker } = &action else { continue };
            prop_assert!(!case.facts.workers[worker].marked);
            prop_assert_eq!(every_machine_is_done(&case.facts), Ok(()));
            prop_assert!(closed(&case.facts) && no_openstack(&case.facts));
            prop_assert!(case.facts.migration.is_some_and(|migration| migration.labelled && !migration.paused));
            prop_assert!(labels_are_shown(&case));
            for machine in case.facts.machines.values() {
                prop_assert!(!machine.provider_id.starts_with("openstack:"));
                prop_assert!(!machine.marked || machine.exception.is_some());
            }
        }
    }

    #[test]
    fn a_mark_is_taken_back_when_a_machine_is_not_done(case in anything()) {
        let open = case.facts.machines.values().any(|machine| {
            machine.provider_id.starts_with("openstack:") || (machine.marked && machine.exception.is_none())
        });
        let actions = case.actions();
        let quiet = case.facts.migration.is_some_and(|migration| migration.paused) || case.facts.guard() == Some(GuardLabel::RollingBack);
        let stackit = case.facts.workers.values().all(|worker| worker.is_stackit);
        for (name, worker) in &case.facts.workers {
            let unmarked = actions.contains(&Action::UnmarkWorker { worker: name.clone() });
            let ours = ownership(&case.facts) == Ok(Ownership::Ours) && stackit && !quiet;
            prop_assert_eq!(unmarked, worker.marked && open && ours);
        }
    }

    #[test]
    fn the_conditions_say_what_is_so(case in anything()) {
        let Some((plan, report)) = planned(&case) else { return Ok(()) };
        let facts = &case.facts;
        let legacy = facts.machines.values().filter(|machine| machine.provider_id.starts_with("openstack:")).count();
        let marked = facts.machines.values().any(|machine| machine.marked && machine.exception.is_none());
        let migration = facts.migration.unwrap_or_default();
        prop_assert_eq!(holds(&report, "Rewritten"), Some(legacy == 0));
        prop_assert_eq!(holds(&report, "Paused"), Some(migration.paused));
        if let Some(guarded) = holds(&report, "Guarded") {
            prop_assert_eq!(guarded, closed(facts) && case.proof == Proof::Holds);
        }
        prop_assert!(holds(&report, "Armed") != Some(true), "only the step that arms says so");
        if holds(&report, "Armed") == Some(false) {
            prop_assert!(!migration.armed);
        }
        match holds(&report, "Labelled") {
            Some(true) => {
                prop_assert!(legacy == 0 && !marked && plan.unknown == 0 && !migration.paused);
                prop_assert!(closed(facts) && no_openstack(facts) && labels_are_shown(&case));
                prop_assert_eq!(ownership(facts), Ok(Ownership::Ours));
            }
            Some(false) => prop_assert!(legacy > 0 || marked || plan.waits.iter().any(|wait| !wait.name.is_empty())),
            None => prop_assert!(legacy == 0 && !marked),
        }
    }

    #[test]
    fn complete_means_that_nothing_is_left(case in anything()) {
        let Some((_, report)) = planned(&case) else { return Ok(()) };
        let complete = holds(&report, "Complete").unwrap();
        prop_assert_eq!(complete, report.phase == Phase::Complete);
        prop_assert_eq!(complete, report.reason.is_none());
        if complete {
            prop_assert!(closed(&case.facts));
            for machine in case.facts.machines.values() {
                prop_assert!(!machine.provider_id.starts_with("openstack:"));
                prop_assert!(!machine.marked || machine.exception.is_some());
            }
            prop_assert!(!case.facts.workers.is_empty() && case.facts.workers.values().all(|worker| worker.marked));
            prop_assert!(holds(&report, "Labelled").unwrap_or(case.facts.migration.unwrap_or_default().labelled));
        }
    }

    #[test]
    fn the_counts_add_up_and_every_condition_is_said_once_in_one_sentence(case in anything()) {
        let Some((plan, report)) = planned(&case) else { return Ok(()) };
        let machines = case.facts.machines.values();
        let counts = &report.counts;
        prop_assert_eq!(counts.total, machines.len());
        prop_assert!(counts.terminating_legacy <= counts.legacy && counts.legacy + counts.labelled <= counts.total);
        prop_assert_eq!(counts.quarantined, counts.waiting.get(&Reason::Quarantined).copied().unwrap_or_default());
        prop_assert_eq!(counts.labelled, plan.labelled);
        let said: BTreeSet<_> = report.conditions.iter().map(|say| say.type_).collect();
        prop_assert_eq!(said.len(), report.conditions.len());
        for say in &report.conditions {
            prop_assert!(say.message.ends_with('.') && say.message.chars().all(|c| !c.is_control()), "{:?}", say);
        }
    }
}
