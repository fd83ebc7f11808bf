//! The side task acts on a shoot only as far as the shoot is this seed's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use std::collections::BTreeMap;

use mcm_migration_core::domain::GuardLabel;
use mcm_migration_core::plan::{Action, Ownership, ownership};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use side_task::generate::case;
use side_task::nearly::{labelling_case, settling_case};

fn needs_to_be_ours(action: &Action) -> bool {
    match action {
        Action::Label { .. }
        | Action::LabelPart { .. }
        | Action::CareForBootVolume { .. }
        | Action::Clear { .. }
        | Action::Except { .. }
        | Action::Readmit { .. }
        | Action::MarkWorker { .. }
        | Action::UnmarkWorker { .. } => true,
        Action::List { .. }
        | Action::ListParts { .. }
        | Action::Address { .. }
        | Action::SettleId { .. }
        | Action::SettleNoServer { .. }
        | Action::Retire { .. }
        | Action::CloseGuard
        | Action::Probe
        | Action::Arm
        | Action::Disarm { .. }
        | Action::Touch { .. } => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn nothing_is_done_where_nothing_may_be_done(case in case(1)) {
        let paused = case.facts.migration.is_some_and(|migration| migration.paused);
        let rolling_back = case.facts.guard() == Some(GuardLabel::RollingBack);
        let stackit = case.facts.workers.values().all(|worker| worker.is_stackit);
        let ours = ownership(&case.facts);
        let plan = case.plan();
        if paused || rolling_back || !stackit || ours.is_err() {
            prop_assert_eq!(case.actions(), []);
        }
        prop_assert_eq!(plan.is_ok(), stackit && ours.is_ok());
        if let Ok(plan) = plan {
            prop_assert!(!(paused || rolling_back) || !plan.waits.is_empty(), "it says why");
        }
    }

    #[test]
    fn labels_and_marks_are_only_for_a_shoot_that_is_ours(case in case(0)) {
        for action in case.actions() {
            prop_assert!(ownership(&case.facts) == Ok(Ownership::Ours) || !needs_to_be_ours(&action), "{:?}", action);
        }
    }

    #[test]
    fn no_step_is_planned_twice_for_one_object(case in case(1)) {
        let mut seen = std::collections::BTreeSet::new();
        for action in case.actions() {
            prop_assert!(seen.insert((action.step(), action.subject().to_owned())), "{:?}", action);
        }
    }
}

/// The other properties speak of actions; so each action must be planned often enough among the generated shoots.
#[test]
fn the_generated_shoots_plan_every_action() {
    let mut runner = TestRunner::deterministic();
    let mut planned = BTreeMap::<&str, usize>::new();
    let shoots = proptest::strategy::Union::new([
        case(0).boxed(),
        case(1).boxed(),
        case(2).boxed(),
        labelling_case().boxed(),
        settling_case().boxed(),
    ]);
    for _ in 0..8192 {
        for action in shoots.new_tree(&mut runner).unwrap().current().actions() {
            let step = match action {
                Action::SettleId { .. } => "settle-id",
                Action::SettleNoServer { .. } => "settle-no-server",
                other => other.step(),
            };
            *planned.entry(step).or_default() += 1;
        }
    }
    println!("{planned:?}");
    for step in [
        "address",
        "arm",
        "boot-volume",
        "clear",
        "complete",
        "disarm",
        "guard",
        "label",
        "label-nic",
        "label-volume",
        "list",
        "list-nics",
        "list-volumes",
        "probe",
        "readmit",
        "retire",
        "settle-id",
        "settle-no-server",
        "touch",
        "uncomplete",
    ] {
        assert!(planned.get(step).is_some_and(|times| *times >= 10), "{step}: {planned:?}");
    }
}
