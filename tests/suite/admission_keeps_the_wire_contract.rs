//! What the API server may rely on, whatever it sends. Against the binary, over a folder of objects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::support::{CLASS, DEADLINE, NAMESPACE, Offline, PROJECT, SERVER, machine, patched, request};
use serde_json::{Value, json};

const MACHINE: &str = "/mutate/machine";
const WORKER: &str = "/mutate/worker";

async fn served() -> Offline {
    Offline::start(&[], |_| {}).await
}

fn new_id() -> String {
    format!("stackit://{PROJECT}/{SERVER}")
}

#[tokio::test]
async fn a_patch_is_base64_and_its_type_stands_beside_it() {
    let served = served().await;
    let response = served.ask(MACHINE, request("UPDATE", machine())).await;
    assert_eq!(response["patchType"], "JSONPatch");
    let after = patched(&machine(), &response);
    assert_eq!(after["spec"]["providerID"], new_id());
    assert_eq!(after["metadata"]["annotations"]["stackit.cloud/migrated-machine"], "true");
    assert_eq!(after["metadata"]["annotations"]["stackit.cloud/machine-should-be-migrated"], "true");
    assert_eq!(
        after["metadata"]["annotations"]["mcm-migration.stackit.cloud/previous-provider-id"],
        machine()["spec"]["providerID"]
    );
}

#[tokio::test]
async fn annotations_may_be_absent_null_empty_or_others() {
    let served = served().await;
    for annotations in [None, Some(Value::Null), Some(json!({})), Some(json!({"a": "b", "c/d~e": "f"}))] {
        let mut before = machine();
        if let Some(annotations) = &annotations {
            before["metadata"]["annotations"] = annotations.clone();
        }
        let after = patched(&before, &served.ask(MACHINE, request("UPDATE", before.clone())).await);
        assert_eq!(after["spec"]["providerID"], new_id(), "{annotations:?}");
        for (key, value) in annotations.as_ref().and_then(Value::as_object).into_iter().flatten() {
            assert_eq!(&after["metadata"]["annotations"][key], value);
        }
    }
}

#[tokio::test]
async fn a_second_pass_over_the_answer_is_empty() {
    let served = served().await;
    let after = patched(&machine(), &served.ask(MACHINE, request("CREATE", machine())).await);
    let again = served.ask(MACHINE, request("UPDATE", after)).await;
    assert!(again.get("patch").is_none() && again.get("warnings").is_none());
    assert_eq!(again["auditAnnotations"]["reason"], "not-legacy");
}

#[tokio::test]
async fn unknown_members_large_numbers_and_deep_trees_survive() {
    let served = served().await;
    let mut before = machine();
    before["spec"]["unknown"] = json!({"n": 9_007_199_254_740_993_u64, "f": 1.0, "null": null, "empty": {}});
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let text = before.to_string().replacen("\"unknown\":", &format!("\"deep\":{deep},\"unknown\":"), 1);
    let review = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}}"#,
        request("UPDATE", json!("OBJECT")).to_string().replace("\"OBJECT\"", &text)
    );
    let (status, body) = served.post(MACHINE, review).await;
    assert_eq!(status, 200, "{body}");
    let response = serde_json::from_str::<Value>(&body).unwrap()["response"].clone();
    let after = patched(&before, &response);
    assert_eq!(after["spec"]["unknown"], before["spec"]["unknown"]);
    assert_eq!(after["spec"]["providerID"], new_id());
}

