//! Every way in which kubectl writes a Machine, against a real API server with the shipped manifests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::support::cluster::Cluster;
use rig::Shared;
use rig::shoot::Shoot;
use serde_json::{Value, json};

const MARKS: [&str; 2] = ["stackit.cloud/migrated-machine", "stackit.cloud/machine-should-be-migrated"];

/// One API server for all, for as long as one of them runs.
static CLUSTER: Shared<Cluster> = Shared::new();

struct Case {
    cluster: Arc<Cluster>,
    shoot: Shoot,
    namespace: String,
}

impl Case {
    async fn new(name: &str) -> Self {
        let cluster = CLUSTER.get(Cluster::start).await;
        let shoot = Shoot::new(name).legacy_machines(2);
        shoot.create(&cluster.server).await.unwrap();
        let case = Self { cluster: Arc::clone(&cluster), namespace: shoot.namespace(), shoot };
        // While the shoot is not guarded, a write rewrites nothing.
        for name in case.shoot.machines() {
            case.kubectl(&["patch", "machine", &name, "--type=merge", "-p", &foreign().to_string()], None).await;
        }
        cluster.arm(&case.shoot).await;
        case
    }

    async fn kubectl(&self, args: &[&str], stdin: Option<&str>) -> String {
        let args = [&["-n", &self.namespace], args].concat();
        self.cluster.server.kubectl(&args, stdin).await.unwrap().ok().unwrap()
    }

    async fn machine(&self, name: &str) -> Value {
        serde_json::from_str(&self.kubectl(&["get", "machine", name, "-o", "json"], None).await).unwrap()
    }

    /// A Machine of the shoot that does not exist yet, with what is foreign to everybody.
    fn fresh(&self, name: &str) -> Value {
        let mut machine = self.shoot.machine(name, &self.shoot.legacy_id(name));
        json_patch::merge(&mut machine, &foreign());
        machine
    }

    /// Migrated, and what is foreign is as it was.
    fn assert_migrated(&self, machine: &Value) {
        let name = machine["metadata"]["name"].as_str().unwrap();
        assert_migrated_to(machine, &self.shoot.stackit_id(name));
        assert_kept(machine);
    }

    /// The annotations with which the API server's audit log tells of the mutating webhooks that it called for the patches of a
    /// Machine, the oldest patch first: round and index, the webhook's configuration, and whether the Machine was mutated.
    fn calls(&self, machine: &str) -> Vec<Vec<(String, String, bool)>> {
        let events = self.cluster.server.audit_events_about(machine).unwrap();
        let of_the_machine = |event: &&Value| {
            let of = &event["objectRef"];
            event["verb"] == "patch"
                && of["subresource"].is_null()
                && of["namespace"] == self.namespace.as_str()
                && of["name"] == machine
        };
        let calls_of = |event: &Value| {
            let told = rig::audit::annotations(event, MUTATION).map(|(key, value)| {
                let value: Value = serde_json::from_str(value).unwrap();
                assert_eq!(value["webhook"], "machine.mcm-migration.stackit.cloud");
                let configuration = value["configuration"].as_str().unwrap().to_owned();
                (key[MUTATION.len()..].to_owned(), configuration, value["mutated"].as_bool().unwrap())
            });
            told.collect()
        };
        events.iter().filter(of_the_machine).map(calls_of).collect()
    }
}

/// What the API server's annotations about calls of mutating webhooks begin with.
const MUTATION: &str = "mutation.webhook.admission.k8s.io/";

/// The shipped configuration, of which the webhook for Machines is the first.
const SHIPPED: &str = "mcm-migration-webhook";

/// A call in the first round.
fn called(index: usize, configuration: &str, mutated: bool) -> (String, String, bool) {
    (format!("round_0_index_{index}"), configuration.to_owned(), mutated)
}

/// An annotation of others, and a field that no schema has with a number that a float would spoil.
fn foreign() -> Value {
    json!({
        "metadata": {"annotations": {"example.com/foreign": "kept"}},
        "spec": {"unknown": {"number": 9_007_199_254_740_993_u64}},
    })
}

fn assert_migrated_to(machine: &Value, id: &str) {
    assert_eq!(machine["spec"]["providerID"], id, "{machine}");
    for mark in MARKS {
        assert_eq!(machine["metadata"]["annotations"][mark], "true", "{machine}");
    }
}

