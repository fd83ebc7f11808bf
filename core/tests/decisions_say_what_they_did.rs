//! What a decision carries besides its patch: the IDs for the record, and what `--dry-run` would have done.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worlds;

use mcm_migration_core::decide::{Decision, Known, NamespaceFacts, Outcome, decide_machine, decide_worker};
use mcm_migration_core::domain::{McmContainers, Provider, Reason};
use mcm_migration_core::review::{Operation, parse, parse_object};
use serde_json::{Value, json};
use worlds::{PROJECT, SERVER, open_facts};

fn legacy_id() -> String {
    format!("openstack:///RegionOne/{SERVER}")
}

fn machine(id: &str) -> Value {
    json!({"metadata": {"name": "m"}, "spec": {"providerID": id, "class": {"name": "pool-a"}}})
}

fn decide(object: &Value, facts: &NamespaceFacts) -> Decision {
    decide_machine(Operation::Update, &parse_object(object.to_string().as_bytes()).unwrap(), Known::Fresh(facts))
}

#[test]
fn a_rewrite_names_both_ids() {
    let decision = decide(&machine(&legacy_id()), &open_facts());
    let operations = decision.patch.operations().iter().map(|operation| &*operation.path);
    assert_eq!(operations.collect::<Vec<_>>(), decision.patch.paths().collect::<Vec<_>>());
    let expected = [
        "/spec/providerID",
        "/metadata/annotations",
        "/metadata/annotations/stackit.cloud~1migrated-machine",
        "/metadata/annotations/stackit.cloud~1machine-should-be-migrated",
        "/metadata/annotations/mcm-migration.stackit.cloud~1previous-provider-id",
    ];
    assert_eq!(decision.patch.paths().collect::<Vec<_>>(), expected);
    assert_eq!(decision.old_id, Some(legacy_id()));
    assert_eq!(decision.new_id.unwrap().to_string(), format!("stackit://{PROJECT}/{SERVER}"));
}

#[test]
fn a_machine_that_is_held_names_the_id_that_it_keeps() {
    for id in [legacy_id(), "openstack:nonsense".to_owned()] {
        let decision = decide(&machine(&id), &NamespaceFacts::default());
        assert_eq!((decision.outcome, decision.old_id, decision.new_id), (Outcome::Held, Some(id), None));
    }
}

#[test]
fn metadata_that_no_patch_could_be_applied_to_is_left_alone() {
    let mut object = machine(&legacy_id());
    for metadata in [json!([]), json!("m"), Value::Null, json!({"annotations": []})] {
        object["metadata"] = metadata.clone();
        let decision = decide(&object, &open_facts());
        assert_eq!(decision.because.to_string(), "object-unreadable (metadata.annotations)", "{metadata}");
        assert!(decision.patch.is_empty());

        let mut done = open_facts();
        done.migration.as_mut().unwrap().labelled = true;
        let worker = json!({"metadata": metadata, "spec": {"type": "stackit"}}).to_string();
        let worker = decide_worker(Operation::Update, &parse_object(worker.as_bytes()).unwrap(), Known::Fresh(&done));
        assert_eq!(worker.because.to_string(), "object-unreadable (metadata.annotations)", "{metadata}");
    }
}

#[test]
fn a_dry_run_keeps_the_ids_and_leaves_out_the_patch() {
    let would = decide(&machine(&legacy_id()), &open_facts());
    let dry = would.clone().without_patch();
    assert_eq!((dry.outcome, dry.because.to_string().as_str()), (Outcome::Held, "dry-run-mode (rewritten)"));
    assert!(dry.patch.is_empty() && !would.patch.is_empty());
    assert_eq!((dry.old_id, dry.new_id), (would.old_id, would.new_id));
}

#[test]
fn a_dry_run_changes_nothing_in_a_decision_without_a_patch() {
    let held = decide(&machine(&legacy_id()), &NamespaceFacts::default());
    let passed = decide(&machine("stackit://x"), &open_facts());
    for decision in [held, passed] {
        assert_eq!(decision.clone().without_patch(), decision);
    }
}

#[test]
fn a_reason_never_breaks_the_line() {
    let decision = decide(&machine("openstack:\n\u{1b}[31m"), &open_facts());
    assert_eq!(decision.because.to_string(), r"provider-id-malformed (openstack:\n\u{1b}[31m)");
}

#[test]
fn a_class_of_another_provider_keeps_the_worker_from_being_marked() {
    let mut facts = open_facts();
    facts.migration.as_mut().unwrap().labelled = true;
    facts.classes.insert("pool-b".into(), Provider::Other);
    let worker = parse_object(br#"{"metadata":{},"spec":{"type":"stackit"}}"#).unwrap();
    let decision = decide_worker(Operation::Update, &worker, Known::Fresh(&facts));
    assert_eq!(decision.because.to_string(), "class-is-foreign (pool-b)");
}

#[test]
fn the_switch_has_begun_when_the_stackit_provider_stands_alone() {
    let begun = |deployment: Option<(bool, bool)>| {
        let mcm_deployment = deployment.map(|(openstack, stackit)| McmContainers { openstack, stackit });
        NamespaceFacts { mcm_deployment, ..NamespaceFacts::default() }.switch_has_begun()
    };
    assert!(begun(Some((false, true))));
    for deployment in [None, Some((false, false)), Some((true, false)), Some((true, true))] {
        assert!(!begun(deployment), "{deployment:?}");
    }
}

#[test]
fn a_namespace_is_forgotten_only_when_nothing_is_known_of_it() {
    assert!(NamespaceFacts::default().is_empty());
    let project = open_facts().project;
    assert!(!NamespaceFacts { project, ..NamespaceFacts::default() }.is_empty());
}

#[test]
fn the_operation_is_read_and_recorded_as_the_api_server_writes_it() {
    for (text, operation, name) in [
        ("CREATE", Operation::Create, "CREATE"),
        ("UPDATE", Operation::Update, "UPDATE"),
        ("DELETE", Operation::Delete, "DELETE"),
        ("CONNECT", Operation::Other, "OTHER"),
        ("create", Operation::Other, "OTHER"),
    ] {
        let request = json!({"uid": "u", "operation": text, "dryRun": true});
        let body =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).to_string();
        let request = parse(body.as_bytes()).unwrap();
        assert_eq!((request.operation, request.operation.name()), (operation, name));
        assert!(request.dry_run, "the API server asks for a dry run");
    }
}

#[test]
fn reasons_that_hold_a_machine_are_told_from_those_that_pass_it() {
    assert_eq!(decide(&machine(""), &open_facts()).because.reason, Reason::NotLegacy);
    let mut unreadable = machine("");
    unreadable["spec"]["providerID"] = json!(7);
    let decision = decide(&unreadable, &open_facts());
    assert_eq!((decision.outcome, decision.because.reason), (Outcome::Held, Reason::ObjectUnreadable));
}
