//! Parse, decide and patch, beside the reference that parses a review into `AdmissionReview<DynamicObject>`.
//!
//! `cargo bench` prints the times; what is quoted is the ratio of the two medians at one size.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a benchmark that cannot set itself up has nothing to measure"
)]

use divan::Bencher;
use divan::counter::BytesCount;
use kube::core::DynamicObject;
use kube::core::admission::AdmissionReview;
use mcm_migration_core::decide::{Known, MigrationFacts, NamespaceFacts, NamespaceLabels, decide_machine};
use mcm_migration_core::domain::{GuardLabel, ProjectId, Provider};
use mcm_migration_core::review;
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// How large the object is: an ordinary Machine, and one near the API server's limit for an object in etcd.
#[derive(Clone, Copy, Debug)]
enum Size {
    Kilobytes5,
    Megabytes1_4,
}

const SIZES: [Size; 2] = [Size::Kilobytes5, Size::Megabytes1_4];

fn object(size: Size) -> Value {
    let entries = match size {
        Size::Kilobytes5 => 20,
        Size::Megabytes1_4 => 8_500,
    };
    let entry =
        |i: usize| json!({"key": format!("node.kubernetes.io/label-{i}"), "value": "x".repeat(20), "n": i, "on": true});
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "Machine",
        "metadata": {
            "name": "shoot--p--s-pool-a-z1-5d3e0-abcde",
            "namespace": "shoot--p--s",
            "uid": "0d6a3c5e-1b2f-4c8d-9e7a-6f5d4c3b2a19",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {"a": "b"},
            "finalizers": ["machine.sapcloud.io/machine-controller-manager"],
            "managedFields": [{"manager": "mcm", "operation": "Update", "fieldsV1": {"f:spec": {"f:class": {}, "f:providerID": {}}}}],
        },
        "spec": {
            "class": {"kind": "MachineClass", "name": "pool-a"},
            "nodeTemplate": {"metadata": {"entries": (0..entries).map(entry).collect::<Vec<_>>()}},
            "providerID": "openstack:///RegionOne/5d3e0fd2-1f0e-4b1c-9c52-8c1d6a1b2c3d",
        },
        "status": {"currentStatus": {"phase": "Running", "timeoutActive": false}},
    })
}

/// A review of an update: the object, and the old one of the same size beside it.
fn body(size: Size) -> Vec<u8> {
    let object = object(size);
    serde_json::to_vec(&json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "machine.sapcloud.io", "version": "v1alpha1", "kind": "Machine"},
            "resource": {"group": "machine.sapcloud.io", "version": "v1alpha1", "resource": "machines"},
            "name": "m",
            "namespace": "shoot--p--s",
            "operation": "UPDATE",
            "userInfo": {"username": "system:serviceaccount:shoot--p--s:mcm"},
            "object": object,
            "oldObject": object,
            "dryRun": false,
            "options": {},
        },
    }))
    .unwrap()
}

fn facts() -> NamespaceFacts {
    NamespaceFacts {
        namespace: Some(NamespaceLabels { guard: Some(GuardLabel::Closed), terminating: false }),
        migration: Some(MigrationFacts { armed: true, ..MigrationFacts::default() }),
        classes: [("pool-a".into(), Provider::Stackit)].into(),
        project: ProjectId::parse("2b1f0a3c-7d5e-4f60-8a91-b2c3d4e5f601").ok(),
        ..NamespaceFacts::default()
    }
}

/// The product's way: only what decides is parsed, borrowed, in one pass.
#[divan::bench(args = SIZES)]
fn parse(bencher: Bencher<'_, '_>, size: Size) {
    let body = body(size);
    bencher.counter(BytesCount::of_slice(&body)).bench(|| review::parse(divan::black_box(&body)).is_ok());
}

/// The reference: the whole review as kube reads it.
#[divan::bench(args = SIZES)]
fn parse_with_dynamic_object(bencher: Bencher<'_, '_>, size: Size) {
    let body = body(size);
    bencher
        .counter(BytesCount::of_slice(&body))
        .bench(|| serde_json::from_slice::<AdmissionReview<DynamicObject>>(divan::black_box(&body)).is_ok());
}

/// The decision alone, from a parsed request.
#[divan::bench(args = SIZES)]
fn decide(bencher: Bencher<'_, '_>, size: Size) {
    let (body, facts) = (body(size), facts());
    let request = review::parse(&body).unwrap();
    bencher.bench(|| decide_machine(request.operation, divan::black_box(&request.object), Known::Fresh(&facts)));
}

/// From the body to the bytes of the patch.
#[divan::bench(args = SIZES)]
fn parse_decide_patch(bencher: Bencher<'_, '_>, size: Size) {
    let (body, facts) = (body(size), facts());
    bencher.counter(BytesCount::of_slice(&body)).bench(|| {
        let request = review::parse(divan::black_box(&body)).unwrap();
        let decision = decide_machine(request.operation, &request.object, Known::Fresh(&facts));
        serde_json::to_vec(&decision.patch).unwrap()
    });
}
