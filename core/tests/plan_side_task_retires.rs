//! A class that was left `OpenStack` is retired only when nothing wants it, nothing is created by it and nobody acts through it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::domain::{Provider, Region};
use mcm_migration_core::plan::Action;
use proptest::prelude::*;
use serde_json::json;
use side_task::generate::case;
use side_task::oracle::switched;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn no_class_is_retired_that_is_wanted_or_in_use(case in case(1)) {
        for action in case.actions() {
            let Action::Retire { class, .. } = &action else { continue };
            prop_assert_eq!(case.facts.classes.get(class), Some(&Provider::OpenStack));
            prop_assert!(switched(&case.facts));
            for worker in case.facts.workers.values().filter(|worker| !worker.terminating) {
                prop_assert!(!worker.wanted_machine_deployments.is_empty());
                for wanted in &worker.wanted_machine_deployments {
                    let of = case.facts.machine_deployments.get(wanted);
                    prop_assert!(of.is_some() && of != Some(class));
                    prop_assert_eq!(case.facts.classes.get(of.unwrap()), Some(&Provider::Stackit));
                }
            }
            for machine in case.facts.machines.values().filter(|machine| machine.class == *class) {
                prop_assert!(!machine.provider_id.is_empty() || machine.settled);
            }
        }
    }

    #[test]
    fn it_gets_what_a_sibling_has_or_a_region_alone(case in case(1)) {
        for action in case.actions() {
            let Action::Retire { class, sibling, provider_spec } = &action else { continue };
            let stackit = |name: &str| case.facts.classes.get(name) == Some(&Provider::Stackit);
            let pool = |name: &str| name[..name.len() - 6].to_owned();
            let mut kin = case.classes.keys().filter(|name| stackit(name) && pool(name) == pool(class)).peekable();
            if let Some(sibling) = sibling {
                    prop_assert!(stackit(sibling));
                    prop_assert_eq!(&case.classes[sibling].provider_spec, provider_spec);
                    prop_assert!(kin.peek().is_none() || kin.any(|kin| kin == sibling), "the same pool and zone first");
            } else {
                    prop_assert!(!case.facts.has_stackit_class());
                    let region = provider_spec["region"].as_str().unwrap();
                    prop_assert!(Region::parse(region).is_ok());
                    prop_assert_eq!(provider_spec, &json!({"region": region}));
            }
        }
    }

    #[test]
    fn every_class_that_is_left_is_retired_or_says_why_not(case in case(1)) {
        let Ok(plan) = case.plan() else { return Ok(()) };
        let quiet = plan.waits.first().is_some_and(|wait| matches!(wait.because.reason.name(), "paused" | "rolling-back"));
        if quiet || !switched(&case.facts) {
            return Ok(());
        }
        for (name, _) in case.facts.classes.iter().filter(|(_, provider)| **provider == Provider::OpenStack) {
            let retired = plan.actions.iter().any(|action| action.step() == "retire" && action.subject() == &**name);
            prop_assert!(retired != plan.waits.iter().any(|wait| wait.name == *name), "{}", name);
        }
    }
}
