//! What a person is told who asks why an object is not migrated: every gate that is closed, and no other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worlds;

use mcm_migration_core::decide::{
    Because, Decision, Known, NamespaceFacts, Outcome, decide_machine, decide_worker, machine_reasons, worker_reasons,
};
use mcm_migration_core::domain::{GuardLabel, ProjectId, Provider, Reason};
use mcm_migration_core::review::{Operation, parse_object};
use proptest::prelude::*;
use serde_json::{Value, json};
use worlds::{PROJECT, SERVER, facts, machine, open_facts, worker};

const UPDATE: Operation = Operation::Update;

fn of_machine(object: &Value, known: Known<'_>) -> (Decision, Vec<Because>) {
    let bytes = serde_json::to_vec(object).unwrap();
    let object = parse_object(&bytes).unwrap();
    let decision = decide_machine(UPDATE, &object, known);
    let reasons = machine_reasons(&decision, &object, known);
    (decision, reasons)
}

fn of_worker(object: &Value, known: Known<'_>) -> (Decision, Vec<Because>) {
    let bytes = serde_json::to_vec(object).unwrap();
    let object = parse_object(&bytes).unwrap();
    let decision = decide_worker(UPDATE, &object, known);
    let reasons = worker_reasons(&decision, &object, known);
    (decision, reasons)
}

/// An ordinary legacy Machine.
fn legacy() -> Value {
    json!({
        "metadata": {"name": "m"},
        "spec": {"class": {"name": "pool-a"}, "providerID": format!("openstack:///RegionOne/{SERVER}")},
    })
}

fn plain_worker() -> Value {
    json!({"metadata": {"name": "w"}, "spec": {"type": "stackit"}})
}

/// What an operator does about one reason, and nothing else.
fn mend(facts: &mut NamespaceFacts, reason: Reason) {
    match reason {
        Reason::NoGuard | Reason::RollingBack => {
            facts.namespace.get_or_insert_default().guard = Some(GuardLabel::Closed);
        }
        Reason::Paused => facts.migration.as_mut().unwrap().paused = false,
        Reason::NotArmed => facts.migration.get_or_insert_default().armed = true,
        Reason::LabelsUnconfirmed => facts.migration.as_mut().unwrap().labelled = true,
        Reason::ClassUnknown | Reason::ClassIsOpenstack => {
            facts.classes.insert("pool-a".into(), Provider::Stackit);
        }
        // For a Machine only its own class counts, for a Worker all.
        Reason::ClassIsForeign => turn(facts, Provider::Other),
        Reason::OpenstackClassInNamespace => turn(facts, Provider::OpenStack),
        Reason::NoClass => {
            facts.classes.insert("made".into(), Provider::Stackit);
        }
        Reason::OpenstackMcmDeployed => facts.mcm_deployment.as_mut().unwrap().openstack = false,
        Reason::OpenstackMcmAlive => facts.mcm_pods.values_mut().for_each(|pod| pod.containers.openstack = false),
        Reason::ProjectUnknown => facts.project = ProjectId::parse(PROJECT).ok(),
        Reason::MachinesLegacy => facts.machines.retain(|_, machine| !machine.is_legacy()),
        Reason::MachinesMarked => {
            facts.machines.retain(|_, machine| machine.is_legacy() || !machine.marked || machine.exception.is_some());
        }
        Reason::MachinesWithoutId => {
            facts.machines.retain(|_, machine| {
                let is_marked = machine.marked && machine.exception.is_none();
                is_marked || !machine.migrated || !machine.provider_id.is_empty()
            });
        }
        other => panic!("{other} is no gate of a namespace"),
    }
}

fn turn(facts: &mut NamespaceFacts, from: Provider) {
    facts.classes.values_mut().filter(|provider| **provider == from).for_each(|provider| *provider = Provider::Stackit);
}

fn once_each(reasons: &[Because]) -> bool {
    reasons.iter().enumerate().all(|(i, one)| reasons[..i].iter().all(|other| other.reason != one.reason))
}

/// The first is mended as well where the second is: both may speak of one class.
const BOTH_OF_ONE_CLASS: [(Reason, Reason); 4] = [
    (Reason::ClassIsOpenstack, Reason::OpenstackClassInNamespace),
    (Reason::OpenstackClassInNamespace, Reason::ClassIsOpenstack),
    (Reason::NoClass, Reason::OpenstackClassInNamespace),
    (Reason::NoClass, Reason::ClassIsForeign),
];