fn assert_kept(machine: &Value) {
    assert_eq!(machine["metadata"]["annotations"]["example.com/foreign"], "kept");
    assert_eq!(machine["spec"]["unknown"]["number"], 9_007_199_254_740_993_u64);
}

#[tokio::test]
async fn create_patch_and_replace() {
    let case = Case::new("writes").await;
    let [first, second] = case.shoot.machines().try_into().unwrap();

    // A patch of anything.
    case.kubectl(
        &["patch", "machine", &first, "--type=merge", "-p", r#"{"metadata":{"labels":{"touched":"yes"}}}"#],
        None,
    )
    .await;
    case.assert_migrated(&case.machine(&first).await);

    // A replace with the whole object.
    let mut whole = case.machine(&second).await;
    whole["metadata"]["labels"]["touched"] = json!("yes");
    case.kubectl(&["replace", "-f", "-"], Some(&whole.to_string())).await;
    case.assert_migrated(&case.machine(&second).await);

    // A create, with foreign annotations and unknown fields.
    case.kubectl(&["create", "-f", "-"], Some(&case.fresh("created").to_string())).await;
    let created = case.machine("created").await;
    case.assert_migrated(&created);
    assert_eq!(
        created["metadata"]["annotations"]["mcm-migration.stackit.cloud/previous-provider-id"],
        case.shoot.legacy_id("created")
    );
    assert_eq!(created["spec"]["nodeTemplate"], case.fresh("created")["spec"]["nodeTemplate"]);

    // A create without annotations, and one whose name the API server makes.
    let mut unnamed = case.fresh("unnamed");
    unnamed["metadata"] = json!({"generateName": "made-", "namespace": case.namespace});
    let made: Value =
        serde_json::from_str(&case.kubectl(&["create", "-f", "-", "-o", "json"], Some(&unnamed.to_string())).await)
            .unwrap();
    assert!(made["metadata"]["name"].as_str().unwrap().starts_with("made-"));
    assert_migrated_to(&made, &case.shoot.stackit_id("unnamed"));
}

#[tokio::test]
async fn server_side_apply_by_two_managers_ends_without_conflict_or_change() {
    let case = Case::new("apply").await;
    // The first manager makes the Machine and owns its ID; the second owns a label.
    let with_id = case.fresh("applied").to_string();
    let with_label = json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "applied", "labels": {"example.com/owner": "b"}},
    })
    .to_string();
    let mut seen = Vec::new();
    for (manager, object) in [("a", &with_id), ("b", &with_label), ("b", &with_label), ("a", &with_id), ("a", &with_id)]
    {
        case.kubectl(&["apply", "--server-side", "--field-manager", manager, "-f", "-"], Some(object)).await;
        let machine = ["get", "machine", "applied", "-o", "json", "--show-managed-fields"];
        let machine = serde_json::from_str(&case.kubectl(&machine, None).await).unwrap();
        case.assert_migrated(&machine);
        seen.push(machine);
    }
    // Whole, with resourceVersion, generation and managedFields: nothing was written.
    assert_eq!(seen[1], seen[2], "the second manager, again");
    // The API server sorts the managers by when they last applied, and writes when their order changes; but nothing else changes.
    assert_eq!(without_order(&seen[2]), without_order(&seen[3]), "the manager that applies the legacy ID again");
    // With the order as it was, nothing is written, although the webhook had to rewrite the ID once more.
    assert_eq!(seen[3], seen[4], "the same manager a third time");
    assert_eq!(case.calls("applied").last().unwrap(), &[called(0, SHIPPED, true)]);
    assert_eq!(seen[3]["metadata"]["labels"]["example.com/owner"], "b");
}

/// A Machine without the order and the times of its field managers, and without the version that goes with them.
fn without_order(machine: &Value) -> Value {
    let mut machine = machine.clone();
    let metadata = machine["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion").unwrap();
    let managers = metadata["managedFields"].as_array_mut().unwrap();
    for manager in managers.iter_mut() {
        manager.as_object_mut().unwrap().remove("time").unwrap();
    }
    managers.sort_by_key(|manager| manager["manager"].to_string());
    machine
}

