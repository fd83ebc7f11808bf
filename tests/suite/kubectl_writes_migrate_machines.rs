//! Every way in which kubectl writes a Machine, against a real API server with the shipped manifests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::support::cluster::Cluster;
use rig::shoot::Shoot;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

const MARKS: [&str; 2] = ["stackit.cloud/migrated-machine", "stackit.cloud/machine-should-be-migrated"];

/// One API server for all: it outlives each test's own runtime.
static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

struct Case {
    cluster: &'static Cluster,
    shoot: Shoot,
    namespace: String,
}

impl Case {
    async fn new(name: &str) -> Self {
        let cluster = CLUSTER.get_or_init(Cluster::start).await;
        let shoot = Shoot::new(name).legacy_machines(2);
        cluster.armed(&shoot).await;
        let namespace = shoot.namespace();
        Self { cluster, shoot, namespace }
    }

    async fn kubectl(&self, args: &[&str], stdin: Option<&str>) -> String {
        let args = [&["-n", &self.namespace], args].concat();
        self.cluster.server.kubectl(&args, stdin).await.unwrap().ok().unwrap()
    }

    async fn machine(&self, name: &str) -> Value {
        serde_json::from_str(&self.kubectl(&["get", "machine", name, "-o", "json"], None).await).unwrap()
    }

    /// A Machine of the shoot that does not exist yet, with a foreign annotation and an unknown field.
    fn fresh(&self, name: &str) -> Value {
        let mut machine = self.shoot.machine(name, &self.shoot.legacy_id(name));
        machine["metadata"]["annotations"] = json!({"example.com/foreign": "kept"});
        machine["spec"]["unknown"] = json!({"number": 9_007_199_254_740_993_u64});
        machine
    }

