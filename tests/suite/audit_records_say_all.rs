//! What a record and the annotations of the API server's audit event say of one decision: all that docs/audit.md lists, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{CLASS, DEADLINE, NAMESPACE, Offline, PROJECT, SERVER, machine, repository, request};
use serde_json::{Map, Value, json};

const MACHINE: &str = "/mutate/machine";
const WORKER: &str = "/mutate/worker";
const MACHINE_CLASS: &str = "/validate/machineclass";

const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";
const USER: &str = "system:serviceaccount:shoot--garden--prod:machine-controller-manager";

/// The longest value: what is kept of one that is longer, and the sign that it was.
const LONGEST: usize = 513;

/// A row of the table of facts.
struct Row {
    record: String,
    annotation: Option<String>,
    always: bool,
}

/// The cells between `|` of each row of docs/audit.md.
fn cells() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(repository("docs/audit.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}

/// The words between back quotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn documented() -> Vec<Row> {
    let rows = cells().into_iter().filter(|cells| cells.len() == 4).map(|cells| Row {
        record: quoted(&cells[0]).remove(0),
        annotation: quoted(&cells[1]).pop(),
        always: cells[3] == "always",
    });
    let rows: Vec<Row> = rows.collect();
    assert!(rows.len() > 15, "docs/audit.md lists {} facts", rows.len());
    rows
}

/// The keys of a line that is no decision.
fn documented_of(message: &str) -> BTreeSet<String> {
    let name = format!("`{message}`");
    let row = cells().into_iter().find(|cells| cells.len() == 3 && cells[0] == name).unwrap();
    quoted(&row[2]).into_iter().collect()
}

fn keys(of: &Value) -> BTreeSet<String> {
    of.as_object().unwrap().keys().cloned().collect()
}

/// Serves the armed shoot of the examples, changed by `change`; what passes is recorded as well.
async fn served(change: impl FnOnce(&Path)) -> Offline {
    Offline::start(&["--log", "info,audit=debug"], change).await
}

fn replace(objects: &Path, from: &str, to: &str) {
    let file = objects.join("shoot.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(file, text.replace(from, to)).unwrap();
}

fn audit_lines(served: &Offline) -> Vec<Value> {
    served.product.logs().into_iter().filter(|line| line["target"] == "audit").collect()
}

/// The record and the annotations of one request.
async fn told(served: &Offline, path: &str, request: &Value) -> (Value, Value) {
    let before = audit_lines(served).len();
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (status, body) = served.post(path, review.to_string()).await;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["response"]["uid"], request["uid"], "the uid of the answer is whole");
    let lines = rig::until("there is a record", DEADLINE, || async {
        let lines = audit_lines(served);
        Ok((lines.len() > before).then_some(lines))
    });
    let lines = lines.await.unwrap();
    assert_eq!(lines.len(), before + 1, "one decision is one line");
    (lines[before].clone(), answer["response"]["auditAnnotations"].clone())
}

/// That the record has exactly the `known` values beside those that every record has, that the time and the duration have
/// their shapes, and that the annotations say the same. `optional` are the rows of the table that are not always there.
fn says(record: &Value, annotations: &Value, known: &Value, optional: &[&str]) {
    let mut left: Map<String, Value> = record.as_object().unwrap().clone();
    let time = left.remove("timestamp").unwrap();
    let time = time.as_str().unwrap();
    assert!(time.parse::<jiff::Timestamp>().is_ok() && time.ends_with('Z'), "{time} is no time of RFC 3339 in UTC");
    let took = left.remove("duration_us").unwrap().as_u64().expect("microseconds are a number");
    let mut wanted = json!({
        "target": "audit", "message": "admission", "uid": UID, "namespace": NAMESPACE, "user": USER, "repeated": 0,
        "build": env!("CARGO_PKG_VERSION"),
    });
    wanted.as_object_mut().unwrap().extend(known.as_object().unwrap().clone());
    assert_eq!(Value::Object(left), wanted);

    let (mut of_record, mut of_event) = (BTreeSet::new(), Map::new());
    for row in documented().into_iter().filter(|row| row.always || optional.contains(&&*row.record)) {
        if let Some(annotation) = row.annotation {
            let value = match &record[&row.record] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            of_event.insert(annotation, json!(value));
        }
        of_record.insert(row.record);
    }
    assert_eq!(keys(record), of_record, "docs/audit.md lists the keys of a record");
    assert_eq!(annotations, &Value::Object(of_event), "the annotations say what the record says");
    assert_eq!(annotations["duration-us"], took.to_string());
}

fn legacy_id() -> String {
    format!("openstack:///RegionOne/{SERVER}")
}

#[tokio::test]
async fn of_a_rewrite() {
    let served = served(|_| {}).await;
    let (record, annotations) = told(&served, MACHINE, &request("UPDATE", machine())).await;
    let known = json!({
        "level": "INFO", "resource": "machines", "name": "m", "operation": "UPDATE", "dry_run": false,
        "decision": "changed", "reason": "rewritten",
        "old_id": legacy_id(), "new_id": format!("stackit://{PROJECT}/{SERVER}"),
        "patch_paths": "/spec/providerID /metadata/annotations \
            /metadata/annotations/stackit.cloud~1migrated-machine \
            /metadata/annotations/stackit.cloud~1machine-should-be-migrated \
            /metadata/annotations/mcm-migration.stackit.cloud~1previous-provider-id",
    });
    says(&record, &annotations, &known, &["old_id", "new_id", "patch_paths"]);
}

#[tokio::test]
async fn of_a_machine_that_is_held_and_made_in_a_dry_run() {
    let served = served(|objects| replace(objects, CLASS, "another")).await;
    let mut asked = request("CREATE", machine());
    asked["dryRun"] = json!(true);
    asked["name"] = json!("");
    asked["object"]["metadata"] = json!({"generateName": "m-"});
    let (record, annotations) = told(&served, MACHINE, &asked).await;
    let known = json!({
        "level": "INFO", "resource": "machines", "name": "m-*", "operation": "CREATE", "dry_run": true,
        "decision": "held", "reason": "class-unknown", "subject": CLASS, "old_id": legacy_id(),
    });
    says(&record, &annotations, &known, &["subject", "old_id"]);
}

#[tokio::test]
async fn of_a_worker_that_is_marked_held_or_passes() {
    let served = served(|objects| {
        replace(objects, "- type: Armed", "- {type: Labelled, status: \"True\"}\n    - type: Armed");
        let other = std::fs::read_to_string(objects.join("shoot.yaml")).unwrap().replace(NAMESPACE, "shoot--other");
        std::fs::write(objects.join("other.yaml"), other.replace("Labelled", "Other")).unwrap();
    })
    .await;
    let ask = |operation: &str, namespace: &str| {
        let worker = json!({"metadata": {"name": "w", "namespace": namespace}, "spec": {"type": "stackit"}});
        let mut asked = request(operation, worker);
        asked["resource"] = json!({"group": "extensions.gardener.cloud", "version": "v1alpha1", "resource": "workers"});
        asked["name"] = json!("w");
        asked["namespace"] = json!(namespace);
        asked
    };
    let (record, annotations) = told(&served, WORKER, &ask("UPDATE", NAMESPACE)).await;
    let marked = json!({
        "level": "INFO", "resource": "workers", "name": "w", "operation": "UPDATE", "dry_run": false,
        "decision": "changed", "reason": "worker-marked",
        "patch_paths":
            "/metadata/annotations /metadata/annotations/stackit.cloud~1machine-controller-manager-migrated",
    });
    says(&record, &annotations, &marked, &["patch_paths"]);

    let (record, annotations) = told(&served, WORKER, &ask("UPDATE", "shoot--other")).await;
    let held = json!({
        "level": "INFO", "resource": "workers", "namespace": "shoot--other", "name": "w", "operation": "UPDATE",
        "dry_run": false, "decision": "held", "reason": "labels-unconfirmed",
    });
    says(&record, &annotations, &held, &[]);

    // There is nothing to tell of it, unless one asks for all.
    let (record, annotations) = told(&served, WORKER, &ask("CREATE", NAMESPACE)).await;
    let passed = json!({
        "level": "DEBUG", "resource": "workers", "name": "w", "operation": "CREATE", "dry_run": false,
        "decision": "passed", "reason": "not-our-object",
    });
    says(&record, &annotations, &passed, &[]);
}

#[tokio::test]
async fn of_a_class_that_is_refused() {
    let served = served(|objects| {
        let mut machine = machine();
        machine["spec"].as_object_mut().unwrap().remove("providerID");
        std::fs::write(objects.join("machine.yaml"), machine.to_string()).unwrap();
    })
    .await;
    let class = |provider: &str| json!({"metadata": {"name": CLASS, "namespace": NAMESPACE}, "provider": provider});
    let mut asked = request("UPDATE", class("stackit"));
    asked["oldObject"] = class("OpenStack");
    asked["resource"]["resource"] = json!("machineclasses");
    asked["name"] = json!(CLASS);
    let (record, annotations) = told(&served, MACHINE_CLASS, &asked).await;
    let known = json!({
        "level": "INFO", "resource": "machineclasses", "name": CLASS, "operation": "UPDATE", "dry_run": false,
        "decision": "refused", "reason": "machines-unsettled", "subject": "m",
    });
    says(&record, &annotations, &known, &["subject"]);
}

#[tokio::test]
async fn of_a_body_that_is_no_review() {
    let served = served(|_| {}).await;
    assert_eq!(served.post(MACHINE, "{").await.0, 400);
    let line = served.product.await_log(|line| line["target"] == "audit", DEADLINE).await.unwrap();
    assert_eq!((&line["message"], &line["path"]), (&json!("refused"), &json!(MACHINE)));
    assert_eq!(keys(&line), documented_of("refused"));
}

/// The API server looks at the length of a name only after admission.
#[tokio::test]
async fn values_of_any_length_make_one_line_that_is_bounded() {
    let served = served(|_| {}).await;
    let long = |begin: &str| format!("{begin}{}", "ä\n\"\u{1b}".repeat(1 << 16));
    let in_the_table = |record: &Value, annotations: &Value, cut: &[&str]| {
        for key in cut {
            let value = record[key].as_str().unwrap();
            assert_eq!(value.trim_end_matches('*').chars().count(), LONGEST, "{key}");
            assert!(value.trim_end_matches('*').ends_with('…'), "{key}");
            assert_eq!(annotations[key.replace('_', "-")], *value);
        }
        for whole in [record, annotations] {
            assert!(whole.to_string().len() < 32 * 1024, "{} bytes", whole.to_string().len());
        }
    };
    let mut asked = request("UPDATE", machine());
    for key in ["uid", "name", "namespace"] {
        asked[key] = json!(long(key));
    }
    asked["operation"] = json!("UPDATE");
    asked["userInfo"]["username"] = json!(long("user"));
    asked["object"]["spec"]["providerID"] = json!(long("openstack:"));
    let (record, annotations) = told(&served, MACHINE, &asked).await;
    in_the_table(&record, &annotations, &["uid", "name", "namespace", "user", "old_id", "subject"]);

    let mut asked = request("CREATE", machine());
    asked["name"] = json!("");
    asked["operation"] = json!(long("CREATE"));
    asked["object"]["metadata"] = json!({"generateName": long("m-")});
    let (record, annotations) = told(&served, MACHINE, &asked).await;
    in_the_table(&record, &annotations, &["name"]);
    assert_eq!((&record["operation"], &annotations["operation"]), (&json!("OTHER"), &json!("OTHER")));
    // The runner reads one JSON object a line; a broken line would have become a string.
    assert!(served.product.logs().iter().all(Value::is_object));
}

#[tokio::test]
async fn a_dry_run_takes_no_turn_and_what_was_left_out_is_told_at_the_end() {
    let served = Offline::start(&[], |objects| replace(objects, "guard: closed", "guard: none")).await;
    let mut dry = request("UPDATE", machine());
    dry["dryRun"] = json!(true);
    for asked in [&dry, &dry, &request("UPDATE", machine())] {
        served.ask(MACHINE, asked.clone()).await;
    }
    for _ in 0..4 {
        served.ask(MACHINE, request("UPDATE", machine())).await;
    }
    served.product.sigterm().unwrap();
    assert_eq!(served.product.wait(DEADLINE).await.unwrap(), 0);
    // The reader may be a moment behind the end.
    rig::until("all is read", DEADLINE, || async { Ok((audit_lines(&served).len() >= 4).then_some(())) })
        .await
        .unwrap();
    let lines = audit_lines(&served);
    let told: BTreeSet<String> = lines
        .iter()
        .map(|line| {
            assert_eq!(line["reason"], "no-guard");
            format!("{} dry-run {} repeated {}", line["message"], line["dry_run"], line["repeated"]).replace('"', "")
        })
        .collect();
    let wanted = [
        "admission dry-run true repeated 0",
        "admission dry-run false repeated 0",
        "repeats dry-run true repeated 1",
        "repeats dry-run false repeated 4",
    ];
    assert_eq!((told, lines.len()), (BTreeSet::from(wanted.map(str::to_owned)), 4));
    let rest = lines.iter().find(|line| line["message"] == "repeats").unwrap();
    assert_eq!(keys(rest), documented_of("repeats"));
    assert_eq!(
        (&rest["namespace"], &rest["resource"], &rest["decision"], &rest["build"]),
        (&json!(NAMESPACE), &json!("machines"), &json!("held"), &json!(env!("CARGO_PKG_VERSION")))
    );
}
