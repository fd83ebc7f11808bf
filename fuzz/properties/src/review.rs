use mcm_migration_core::decide::{
    Decision, Known, MigrationFacts, NamespaceFacts, NamespaceLabels, Outcome, Patch, Ruling, decide_machine,
    decide_machine_class, decide_worker,
};
use mcm_migration_core::domain::{GuardLabel, ProjectId, Provider};
use mcm_migration_core::review::{API_VERSION, KIND, Object, Operation, Request, parse, parse_object};
use serde_json::Value;

const PROJECT: &str = "2b1f0a3c-7d5e-4f60-8a91-b2c3d4e5f601";

/// Where a patch may add something.
const OURS: [&str; 6] = [
    "/spec/providerID",
    "/metadata/annotations",
    "/metadata/annotations/stackit.cloud~1migrated-machine",
    "/metadata/annotations/stackit.cloud~1machine-should-be-migrated",
    "/metadata/annotations/mcm-migration.stackit.cloud~1previous-provider-id",
    "/metadata/annotations/stackit.cloud~1machine-controller-manager-migrated",
];

/// The body of an admission review: the parser agrees with a complete one on everything that decides, a closed gate changes
/// nothing, and the patch of an open one applies, touches only what is ours, and leaves nothing for a second review.
pub fn review(body: &[u8]) {
    let parsed = parse(body);
    // The complete parser also refuses what the narrow one skips: texts that are no UTF-8, numbers too large, nesting too deep.
    let Ok(whole) = serde_json::from_slice::<Value>(body) else {
        if let Ok(request) = &parsed {
            closed_changes_nothing(request);
        }
        return;
    };
    let text = |path: &str| whole.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let answerable = text("/apiVersion") == API_VERSION && text("/kind") == KIND && !text("/request/uid").is_empty();
    assert_eq!(parsed.is_ok(), answerable, "{parsed:?}");
    let Ok(request) = parsed else { return };

    assert_eq!(request.uid, text("/request/uid"));
    assert_eq!(request.name, text("/request/name"));
    assert_eq!(request.namespace, text("/request/namespace"));
    assert_eq!(request.user, text("/request/userInfo/username"));
    assert_eq!(request.dry_run, whole.pointer("/request/dryRun") == Some(&Value::Bool(true)));
    assert_eq!(request.object.spec.provider_id.text(), text("/request/object/spec/providerID"));
    closed_changes_nothing(&request);

    let Some(object) = whole.pointer("/request/object") else { return };
    let class = request.object.spec.class.name.text();
    let open = open_facts(class);
    let done = NamespaceFacts {
        namespace: open.namespace.clone(),
        classes: open.classes.clone(),
        ..NamespaceFacts::default()
    };
    let operation = request.operation;
    converges(object, &|object| decide_machine(operation, object, Known::Fresh(&open)));
    converges(object, &|object| decide_worker(operation, object, Known::Fresh(&done)));
}

/// Nothing is known of the namespace, or what is known is stale: every gate is closed.
fn closed_changes_nothing(request: &Request<'_>) {
    let nothing = NamespaceFacts::default();
    for known in [Known::Fresh(&nothing), Known::Stale("machines")] {
        let machine = decide_machine(request.operation, &request.object, known);
        let worker = decide_worker(request.operation, &request.object, known);
        assert!(machine.patch.is_empty() && worker.patch.is_empty());
        assert!(machine.outcome != Outcome::Changed && worker.outcome != Outcome::Changed);
        let class = decide_machine_class(request.operation, &request.object, &request.old_object, known);
        let flips = request.operation == Operation::Update && request.object.provider.text() == "stackit";
        assert!(flips || class.ruling == Ruling::Passed, "only a flip is ever refused");
    }
}

fn converges(object: &Value, decide: &dyn Fn(&Object<'_>) -> Decision) {
    let decide_on = |object: &Value| parse_object(object.to_string().as_bytes()).map(|object| decide(&object));
    let Ok(decision) = decide_on(object) else { return };
    assert_eq!(decision.outcome == Outcome::Changed, !decision.patch.is_empty());
    let after = apply(object, &decision.patch);
    assert_eq!(without_ours(after.clone()), without_ours(object.clone()));
    let again = decide_on(&after);
    assert!(again.is_ok_and(|again| again.patch.is_empty()), "a second review finds something to do: {after}");
}

fn apply(object: &Value, patch: &Patch) -> Value {
    assert!(patch.paths().all(|path| OURS.contains(&path)), "{patch:?}");
    let mut after = object.clone();
    let written = serde_json::to_value(patch).and_then(serde_json::from_value::<json_patch::Patch>);
    match written.map(|patch| json_patch::patch(&mut after, &patch)) {
        Ok(Ok(())) => after,
        failure => panic!("the patch does not apply: {failure:?}"),
    }
}

/// The object without what a patch may touch.
fn without_ours(mut object: Value) -> Value {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("providerID");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|key, _| !OURS.iter().any(|path| path.ends_with(&key.replace('/', "~1"))));
        }
        if metadata
            .get("annotations")
            .is_some_and(|map| map.is_null() || map.as_object().is_some_and(serde_json::Map::is_empty))
        {
            metadata.remove("annotations");
        }
    }
    object
}

/// Facts in which the gate is open for the class.
fn open_facts(class: &str) -> NamespaceFacts {
    NamespaceFacts {
        namespace: Some(NamespaceLabels { guard: Some(GuardLabel::Closed), terminating: false }),
        migration: Some(MigrationFacts { armed: true, labelled: true, ..MigrationFacts::default() }),
        classes: [(class.into(), Provider::Stackit)].into(),
        project: ProjectId::parse(PROJECT).ok(),
        ..NamespaceFacts::default()
    }
}