    fn assert_migrated(&self, machine: &Value) {
        let name = machine["metadata"]["name"].as_str().unwrap();
        assert_migrated_to(machine, &self.shoot.stackit_id(name));
    }
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
async fn create_patch_replace_and_dry_run() {
    let case = Case::new("writes").await;
    let [first, second] = case.shoot.machines().try_into().unwrap();

    // A patch of anything.
    case.kubectl(
        &["patch", "machine", &first, "--type=merge", "-p", r#"{"metadata":{"labels":{"touched":"yes"}}}"#],
        None,
    )
    .await;
    case.assert_migrated(&case.machine(&first).await);

    // A dry run is answered alike and persists nothing.
    let patch = r#"[{"op":"add","path":"/metadata/labels/touched","value":"yes"}]"#;
    let answer = case
        .kubectl(&["patch", "machine", &second, "--type=json", "-p", patch, "--dry-run=server", "-o", "json"], None)
        .await;
    case.assert_migrated(&serde_json::from_str(&answer).unwrap());
    assert_eq!(case.machine(&second).await["spec"]["providerID"], case.shoot.legacy_id(&second));

    // A replace with the whole object.
    let mut whole = case.machine(&second).await;
    whole["metadata"]["labels"]["touched"] = json!("yes");
    case.kubectl(&["replace", "-f", "-"], Some(&whole.to_string())).await;
    case.assert_migrated(&case.machine(&second).await);

    // A create, with foreign annotations and unknown fields.
    case.kubectl(&["create", "-f", "-"], Some(&case.fresh("created").to_string())).await;
    let created = case.machine("created").await;
    case.assert_migrated(&created);
    assert_kept(&created);
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
    for (manager, object) in [("a", &with_id), ("b", &with_label), ("b", &with_label), ("a", &with_id)] {
        case.kubectl(&["apply", "--server-side", "--field-manager", manager, "-f", "-"], Some(object)).await;
        let mut machine = case.machine("applied").await;
        case.assert_migrated(&machine);
        assert_kept(&machine);
        for volatile in ["resourceVersion", "managedFields", "generation"] {
            machine["metadata"].as_object_mut().unwrap().remove(volatile);
        }
        seen.push(machine);
    }
    assert_eq!(seen[1], seen[2], "the second manager, again");
    assert_eq!(seen[2], seen[3], "the manager that applies the legacy ID again");
    assert_eq!(seen[3]["metadata"]["labels"]["example.com/owner"], "b");
}

#[tokio::test]
async fn a_status_update_does_not_reach_the_webhook() {
    let case = Case::new("status").await;
    let [name, _] = case.shoot.machines().try_into().unwrap();
    let patch = r#"{"status":{"currentStatus":{"phase":"Unknown"}}}"#;
    case.kubectl(&["patch", "machine", &name, "--subresource=status", "--type=merge", "-p", patch], None).await;
    let machine = case.machine(&name).await;
    assert_eq!(machine["status"]["currentStatus"]["phase"], "Unknown");
    assert_eq!(machine["spec"]["providerID"], case.shoot.legacy_id(&name));
}

#[tokio::test]
async fn a_deleted_machine_is_rewritten_while_it_waits_and_goes_with_its_last_finalizer() {
    let case = Case::new("delete").await;
    let [name, _] = case.shoot.machines().try_into().unwrap();
    case.kubectl(&["delete", "machine", &name, "--wait=false"], None).await;
    case.kubectl(&["label", "machine", &name, "touched=yes"], None).await;
    case.assert_migrated(&case.machine(&name).await);
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
async fn a_migrated_machine_costs_no_call_and_no_answer_is_a_needless_patch() {
    let case = Case::new("audit").await;
    let [name, _] = case.shoot.machines().try_into().unwrap();
    for touch in ["a", "b", "c"] {
        case.kubectl(&["label", "--overwrite", "machine", &name, &format!("touched={touch}")], None).await;
    }
    let events = case.cluster.server.audit_events().unwrap();
    let of_the_machine = |event: &&Value| {
        let of = &event["objectRef"];
        event["verb"] == "patch" && of["namespace"] == case.namespace.as_str() && of["name"] == name.as_str()
    };
    let annotations: Vec<_> =
        events.iter().filter(of_the_machine).filter_map(|event| event["annotations"].as_object()).collect();
    let asked = annotations.iter().filter(|of| of.contains_key("machine.mcm-migration.stackit.cloud/reason")).count();
    assert_eq!(asked, 1, "calls for three writes of one Machine");
    let mutated: Vec<&str> = annotations
        .iter()
        .flat_map(|of| of.iter())
        .filter(|(key, _)| key.starts_with("mutation.webhook.admission.k8s.io/"))
        .map(|(_, value)| value.as_str().unwrap())
        .collect();
    // Called once more in the same write, because the first answer changed the Machine; that answer is no patch.
    let changed = mutated.iter().filter(|value| value.contains("\"mutated\":true")).count();
    assert_eq!(changed, 1, "{mutated:?}");
}

#[tokio::test]
async fn a_machine_that_is_held_is_let_in_and_the_person_warned() {
    let cluster = CLUSTER.get_or_init(Cluster::start).await;
    let shoot = Shoot::new("held").legacy_machines(1);
    shoot.create(&cluster.server).await.unwrap();
    let [name] = shoot.machines().try_into().unwrap();
    let output = cluster
        .server
        .kubectl(&["-n", &shoot.namespace(), "label", "machine", &name, "touched=yes"], None)
        .await
        .unwrap();
    assert!(output.success());
    assert!(output.stderr.contains("mcm-migration: not migrated: no-guard"), "{}", output.stderr);
    let held = cluster.server.audit_events().unwrap().into_iter().any(|event| {
        event["annotations"]["machine.mcm-migration.stackit.cloud/reason"] == "no-guard"
            && event["annotations"]["machine.mcm-migration.stackit.cloud/decision"] == "held"
    });
    assert!(held, "the API server's audit log carries the reason");
}