#[tokio::test]
async fn an_object_of_3_mib_with_an_old_one_beside_it_is_ordinary() {
    let served = served().await;
    let mut before = machine();
    before["spec"]["nodeTemplate"] = json!({"metadata": {"filler": "x".repeat(3 * 1024 * 1024 - 1024)}});
    let mut asked = request("UPDATE", before.clone());
    asked["oldObject"] = before.clone();
    let response = served.ask(MACHINE, asked).await;
    assert_eq!(patched(&before, &response)["spec"]["providerID"], new_id());
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused_and_the_next_call_answered() {
    let served = served().await;
    let (status, _) = served.post(MACHINE, vec![b' '; 8 * 1024 * 1024]).await;
    assert_eq!(status, 413);
    served.ask(MACHINE, request("UPDATE", machine())).await;
}

#[tokio::test]
async fn what_is_no_review_gets_a_4xx_that_says_what_to_send() {
    let served = served().await;
    for body in ["", "{", "null", "[]", "{}", r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#] {
        let (status, text) = served.post(MACHINE, body).await;
        assert_eq!(status, 400, "{body:?}");
        assert!(text.contains("send") || text.contains("register"), "{text}");
    }
    let wrong = served.client.post(format!("{}{MACHINE}", served.url)).body("{}").send().await.unwrap();
    assert_eq!(wrong.status(), 415);
    let charset = served
        .client
        .post(format!("{}{MACHINE}", served.url))
        .header("content-type", "application/json; charset=utf-8")
        .body(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request("UPDATE", machine())}).to_string());
    assert_eq!(charset.send().await.unwrap().status(), 200);
    assert_eq!(served.client.get(format!("{}{MACHINE}", served.url)).send().await.unwrap().status(), 405);
    served.ask(MACHINE, request("UPDATE", machine())).await;
}

#[tokio::test]
async fn foreign_kinds_subresources_and_deletes_pass_untouched() {
    let served = served().await;
    let with = |pointer: &str, value: Value| {
        let mut asked = request("UPDATE", machine());
        *asked.pointer_mut(pointer).unwrap() = value;
        asked
    };
    let mut status = request("UPDATE", machine());
    status["subResource"] = json!("status");
    let cases = [
        with("/resource", json!({"group": "apps", "resource": "deployments"})),
        with("/resource", Value::Null),
        with("/operation", json!("DELETE")),
        with("/operation", json!("CONNECT")),
        with("/object", Value::Null),
        status,
    ];
    for asked in cases {
        let response = served.ask(MACHINE, asked.clone()).await;
        assert!(response.get("patch").is_none(), "{asked}");
        assert_eq!(response["auditAnnotations"]["reason"], "not-our-object", "{asked}");
    }
    // A Machine on the path for Workers is foreign there.
    assert!(served.ask(WORKER, request("UPDATE", machine())).await.get("patch").is_none());
}

#[tokio::test]
async fn a_terminating_machine_is_rewritten_until_its_last_finalizer_goes() {
    let served = served().await;
    let mut object = machine();
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let response = served.ask(MACHINE, request("UPDATE", object.clone())).await;
    assert_eq!(response["auditAnnotations"]["reason"], "rewritten");
    object["metadata"]["finalizers"] = json!([]);
    let response = served.ask(MACHINE, request("UPDATE", object)).await;
    assert!(response.get("patch").is_none());
    assert_eq!(response["auditAnnotations"]["reason"], "finalizers-gone");
}

#[tokio::test]
async fn a_name_that_is_still_to_be_made_is_no_obstacle() {
    let served = served().await;
    let mut object = machine();
    object["metadata"] = json!({"generateName": "m-"});
    let mut asked = request("CREATE", object.clone());
    asked.as_object_mut().unwrap().remove("name");
    let response = served.ask(MACHINE, asked).await;
    assert_eq!(patched(&object, &response)["spec"]["providerID"], new_id());
    let line = served.product.await_log(|line| line["target"] == "audit", DEADLINE).await.unwrap();
    assert_eq!(line["name"], "m-*");
}

#[tokio::test]
async fn malformed_ids_are_left_alone_and_named() {
    let served = served().await;
    for id in ["openstack:///RegionOne/x", "openstack://RegionOne/y", "openstack:///", "openstack:///a/b\nc"] {
        let mut object = machine();
        object["spec"]["providerID"] = json!(id);
        let response = served.ask(MACHINE, request("UPDATE", object)).await;
        assert!(response.get("patch").is_none(), "{id}");
        assert_eq!(response["auditAnnotations"]["reason"], "provider-id-malformed");
        assert_eq!(response["auditAnnotations"]["subject"], id);
    }
}

