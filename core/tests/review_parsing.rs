//! What the parser takes: anything whose envelope can be answered, and never more memory than the body.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worlds;

use mcm_migration_core::review::{Operation, ReviewError, Shape, Text, parse};
use proptest::prelude::*;
use serde_json::{Value, json};
use worlds::{json_value, machine};

fn review(request: &Value) -> String {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_uid_survives_whatever_else_the_request_holds(
        name in json_value(), object in prop_oneof![json_value(), machine()], old in json_value(), user in json_value(),
        resource in json_value(), operation in json_value(), dry_run in json_value(),
    ) {
        let body = review(&json!({
            "uid": "u-1", "name": name, "object": object, "oldObject": old, "userInfo": user, "resource": resource,
            "operation": operation, "dryRun": dry_run, "options": null, "unknown": {"deeply": [1, {"x": null}]},
        }));
        prop_assert_eq!(&*parse(body.as_bytes()).unwrap().uid, "u-1");
    }

    #[test]
    fn no_bytes_make_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        drop(parse(&body));
    }

    #[test]
    fn a_cut_review_is_an_error(at in 0usize..200, object in machine()) {
        let body = review(&json!({"uid": "u", "object": object}));
        let cut = at.min(body.len() - 1);
        prop_assert!(matches!(parse(&body.as_bytes()[..cut]), Err(ReviewError::Json(_))));
    }
}

#[test]
fn what_is_no_review_is_refused_with_its_cause() {
    let no_uid = review(&json!({"uid": ""}));
    assert!(matches!(parse(b""), Err(ReviewError::Json(_))));
    assert!(matches!(parse(b"[]"), Err(ReviewError::NotAReview)));
    assert!(matches!(parse(b"null"), Err(ReviewError::NotAReview)));
    assert!(matches!(
        parse(br#"{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}"#),
        Err(ReviewError::NotAReview)
    ));
    assert!(matches!(parse(review(&Value::Null).as_bytes()), Err(ReviewError::NoRequest)));
    assert!(matches!(parse(review(&json!([])).as_bytes()), Err(ReviewError::NoRequest)));
    assert!(matches!(parse(no_uid.as_bytes()), Err(ReviewError::NoUid)));
    assert!(matches!(parse(review(&json!({"uid": 7})).as_bytes()), Err(ReviewError::NoUid)));
}

#[test]
fn absent_and_null_members_are_taken() {
    let body =
        review(&json!({"uid": "u", "name": null, "namespace": null, "object": null, "userInfo": null, "dryRun": null}));
    let request = parse(body.as_bytes()).unwrap();
    assert_eq!((request.operation, request.dry_run, request.object.shape), (Operation::Other, false, Shape::Null));
}

#[test]
fn deep_objects_and_deep_old_objects_are_skipped() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","oldObject":{deep},
            "object":{{"status":{deep},"metadata":{{"annotations":{deep}}},"spec":{{"providerID":"x"}}}}}}}}"#
    );
    let request = parse(body.as_bytes()).unwrap();
    assert_eq!(request.object.spec.provider_id.text(), "x");
    assert_eq!(request.object.metadata.annotations.shape, Shape::Other);
}

#[test]
fn the_last_of_two_members_counts_as_in_go() {
    let body = br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"a","uid":"b",
        "object":{"spec":{"providerID":"one","providerID":"two"}}}}"#;
    let request = parse(body).unwrap();
    assert_eq!((&*request.uid, request.object.spec.provider_id.text()), ("b", "two"));
}

#[test]
fn escaped_strings_are_read() {
    let body = br#"{"apiVersion":"admission.k8s.io\/v1","kind":"Admission\u0052eview","request":{"uid":"a\u002db",
        "object":{"sp\u0065c":{"providerID":"a\nb"}}}}"#;
    let request = parse(body).unwrap();
    assert_eq!((&*request.uid, &request.object.spec.provider_id), ("a-b", &Text::Is("a\nb".into())));
}
