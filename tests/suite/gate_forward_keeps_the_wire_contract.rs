//! What the API server may rely on at `/validate/machineclass`, whatever it sends. Against the binary, over a folder of objects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;

use crate::support::{CLASS, DEADLINE, NAMESPACE, Offline};
use serde_json::{Value, json};

const PATH: &str = "/validate/machineclass";

/// A Machine of the class that has no ID.
fn unsettled(objects: &Path) {
    let machine = json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "lost", "namespace": NAMESPACE},
        "spec": {"class": {"kind": "MachineClass", "name": CLASS}},
    });
    std::fs::write(objects.join("lost.yaml"), machine.to_string()).unwrap();
}

fn class(provider: &Value) -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1", "kind": "MachineClass",
        "metadata": {"name": CLASS, "namespace": NAMESPACE},
        "provider": provider, "providerSpec": {},
    })
}

fn flip() -> Value {
    json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "resource": {"group": "machine.sapcloud.io", "version": "v1alpha1", "resource": "machineclasses"},
        "namespace": NAMESPACE, "name": CLASS, "operation": "UPDATE",
        "userInfo": {"username": "system:serviceaccount:garden:gardener-extension-provider-stackit"},
        "object": class(&json!("stackit")), "oldObject": class(&json!("OpenStack")),
    })
}

/// The response to a request; its envelope is as the contract has it, and it never carries a patch.
async fn ask(served: &Offline, request: Value) -> Value {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (status, body) = served.post(PATH, review.to_string()).await;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&answer["apiVersion"], &answer["kind"]), (&review["apiVersion"], &review["kind"]));
    let response = &answer["response"];
    assert_eq!(response["uid"], review["request"]["uid"]);
    assert!(response.get("patch").is_none() && response.get("patchType").is_none(), "{answer}");
    assert_eq!(response.get("status").is_some(), response["allowed"] == false, "{answer}");
    response.clone()
}

#[tokio::test]
async fn a_refusal_has_a_code_and_a_message_and_is_recorded_and_counted() {
    let served = Offline::start(&[], unsettled).await;
    let response = ask(&served, flip()).await;
    assert_eq!(response["allowed"], false);
    let status = &response["status"];
    assert_eq!(
        (&status["code"], &status["reason"], &status["status"]),
        (&json!(403), &json!("Forbidden"), &json!("Failure"))
    );
    let message = status["message"].as_str().unwrap();
    let begin = format!(
        "mcm-migration gate: MachineClass {NAMESPACE}/{CLASS} cannot turn to stackit yet (machines-unsettled): "
    );
    assert!(message.starts_with(&begin) && message.contains(": lost. Next: "), "{message}");
    let annotations = &response["auditAnnotations"];
    assert_eq!((&annotations["decision"], &annotations["subject"]), (&json!("refused"), &json!("lost")));
    for key in annotations.as_object().unwrap().keys() {
        assert!(key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{key}");
    }

    let refused = |line: &Value| rig::product::field(line, "decision") == Some("refused");
    let line = served.product.await_log(refused, DEADLINE).await.unwrap();
    for (field, value) in
        [("resource", "machineclasses"), ("reason", "machines-unsettled"), ("namespace", NAMESPACE), ("name", CLASS)]
    {
        assert_eq!(rig::product::field(&line, field), Some(value), "{line}");
    }
    // Gardener tries again and again; the log does not repeat it.
    ask(&served, flip()).await;
    assert_eq!(served.product.logs().iter().filter(|line| refused(line)).count(), 1);
    let labels = [
        ("resource", "machineclasses"),
        ("operation", "UPDATE"),
        ("decision", "refused"),
        ("reason", "machines-unsettled"),
    ];
    let counted = served.product.metric("mcm_migration_webhook_admission_decisions_total", &labels).await.unwrap();
    assert!((counted - 2.0).abs() < 0.1, "{counted}");
}

#[tokio::test]
async fn with_dry_run_it_is_let_in_with_a_warning_for_everybody() {
    let served = Offline::start(&["--dry-run"], unsettled).await;
    let response = ask(&served, flip()).await;
    assert_eq!(response["allowed"], true);
    let warnings = response["warnings"].as_array().unwrap();
    assert_eq!(warnings[0], "mcm-migration gate: let in (dry-run-mode), would be refused: machines-unsettled (lost)");
    for warning in warnings {
        let warning = warning.as_str().unwrap();
        assert!(warning.len() <= 120 && !warning.contains(char::is_control), "{warning}");
    }
    let annotations = &response["auditAnnotations"];
    let told = (&annotations["decision"], &annotations["reason"], &annotations["subject"]);
    assert_eq!(told, (&json!("waived"), &json!("dry-run-mode"), &json!("machines-unsettled (lost)")));
}

#[tokio::test]
async fn what_is_no_turn_of_a_class_is_let_in_without_a_word() {
    let served = Offline::start(&[], unsettled).await;
    for (pointer, value) in [
        ("/operation", json!("CREATE")),
        ("/operation", json!("DELETE")),
        ("/object", class(&json!("OpenStack"))),
        ("/object", Value::Null),
        ("/object", json!([1])),
        ("/oldObject", class(&json!("stackit"))),
        ("/oldObject", class(&json!("aws"))),
        ("/resource/resource", json!("machines")),
        ("/resource/group", json!("apps")),
        ("/resource", Value::Null),
    ] {
        let mut request = flip();
        *request.pointer_mut(pointer).unwrap() = value.clone();
        let response = ask(&served, request).await;
        assert_eq!(response["allowed"], true, "{pointer} {value}");
        assert!(response.get("warnings").is_none(), "{response}");
    }
    let mut status = flip();
    status["subResource"] = json!("status");
    assert_eq!(ask(&served, status).await["allowed"], true);
    // A turn whose old object is missing or unreadable may be the one.
    for old in [Value::Null, json!("x"), class(&json!(7))] {
        let mut request = flip();
        request["oldObject"] = old.clone();
        assert_eq!(ask(&served, request).await["allowed"], false, "{old}");
    }
}

#[tokio::test]
async fn a_turn_that_loses_no_server_is_let_in_and_logged() {
    let served = Offline::start(&[], |_| {}).await;
    let response = ask(&served, flip()).await;
    assert_eq!((&response["allowed"], &response["auditAnnotations"]["reason"]), (&json!(true), &json!("may-flip")));
    let passed = |line: &Value| rig::product::field(line, "reason") == Some("may-flip");
    served.product.await_log(passed, DEADLINE).await.unwrap();
}

#[tokio::test]
async fn what_is_no_review_gets_the_same_answer_as_at_the_other_paths() {
    let served = Offline::start(&[], |_| {}).await;
    for body in [
        "",
        "{",
        "null",
        "[]",
        r#"{"kind":"AdmissionReview"}"#,
        r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}"#,
    ] {
        let here = served.post(PATH, body).await;
        assert_eq!(here.0, 400, "{body}");
        assert_eq!(here, served.post("/mutate/machine", body).await, "{body}");
    }
    let get = served.client.get(format!("{}{PATH}", served.url)).send().await.unwrap();
    assert_eq!(get.status(), 405);
}
