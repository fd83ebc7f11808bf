//! When a Worker gets its annotation.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worlds;

use mcm_migration_core::decide::{Decision, Known, MachineFacts, NamespaceFacts, Outcome, decide_worker};
use mcm_migration_core::domain::{Provider, Reason};
use mcm_migration_core::review::{Operation, parse_object};
use proptest::prelude::*;
use serde_json::{Value, json};
use worlds::{PROJECT, SERVER, facts, open_facts, worker};

const KEY: &str = "stackit.cloud/machine-controller-manager-migrated";

fn decide(operation: Operation, object: &Value, known: Known<'_>) -> Decision {
    let bytes = serde_json::to_vec(object).unwrap();
    decide_worker(operation, &parse_object(&bytes).unwrap(), known)
}

fn apply(object: &Value, decision: &Decision) -> Value {
    let mut after = object.clone();
    let patch: json_patch::Patch = serde_json::from_value(serde_json::to_value(&decision.patch).unwrap()).unwrap();
    json_patch::patch(&mut after, &patch).expect("the patch applies to what was received");
    after
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn only_the_one_annotation_is_ever_added(object in worker(), facts in facts()) {
        let decision = decide(Operation::Update, &object, Known::Fresh(&facts));
        let mut after = apply(&object, &decision);
        if decision.outcome == Outcome::Changed {
            prop_assert_eq!(&after["metadata"]["annotations"][KEY], "true");
            let again = decide(Operation::Update, &after, Known::Fresh(&facts));
            prop_assert!(again.patch.is_empty());
            match object.pointer("/metadata/annotations") {
                Some(Value::Object(before)) => after["metadata"]["annotations"] = Value::Object(before.clone()),
                Some(other) => after["metadata"]["annotations"] = other.clone(),
                None => drop(after["metadata"].as_object_mut().unwrap().remove("annotations")),
            }
        }
        prop_assert_eq!(after, object);
    }

    #[test]
    fn a_marked_worker_has_nothing_left_to_migrate(object in worker(), facts in facts()) {
        if decide(Operation::Update, &object, Known::Fresh(&facts)).outcome == Outcome::Changed {
            prop_assert!(!facts.classes.is_empty() && facts.classes.values().all(|p| *p == Provider::Stackit));
            prop_assert!(facts.machines.values().all(|m| !m.provider_id.starts_with("openstack:") && !m.marked));
            prop_assert!(facts.machines.values().all(|m| !(m.migrated && m.provider_id.is_empty())));
            prop_assert!(!facts.mcm_deployment.is_some_and(|t| t.openstack));
            prop_assert!(facts.mcm_pods.values().all(|p| p.ended || !p.containers.openstack));
            prop_assert!(facts.migration.is_none_or(|m| m.labelled));
        }
    }

    #[test]
    fn a_create_and_stale_knowledge_change_nothing(object in worker(), facts in facts()) {
        prop_assert!(decide(Operation::Create, &object, Known::Fresh(&facts)).patch.is_empty());
        prop_assert!(decide(Operation::Update, &object, Known::Stale("machines")).patch.is_empty());
    }
}

fn done() -> NamespaceFacts {
    let mut facts = open_facts();
    facts.migration.as_mut().unwrap().labelled = true;
    let id = format!("stackit://{PROJECT}/{SERVER}");
    facts
        .machines
        .insert("m".into(), MachineFacts { provider_id: id.into(), migrated: true, ..MachineFacts::default() });
    facts
}

fn plain() -> Value {
    json!({"metadata": {"name": "w"}, "spec": {"type": "stackit"}})
}

#[test]
fn a_namespace_that_is_done_marks_its_worker() {
    assert_eq!(decide(Operation::Update, &plain(), Known::Fresh(&done())).because.reason, Reason::WorkerMarked);
}

#[test]
fn zero_machines_and_no_machine_migration_are_done() {
    let mut facts = done();
    facts.machines.clear();
    facts.migration = None;
    assert_eq!(decide(Operation::Update, &plain(), Known::Fresh(&facts)).outcome, Outcome::Changed);
}

#[test]
fn each_thing_left_has_its_own_reason() {
    let reason = |change: fn(&mut NamespaceFacts)| {
        let mut facts = done();
        change(&mut facts);
        decide(Operation::Update, &plain(), Known::Fresh(&facts)).because.to_string()
    };
    assert_eq!(reason(|f| f.machines.get_mut("m").unwrap().provider_id = "openstack:x".into()), "machines-legacy (m)");
    assert_eq!(reason(|f| f.machines.get_mut("m").unwrap().marked = true), "machines-marked (m)");
    assert_eq!(reason(|f| f.machines.get_mut("m").unwrap().provider_id = "".into()), "machines-without-id (m)");
    assert_eq!(reason(|f| f.classes.clear()), "no-class");
    assert_eq!(reason(|f| f.classes.extend([("b".into(), Provider::OpenStack)])), "openstack-class-in-namespace (b)");
    assert_eq!(reason(|f| f.mcm_deployment.as_mut().unwrap().openstack = true), "openstack-mcm-deployed");
    assert_eq!(
        reason(|f| f.mcm_pods.get_mut("mcm-0").unwrap().containers.openstack = true),
        "openstack-mcm-alive (mcm-0)"
    );
    assert_eq!(reason(|f| f.migration.as_mut().unwrap().labelled = false), "labels-unconfirmed");
    assert_eq!(reason(|f| f.migration.as_mut().unwrap().paused = true), "paused");
}

#[test]
fn a_worker_that_moves_between_seeds_is_not_marked() {
    let with = |annotation: Option<&str>, last: Option<(&str, &str)>| {
        let mut worker = plain();
        if let Some(operation) = annotation {
            worker["metadata"]["annotations"] = json!({"gardener.cloud/operation": operation});
        }
        if let Some((kind, state)) = last {
            worker["status"] = json!({"lastOperation": {"type": kind, "state": state}});
        }
        decide(Operation::Update, &worker, Known::Fresh(&done())).because.reason
    };
    assert_eq!(with(Some("migrate"), None), Reason::WorkerMigrating);
    assert_eq!(with(Some("restore"), None), Reason::WorkerRestoring);
    assert_eq!(with(Some("reconcile"), Some(("Migrate", "Succeeded"))), Reason::WorkerMigrating);
    assert_eq!(with(None, Some(("Restore", "Processing"))), Reason::WorkerRestoring);
    assert_eq!(with(None, Some(("Restore", "Succeeded"))), Reason::WorkerMarked);
    assert_eq!(with(Some("reconcile"), Some(("Reconcile", "Succeeded"))), Reason::WorkerMarked);
}
