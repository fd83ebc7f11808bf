//! Admission rewrites only behind a guard that was proved in the same pass, and on Nodes that hide nobody.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::domain::{LegacyProviderId, Provider, Reason};
use mcm_migration_core::plan::{Action, Proof, qualifies_for_guard};
use proptest::prelude::*;
use side_task::Case;
use side_task::generate::case;
use side_task::oracle::{closed, gate_is_open, no_openstack, nodes_are_ready, openstack_gone};

fn is_planned(case: &Case, step: &str) -> bool {
    case.actions().iter().any(|action| action.step() == step)
}

fn is_armed(case: &Case) -> bool {
    case.facts.migration.is_some_and(|migration| migration.armed)
}

/// The plan says nothing else than why it does nothing.
fn is_quiet(case: &Case) -> bool {
    let plan = case.plan();
    plan.is_err()
        || plan.is_ok_and(|plan| {
            let first = plan.waits.first().map(|wait| wait.because.reason);
            plan.actions.is_empty() && matches!(first, Some(Reason::Paused | Reason::RollingBack))
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_shoot_is_armed_behind_a_proved_guard_while_every_node_is_ready(case in case(0)) {
        if !is_planned(&case, "arm") {
            return Ok(());
        }
        prop_assert_eq!(&case.proof, &Proof::Holds);
        prop_assert!(closed(&case.facts) && case.facts.migration.is_some() && !is_armed(&case));
        prop_assert!(no_openstack(&case.facts));
        prop_assert!(case.facts.classes.values().any(|provider| *provider == Provider::Stackit));
        prop_assert!(case.facts.machines.values().any(|m| m.provider_id.starts_with("openstack:") || m.marked));
        prop_assert!(nodes_are_ready(&case));
        prop_assert!(case.now >= openstack_gone(&case).unwrap() + case.settings.nodes.ready_for);
    }

    #[test]
    fn what_is_armed_is_taken_back_when_the_guard_does_not_hold(case in case(0)) {
        let fails = matches!(case.proof, Proof::Fails(_));
        if is_armed(&case) && !is_quiet(&case) && fails {
            prop_assert!(is_planned(&case, "disarm"));
        }
        if is_planned(&case, "disarm") {
            prop_assert!(is_armed(&case) && !is_planned(&case, "arm"));
            prop_assert!(fails || !no_openstack(&case.facts));
        }
    }

    #[test]
    fn what_is_armed_is_taken_back_when_something_of_openstack_is_back(case in case(1)) {
        if is_armed(&case) && closed(&case.facts) && !is_quiet(&case) && !no_openstack(&case.facts) {
            prop_assert!(is_planned(&case, "disarm"));
        }
    }

    #[test]
    fn a_machine_is_touched_only_when_admission_would_rewrite_it(case in case(0)) {
        let mut last_terminates = true;
        for action in case.actions() {
            let Action::Touch { machine } = &action else { continue };
            let machine = &case.facts.machines[machine];
            prop_assert!(LegacyProviderId::parse(&machine.provider_id).is_some());
            prop_assert!(gate_is_open(&case.facts, &machine.class));
            prop_assert!(case.settings.touch);
            prop_assert_eq!(&case.proof, &Proof::Holds);
            prop_assert!(last_terminates || !machine.terminating, "terminating ones first");
            last_terminates = machine.terminating;
        }
    }

    #[test]
    fn every_legacy_machine_says_what_it_waits_for(case in case(0)) {
        if is_quiet(&case) {
            return Ok(());
        }
        let plan = case.plan().unwrap();
        for (name, machine) in &case.facts.machines {
            let waits = plan.waits.iter().any(|wait| wait.name == *name);
            prop_assert!(waits || !machine.is_legacy());
            let touched = plan.actions.contains(&Action::Touch { machine: name.clone() });
            let well_formed = LegacyProviderId::parse(&machine.provider_id).is_some();
            let may = well_formed && gate_is_open(&case.facts, &machine.class) && case.settings.touch;
            prop_assert_eq!(touched, may && case.proof == Proof::Holds);
        }
    }

    #[test]
    fn the_guard_is_closed_for_a_shoot_that_qualifies_and_probed_at_every_pass(case in case(0)) {
        if is_quiet(&case) {
            return Ok(());
        }
        let ready = closed(&case.facts) && case.facts.migration.is_some();
        let qualifies = qualifies_for_guard(&case.facts).is_ok();
        prop_assert_eq!(is_planned(&case, "guard"), qualifies && !ready);
        if ready || is_planned(&case, "probe") {
            prop_assert_eq!(is_planned(&case, "probe"), case.proof == Proof::Unasked);
            prop_assert!(closed(&case.facts));
        }
    }
}