#[tokio::test]
async fn people_are_warned_and_controllers_are_not() {
    let served = Offline::start(&[], |objects| {
        let file = objects.join("shoot.yaml");
        let text = std::fs::read_to_string(&file).unwrap().replace("paused: false", "paused: true");
        std::fs::write(file, text).unwrap();
    })
    .await;
    let mut asked = request("UPDATE", machine());
    assert!(served.ask(MACHINE, asked.clone()).await.get("warnings").is_none());
    asked["userInfo"]["username"] = json!("jane");
    let response = served.ask(MACHINE, asked).await;
    assert_eq!(response["warnings"], json!(["mcm-migration: not migrated: paused"]));
}

#[tokio::test]
async fn a_record_is_one_line_whatever_stands_in_the_object() {
    let served = served().await;
    let hostile = "a\nb\u{1b}[31m\"\\ {\"level\":\"ERROR\"}";
    let mut object = machine();
    object["spec"]["class"]["name"] = json!(hostile);
    object["metadata"]["name"] = json!(hostile);
    let mut asked = request("UPDATE", object);
    asked["name"] = json!(hostile);
    served.ask(MACHINE, asked).await;
    // The runner reads one JSON object a line; a broken line would have become a string.
    let line = served.product.await_log(|line| line["target"] == "audit", DEADLINE).await.unwrap();
    assert_eq!(
        (&line["reason"], &line["subject"], &line["name"]),
        (&json!("class-unknown"), &json!(hostile), &json!(hostile))
    );
    assert!(served.product.logs().iter().all(Value::is_object));
}

#[tokio::test]
async fn a_held_machine_is_logged_once_a_minute() {
    let served = Offline::start(&[], |objects| std::fs::remove_file(objects.join("shoot.yaml")).unwrap()).await;
    for _ in 0..20 {
        served.ask(MACHINE, request("UPDATE", machine())).await;
    }
    let metric = served.product.metric("mcm_migration_webhook_admission_decisions_total", &[("reason", "no-guard")]);
    assert!((metric.await.unwrap() - 20.0).abs() < 0.1);
    let held = served.product.logs().into_iter().filter(|line| line["target"] == "audit").count();
    assert_eq!(held, 1);
}

#[tokio::test]
async fn with_dry_run_it_decides_and_leaves_the_patch_out() {
    let served = Offline::start(&["--dry-run"], |_| {}).await;
    let response = served.ask(MACHINE, request("UPDATE", machine())).await;
    assert!(response.get("patch").is_none());
    assert_eq!(response["auditAnnotations"]["reason"], "dry-run-mode");
    assert_eq!(response["auditAnnotations"]["subject"], "rewritten");
}

#[tokio::test]
async fn a_manifest_that_breaks_keeps_its_last_good_state_and_is_named() {
    let served = served().await;
    let file = served.folder.path().join("objects/shoot.yaml");
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "a: [\n").unwrap();
    let line =
        served.product.await_log(|line| line["message"] == "a manifest cannot be taken up", DEADLINE).await.unwrap();
    assert!(line["error"].as_str().unwrap().contains("shoot.yaml"), "{line}");
    assert_eq!(served.ask(MACHINE, request("UPDATE", machine())).await["auditAnnotations"]["reason"], "rewritten");
    std::fs::write(&file, good.replace(CLASS, "another-class")).unwrap();
    rig::until("the change is taken up", DEADLINE, || async {
        let response = served.ask(MACHINE, request("UPDATE", machine())).await;
        Ok((response["auditAnnotations"]["reason"] == "class-unknown").then_some(()))
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_worker_without_anything_left_is_marked_on_update_only() {
    let served = Offline::start(&[], |objects| {
        let file = objects.join("shoot.yaml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(file, text.replace("- type: Armed", "- {type: Labelled, status: \"True\"}\n    - type: Armed"))
            .unwrap();
    })
    .await;
    let worker = json!({"metadata": {"name": "w", "namespace": NAMESPACE}, "spec": {"type": "stackit"}});
    let ask = |operation: &str| {
        let mut asked = request(operation, worker.clone());
        asked["resource"] = json!({"group": "extensions.gardener.cloud", "version": "v1alpha1", "resource": "workers"});
        asked
    };
    let response = served.ask(WORKER, ask("UPDATE")).await;
    let after = patched(&worker, &response);
    assert_eq!(after["metadata"]["annotations"]["stackit.cloud/machine-controller-manager-migrated"], "true");
    assert!(served.ask(WORKER, ask("CREATE")).await.get("patch").is_none());
}
