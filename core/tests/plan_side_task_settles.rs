//! A Machine without an ID is settled only when nobody creates servers in OpenStack any more, and with the one server that is its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::domain::{LegacyProviderId, Provider, Reason, Server, ServerStatus};
use mcm_migration_core::plan::{Action, Listed, Settings};
use proptest::prelude::*;
use side_task::Case;
use side_task::generate::network;
use side_task::nearly::settling_case;
use side_task::oracle::{named_by_others, openstack_gone, switched, was_there};

/// The LIST of the region of a Machine's class, if the class is `OpenStack` and the LIST may be acted on.
fn list<'a>(case: &'a Case, machine: &str) -> Option<&'a Listed> {
    let class = case.classes.get(&case.facts.machines.get(machine)?.class)?;
    let list = case.cloud.lists.get(&class.region(&case.settings.regions)?)?;
    let fresh = case.now <= list.at + Settings::LIST_MAX_AGE;
    (class.provider == Provider::OpenStack && fresh && case.cloud.troubles.is_empty() && case.cloud.stopped.is_none())
        .then_some(list)
}

fn named<'a>(list: &'a Listed, machine: &str) -> Vec<&'a Server> {
    list.servers.values().filter(|server| &*server.name == machine).collect()
}

/// What holds of every Machine that is settled or prepared for it.
fn may_be_settled(case: &Case, machine: &str) -> Result<(), TestCaseError> {
    let facts = &case.facts.machines[machine];
    prop_assert!(facts.provider_id.is_empty() && !facts.settled);
    prop_assert_eq!(case.facts.classes.get(&facts.class), Some(&Provider::OpenStack));
    prop_assert!(switched(&case.facts));
    prop_assert!(openstack_gone(case).is_some());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_id_that_a_machine_gets_is_that_of_its_one_server(case in settling_case()) {
        for action in case.actions() {
            let Action::SettleId { machine, provider_id } = &action else { continue };
            may_be_settled(&case, machine)?;
            let id = LegacyProviderId::parse(provider_id).expect("a legacy ID");
            let class = &case.classes[&case.facts.machines[machine].class];
            prop_assert_eq!(id.region(), &*class.region);
            let named = named(list(&case, machine).expect("a LIST"), machine);
            prop_assert_eq!(named.len(), 1);
            prop_assert_eq!(named[0].id, id.server());
            prop_assert!(!named_by_others(&case.facts, machine, id.server()));
            let addressed = class.pod_network_cidrs.is_empty() || case.cloud.addressed.contains(&id.server());
            match named[0].status {
                ServerStatus::Active => prop_assert!(addressed),
                status => prop_assert_eq!(status, ServerStatus::Error),
            }
        }
    }

    #[test]
    fn addresses_are_added_to_the_one_server_that_is_active(case in settling_case()) {
        for action in case.actions() {
            let Action::Address { machine, server, network: net, addresses, .. } = &action else { continue };
            may_be_settled(&case, machine)?;
            let named = named(list(&case, machine).expect("a LIST"), machine);
            prop_assert_eq!(named.len(), 1);
            prop_assert_eq!((named[0].id, named[0].status), (*server, ServerStatus::Active));
            prop_assert!(!named_by_others(&case.facts, machine, *server));
            prop_assert_eq!(*net, network());
            prop_assert_eq!(addresses, &case.classes[&case.facts.machines[machine].class].pod_network_cidrs);
        }
    }

    #[test]
    fn a_machine_is_let_go_after_the_time_out_or_when_it_was_made_later(case in settling_case()) {
        for action in case.actions() {
            let Action::SettleNoServer { machine } = &action else { continue };
            may_be_settled(&case, machine)?;
            // A Node that hung since then may have woken a pod up that is gone from the API.
            let since = openstack_gone(&case).unwrap();
            for node in case.nodes.iter().flatten().filter(|node| !case.settings.nodes.except.contains(&node.name)) {
                let ready = node.ready_since.expect("a Node that is Ready").max(since);
                prop_assert!(case.now >= ready + case.settings.nodes.ready_for, "{:?}", node);
            }
            if was_there(&case, machine) != Some(false) {
                let list = list(&case, machine).expect("a LIST");
                prop_assert!(list.at >= openstack_gone(&case).unwrap() + case.settings.inflight_timeout);
                prop_assert!(named(list, machine).is_empty());
            }
        }
    }

    #[test]
    fn every_machine_that_must_be_settled_is_or_says_why_not(case in settling_case()) {
        let Ok(plan) = case.plan() else { return Ok(()) };
        if !switched(&case.facts) || plan.waits.iter().any(|wait| matches!(wait.because.reason, Reason::Paused | Reason::RollingBack)) {
            return Ok(());
        }
        for (name, machine) in &case.facts.machines {
            let unsettled = machine.provider_id.is_empty() && !machine.settled;
            if unsettled && case.facts.classes.get(&machine.class) == Some(&Provider::OpenStack) {
                let settled = plan.actions.iter().any(|action| action.step() == "settle" && action.subject() == &**name);
                let waits = plan.waits.iter().any(|wait| wait.name == *name);
                prop_assert!(settled != waits, "{}", name);
            }
        }
    }

    #[test]
    fn once_the_time_is_over_an_older_list_is_not_waited_with(mut case in settling_case()) {
        let Some(gone) = openstack_gone(&case) else { return Ok(()) };
        let over = gone + case.settings.inflight_timeout;
        case.now = over + Settings::LIST_MAX_AGE / 3;
        case.cloud.lists.values_mut().for_each(|list| list.at = over.saturating_sub(Settings::LIST_MAX_AGE / 3));
        let Ok(plan) = case.plan() else { return Ok(()) };
        let addresses =
            |name: &str| plan.actions.iter().any(|action| action.step() == "address" && action.subject() == name);
        for wait in plan.waits.iter().filter(|wait| wait.because.reason == Reason::InFlight) {
            let by_list = list(&case, &wait.name).is_some() && was_there(&case, &wait.name) != Some(false);
            if by_list && !addresses(&wait.name) {
                let lists = plan.actions.iter().any(|action| matches!(action, Action::List { .. }));
                prop_assert!(lists, "{:?}", plan);
            }
        }
    }
}
