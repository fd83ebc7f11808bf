//! What the gate and the patch promise for Machines, for any object and any knowledge.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worlds;

use mcm_migration_core::decide::{Decision, Known, NamespaceFacts, Outcome, decide_machine};
use mcm_migration_core::domain::{GuardLabel, LegacyProviderId, Provider, Reason};
use mcm_migration_core::review::{Operation, parse_object};
use proptest::prelude::*;
use serde_json::{Value, json};
use worlds::{PROJECT, SERVER, facts, machine, open_facts};

fn decide(operation: Operation, object: &Value, facts: &NamespaceFacts) -> Decision {
    let bytes = serde_json::to_vec(object).unwrap();
    decide_machine(operation, &parse_object(&bytes).unwrap(), Known::Fresh(facts))
}

fn apply(object: &Value, decision: &Decision) -> Value {
    let mut after = object.clone();
    let patch: json_patch::Patch = serde_json::from_value(serde_json::to_value(&decision.patch).unwrap()).unwrap();
    json_patch::patch(&mut after, &patch).expect("the patch applies to what was received");
    after
}

/// The object without the four places that the patch may touch.
fn rest(object: &Value) -> Value {
    let mut rest = object.clone();
    if let Some(spec) = rest.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("providerID");
    }
    if let Some(annotations) = rest.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove("stackit.cloud/migrated-machine");
        annotations.remove("stackit.cloud/machine-should-be-migrated");
        annotations.remove("mcm-migration.stackit.cloud/previous-provider-id");
    }
    let metadata = rest.get_mut("metadata").unwrap().as_object_mut().unwrap();
    if metadata.get("annotations").is_none_or(|map| map.is_null() || *map == json!({})) {
        metadata.remove("annotations");
    }
    rest
}

/// The gate, written a second time and as plainly as possible.
fn gate_is_open(object: &Value, facts: &NamespaceFacts) -> bool {
    let class = object.pointer("/spec/class/name").and_then(Value::as_str).unwrap_or_default();
    facts.namespace.as_ref().is_some_and(|n| n.guard == Some(GuardLabel::Closed))
        && facts.migration.is_some_and(|m| m.armed && !m.paused)
        && facts.classes.get(class) == Some(&Provider::Stackit)
        && !facts.classes.values().any(|p| *p == Provider::OpenStack)
        && !facts.mcm_deployment.is_some_and(|t| t.openstack)
        && !facts.mcm_pods.values().any(|p| p.containers.openstack && !p.ended)
        && facts.project.is_some()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn the_patch_applies_to_what_was_received(object in machine(), facts in facts(), create: bool) {
        let operation = if create { Operation::Create } else { Operation::Update };
        apply(&object, &decide(operation, &object, &facts));
    }

    #[test]
    fn a_second_pass_over_the_result_is_empty(object in machine(), facts in facts()) {
        let after = apply(&object, &decide(Operation::Update, &object, &facts));
        let again = decide(Operation::Update, &after, &facts);
        prop_assert!(again.outcome != Outcome::Changed);
        prop_assert!(again.patch.is_empty());
    }

    #[test]
    fn nothing_outside_our_paths_changes(object in machine(), facts in facts()) {
        let after = apply(&object, &decide(Operation::Update, &object, &facts));
        prop_assert_eq!(rest(&after), rest(&object));
    }

    #[test]
    fn a_closed_gate_changes_nothing(object in machine(), facts in facts(), create: bool) {
        let operation = if create { Operation::Create } else { Operation::Update };
        let decision = decide(operation, &object, &facts);
        if !gate_is_open(&object, &facts) {
            prop_assert!(decision.outcome != Outcome::Changed);
            prop_assert!(decision.patch.is_empty());
            prop_assert_eq!(apply(&object, &decision), object);
        }
    }

    #[test]
    fn an_open_gate_rewrites_every_well_formed_legacy_id(object in machine()) {
        let facts = open_facts();
        let decision = decide(Operation::Create, &object, &facts);
        let id = object.pointer("/spec/providerID").and_then(Value::as_str).unwrap_or_default();
        let annotations = object.pointer("/metadata/annotations");
        let readable = annotations.is_none_or(|map| map.is_null() || map.is_object());
        match LegacyProviderId::parse(id) {
            Some(legacy) if readable && gate_is_open(&object, &facts) => {
                let after = apply(&object, &decision);
                let wanted = format!("stackit://{PROJECT}/{}", legacy.server());
                prop_assert_eq!(after.pointer("/spec/providerID"), Some(&json!(wanted)));
                let annotations = after.pointer("/metadata/annotations").unwrap();
                prop_assert_eq!(&annotations["stackit.cloud/migrated-machine"], "true");
                prop_assert_eq!(&annotations["stackit.cloud/machine-should-be-migrated"], "true");
                prop_assert_eq!(&annotations["mcm-migration.stackit.cloud/previous-provider-id"], id);
            }
            _ => prop_assert!(decision.patch.is_empty()),
        }
    }

    #[test]
    fn create_and_update_are_decided_alike(object in machine(), facts in facts()) {
        let update = decide(Operation::Update, &object, &facts);
        if update.because.reason != Reason::FinalizersGone {
            prop_assert_eq!(decide(Operation::Create, &object, &facts), update);
        }
    }

    #[test]
    fn stale_knowledge_changes_nothing(object in machine()) {
        let bytes = serde_json::to_vec(&object).unwrap();
        let decision = decide_machine(Operation::Update, &parse_object(&bytes).unwrap(), Known::Stale("pods"));
        prop_assert!(decision.patch.is_empty());
    }
}