#[tokio::test]
async fn a_status_update_does_not_reach_the_webhook() {
    let case = Case::new("status").await;
    let [name, _] = case.shoot.machines().try_into().unwrap();
    let before = case.machine(&name).await;
    let patch = r#"{"status":{"currentStatus":{"phase":"Unknown"}}}"#;
    case.kubectl(&["patch", "machine", &name, "--subresource=status", "--type=merge", "-p", patch], None).await;
    let machine = case.machine(&name).await;
    assert_eq!(machine["status"]["currentStatus"]["phase"], "Unknown");
    assert_eq!(machine["spec"]["providerID"], case.shoot.legacy_id(&name));
    assert_kept(&machine);
    for kept in ["spec", "metadata/annotations", "metadata/labels", "metadata/finalizers", "metadata/generation"] {
        let pointer = format!("/{kept}");
        assert_eq!(machine.pointer(&pointer), before.pointer(&pointer), "{kept}");
    }
}

#[tokio::test]
async fn a_deleted_machine_is_rewritten_while_it_waits_and_goes_with_its_last_finalizer() {
    let case = Case::new("delete").await;
    let [name, _] = case.shoot.machines().try_into().unwrap();
    case.kubectl(&["delete", "machine", &name, "--wait=false"], None).await;
    case.kubectl(&["label", "machine", &name, "touched=yes"], None).await;
    let waiting = case.machine(&name).await;
    case.assert_migrated(&waiting);
    assert!(waiting["metadata"]["deletionTimestamp"].is_string(), "{waiting}");
    assert_eq!(waiting["metadata"]["finalizers"], json!(["machine.sapcloud.io/machine-controller-manager"]));
    case.kubectl(&["patch", "machine", &name, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#], None).await;
    assert_eq!(case.kubectl(&["get", "machine", &name, "--ignore-not-found"], None).await, "");
}

#[tokio::test]
async fn machines_restored_in_parallel_are_all_rewritten_at_their_creation() {
    let case = Case::new("restore").await;
    let names: Vec<String> = (0..40).map(|i| format!("restored-{i}")).collect();
    let creates = names.iter().map(|name| {
        let object = case.fresh(name).to_string();
        let case = &case;
        async move { case.kubectl(&["create", "-f", "-"], Some(&object)).await }
    });
    futures::future::join_all(creates).await;
    for name in &names {
        case.assert_migrated(&case.machine(name).await);
    }
}

#[tokio::test]
async fn a_dry_run_is_answered_alike_and_leaves_no_trace() {
    let case = Case::new("dry").await;
    let [name, _] = case.shoot.machines().try_into().unwrap();
    let before = case.machine(&name).await;
    let patch = r#"[{"op":"add","path":"/metadata/labels/touched","value":"yes"}]"#;
    let dry = ["--dry-run=server", "-o", "json"];
    let patched = [&["patch", "machine", &name, "--type=json", "-p", patch], &dry[..]].concat();
    case.assert_migrated(&serde_json::from_str(&case.kubectl(&patched, None).await).unwrap());
    let made = [&["create", "-f", "-"], &dry[..]].concat();
    let made = case.kubectl(&made, Some(&case.fresh("dry-made").to_string())).await;
    case.assert_migrated(&serde_json::from_str(&made).unwrap());

    assert_eq!(case.machine(&name).await, before);
    assert_eq!(case.kubectl(&["get", "machine", "dry-made", "--ignore-not-found"], None).await, "");
    let events = case.cluster.server.audit_events_about(&case.namespace).unwrap();
    let told = events.iter().filter(|event| {
        let of = |key: &str| &event["annotations"][format!("machine.mcm-migration.stackit.cloud/{key}")];
        of("decision") == "changed" && of("dry-run") == "true"
    });
    assert_eq!(told.count(), 2, "both are told apart from real writes");
    // Nor has the program done anything by the way.
    let (namespace, account) = crate::support::cluster::SERVICE_ACCOUNT;
    let program = format!("system:serviceaccount:{namespace}:{account}");
    let by_the_program = events.iter().filter(|event| event["user"]["username"] == program.as_str());
    let writes: Vec<_> =
        by_the_program.filter(|event| !["get", "list", "watch"].contains(&event["verb"].as_str().unwrap())).collect();
    assert!(writes.is_empty(), "{writes:?}");
}

#[tokio::test]
async fn a_migrated_machine_costs_no_call_and_no_answer_is_a_needless_patch() {
    let case = Case::new("audit").await;
    let [name, _] = case.shoot.machines().try_into().unwrap();
    for touch in ["a", "b", "c"] {
        case.kubectl(&["label", "--overwrite", "machine", &name, &format!("touched={touch}")], None).await;
    }
    // The first write, from before the shoot was armed: asked, and no mutation. The second: one call, and the mutation. What a
    // webhook itself changes makes the API server ask again only those that it asked before, and there are none; nor would the
    // match condition let it, now that the ID is new. So the last two cost no call.
    let calls = case.calls(&name);
    assert_eq!(calls, [vec![called(0, SHIPPED, false)], vec![called(0, SHIPPED, true)], vec![], vec![]]);
}

#[tokio::test]
async fn an_answer_about_a_migrated_machine_is_no_mutation() {
    let case = Case::new("noop").await;
    let [first, second] = case.shoot.machines().try_into().unwrap();
    // The match condition spares migrated Machines the call; so the same webhook once more, after ours and without it.
    let shipped = case.kubectl(&["get", "mutatingwebhookconfiguration", SHIPPED, "-o", "json"], None).await;
    let mut shipped: Value = serde_json::from_str(&shipped).unwrap();
    let mut webhook = shipped["webhooks"][0].take();
    webhook.as_object_mut().unwrap().remove("matchConditions");
    webhook["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": case.namespace}});
    let (again, kind) = ("z-asks-of-each", "MutatingWebhookConfiguration");
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": again}, "webhooks": [webhook],
    });
    case.kubectl(&["create", "-f", "-"], Some(&configuration.to_string())).await;
    let is_asked = |(_, configuration, _): &(String, String, bool)| configuration == again;
    let touches = std::cell::Cell::new(0);
    rig::until("the second configuration is called", crate::support::DEADLINE, || async {
        touches.set(touches.get() + 1);
        case.kubectl(&["label", "--overwrite", "machine", &first, &format!("touched={}", touches.get())], None).await;
        Ok(case.calls(&first).last().is_some_and(|calls| calls.iter().any(is_asked)).then_some(()))
    })
    .await
    .unwrap();

    let before = case.machine(&first).await;
    case.kubectl(&["label", "machine", &first, "one-more=yes"], None).await;
    let after = case.machine(&first).await;
    assert_eq!(case.calls(&first).last().unwrap(), &[called(2, again, false)], "a Machine that was migrated before");
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["metadata"]["annotations"], before["metadata"]["annotations"]);

    case.kubectl(&["label", "machine", &second, "touched=yes"], None).await;
    let both = [called(0, SHIPPED, true), called(2, again, false)];
    assert_eq!(case.calls(&second).last().unwrap(), &both, "a Machine that is migrated in the same write");
    case.assert_migrated(&case.machine(&second).await);
}