/// That the reasons are those of the gates that are closed: with all of them mended the object is changed, and while one is
/// left it is that one which is told.
fn are_the_closed_gates(
    reasons: &[Because],
    facts: &NamespaceFacts,
    decide: impl Fn(&NamespaceFacts) -> Decision,
) -> Result<(), TestCaseError> {
    let mended = |left: Option<Reason>| {
        let mut facts = facts.clone();
        for because in reasons.iter().filter(|because| Some(because.reason) != left) {
            mend(&mut facts, because.reason);
        }
        decide(&facts)
    };
    prop_assert_eq!(mended(None).outcome, Outcome::Changed, "{:?}", reasons);
    for left in reasons {
        let mended_by = |other: &Because| BOTH_OF_ONE_CLASS.contains(&(left.reason, other.reason));
        if !reasons.iter().any(mended_by) {
            prop_assert_eq!(mended(Some(left.reason)).because.reason, left.reason, "{:?}", reasons);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_first_reason_is_the_decisions_and_none_is_told_twice(
        machine in machine(), worker in worker(), facts in facts()
    ) {
        for (decision, reasons) in [of_machine(&machine, Known::Fresh(&facts)), of_worker(&worker, Known::Fresh(&facts))] {
            prop_assert_eq!(&reasons[0], &decision.because);
            prop_assert!(once_each(&reasons), "{:?}", reasons);
            prop_assert!(decision.outcome != Outcome::Changed || reasons.len() == 1, "{:?}", reasons);
        }
    }

    #[test]
    fn a_machine_is_told_exactly_the_gates_that_are_closed(facts in facts()) {
        let (decision, reasons) = of_machine(&legacy(), Known::Fresh(&facts));
        if decision.outcome == Outcome::Held {
            are_the_closed_gates(&reasons, &facts, |facts| of_machine(&legacy(), Known::Fresh(facts)).0)?;
        }
    }

    #[test]
    fn a_worker_is_told_exactly_what_is_left_to_do(facts in facts()) {
        let (decision, reasons) = of_worker(&plain_worker(), Known::Fresh(&facts));
        if decision.outcome != Outcome::Changed {
            are_the_closed_gates(&reasons, &facts, |facts| of_worker(&plain_worker(), Known::Fresh(facts)).0)?;
        }
    }
}

#[test]
fn they_come_in_the_order_in_which_an_operator_meets_them() {
    let mut facts = open_facts();
    facts.namespace = None;
    facts.migration.as_mut().unwrap().paused = true;
    facts.migration.as_mut().unwrap().armed = false;
    facts.classes.extend([("pool-a".into(), Provider::OpenStack)]);
    facts.mcm_deployment.as_mut().unwrap().openstack = true;
    facts.mcm_pods.get_mut("mcm-0").unwrap().containers.openstack = true;
    facts.project = None;
    let told: Vec<String> =
        of_machine(&legacy(), Known::Fresh(&facts)).1.iter().map(std::string::ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "no-guard",
            "paused",
            "not-armed",
            "class-is-openstack (pool-a)",
            "openstack-class-in-namespace (pool-a)",
            "openstack-mcm-deployed",
            "openstack-mcm-alive (mcm-0)",
            "project-unknown",
        ]
    );
}

#[test]
fn a_malformed_id_does_not_hide_a_closed_gate() {
    let mut machine = legacy();
    machine["spec"]["providerID"] = json!("openstack:///x");
    let mut facts = open_facts();
    facts.project = None;
    let told: Vec<Reason> = of_machine(&machine, Known::Fresh(&facts)).1.iter().map(|because| because.reason).collect();
    assert_eq!(told, [Reason::ProviderIdMalformed, Reason::ProjectUnknown]);
}

#[test]
fn a_worker_that_leaves_is_told_what_is_left_as_well() {
    let mut worker = plain_worker();
    worker["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    worker["metadata"]["finalizers"] = json!(["extensions.gardener.cloud/worker"]);
    worker["status"] = json!({"lastOperation": {"type": "Migrate", "state": "Processing"}});
    let told: Vec<Reason> =
        of_worker(&worker, Known::Fresh(&open_facts())).1.iter().map(|because| because.reason).collect();
    assert_eq!(told, [Reason::WorkerTerminating, Reason::WorkerMigrating, Reason::LabelsUnconfirmed]);
}

#[test]
fn of_what_is_not_known_nothing_is_told() {
    for known in [of_machine(&legacy(), Known::Stale("pods")), of_worker(&plain_worker(), Known::Stale("pods"))] {
        assert_eq!(known.1, [Because::about(Reason::CacheStale, "pods")]);
    }
}