fn legacy_machine() -> Value {
    json!({
        "metadata": {"name": "m", "finalizers": ["machine.sapcloud.io/machine-controller-manager"]},
        "spec": {"providerID": format!("openstack:///RegionOne/{SERVER}"), "class": {"kind": "MachineClass", "name": "pool-a"}},
    })
}

fn reason_with(change: impl FnOnce(&mut NamespaceFacts)) -> String {
    let mut facts = open_facts();
    change(&mut facts);
    let decision = decide(Operation::Update, &legacy_machine(), &facts);
    assert!(decision.patch.is_empty());
    decision.because.to_string()
}

#[test]
fn each_closed_gate_has_its_own_reason() {
    use mcm_migration_core::domain::McmContainers;
    let openstack = McmContainers { openstack: true, stackit: false };
    assert_eq!(reason_with(|f| f.namespace = None), "no-guard");
    assert_eq!(reason_with(|f| f.namespace.as_mut().unwrap().guard = None), "no-guard");
    assert_eq!(reason_with(|f| f.namespace.as_mut().unwrap().guard = Some(GuardLabel::RollingBack)), "rolling-back");
    assert_eq!(reason_with(|f| f.migration = None), "not-armed");
    assert_eq!(reason_with(|f| f.migration.as_mut().unwrap().armed = false), "not-armed");
    assert_eq!(reason_with(|f| f.migration.as_mut().unwrap().paused = true), "paused");
    assert_eq!(reason_with(|f| f.classes.clear()), "class-unknown (pool-a)");
    assert_eq!(
        reason_with(|f| f.classes.extend([("pool-a".into(), Provider::OpenStack)])),
        "class-is-openstack (pool-a)"
    );
    assert_eq!(reason_with(|f| f.classes.extend([("pool-a".into(), Provider::Other)])), "class-is-foreign (pool-a)");
    assert_eq!(
        reason_with(|f| f.classes.extend([("old".into(), Provider::OpenStack)])),
        "openstack-class-in-namespace (old)"
    );
    assert_eq!(reason_with(|f| f.mcm_deployment = Some(openstack)), "openstack-mcm-deployed");
    assert_eq!(
        reason_with(|f| f.mcm_pods.get_mut("mcm-0").unwrap().containers = openstack),
        "openstack-mcm-alive (mcm-0)"
    );
    assert_eq!(reason_with(|f| f.project = None), "project-unknown");
}

#[test]
fn an_openstack_pod_that_has_ended_does_not_close_the_gate() {
    let mut facts = open_facts();
    let pod = facts.mcm_pods.get_mut("mcm-0").unwrap();
    pod.containers.openstack = true;
    pod.ended = true;
    assert_eq!(decide(Operation::Update, &legacy_machine(), &facts).outcome, Outcome::Changed);
}

#[test]
fn a_terminating_machine_is_rewritten_until_its_last_finalizer_goes() {
    let mut machine = legacy_machine();
    machine["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(decide(Operation::Update, &machine, &open_facts()).outcome, Outcome::Changed);
    for finalizers in [json!([]), Value::Null] {
        machine["metadata"]["finalizers"] = finalizers;
        assert_eq!(decide(Operation::Update, &machine, &open_facts()).because.reason, Reason::FinalizersGone);
    }
}

#[test]
fn malformed_ids_are_held_and_named() {
    for id in ["openstack:///RegionOne/not-a-uuid", "openstack://RegionOne/x", "openstack:"] {
        let mut machine = legacy_machine();
        machine["spec"]["providerID"] = json!(id);
        let decision = decide(Operation::Update, &machine, &open_facts());
        assert_eq!((decision.outcome, decision.because.reason), (Outcome::Held, Reason::ProviderIdMalformed), "{id}");
        assert!(decision.because.subject == id && decision.patch.is_empty());
    }
}

#[test]
fn the_id_of_the_node_template_is_left_alone() {
    let mut machine = legacy_machine();
    let template = json!(format!("openstack:///RegionOne/{SERVER}"));
    machine["spec"]["nodeTemplate"] = json!({"spec": {"providerID": template}});
    let after = apply(&machine, &decide(Operation::Create, &machine, &open_facts()));
    assert_eq!(after["spec"]["nodeTemplate"]["spec"]["providerID"], template);
    machine["spec"].as_object_mut().unwrap().remove("providerID");
    assert_eq!(decide(Operation::Create, &machine, &open_facts()).because.reason, Reason::NotLegacy);
}

#[test]
fn a_delete_passes_untouched() {
    assert_eq!(decide(Operation::Delete, &Value::Null, &open_facts()).because.reason, Reason::NotOurObject);
    assert!(decide(Operation::Delete, &legacy_machine(), &open_facts()).patch.is_empty());
}