#[tokio::test]
async fn a_machine_that_is_held_is_let_in_unchanged_and_the_person_warned() {
    let cluster = CLUSTER.get(Cluster::start).await;
    let shoot = Shoot::new("held").legacy_machines(1);
    shoot.create(&cluster.server).await.unwrap();
    let [name] = shoot.machines().try_into().unwrap();
    let case = Case { cluster: Arc::clone(&cluster), namespace: shoot.namespace(), shoot };
    let label = ["-n", &case.namespace, "label", "machine", &name, "touched=yes"];
    let output = cluster.server.kubectl(&label, None).await.unwrap();
    assert!(output.success());
    assert!(output.stderr.contains("mcm-migration: not migrated: no-guard"), "{}", output.stderr);
    assert_eq!(case.calls(&name), [[called(0, SHIPPED, false)]], "asked, and no mutation");
    assert_eq!(case.machine(&name).await["spec"]["providerID"], case.shoot.legacy_id(&name));
    let held = cluster.server.audit_events_about(&name).unwrap().into_iter().any(|event| {
        event["annotations"]["machine.mcm-migration.stackit.cloud/reason"] == "no-guard"
            && event["annotations"]["machine.mcm-migration.stackit.cloud/decision"] == "held"
    });
    assert!(held, "the API server's audit log carries the reason");
}
