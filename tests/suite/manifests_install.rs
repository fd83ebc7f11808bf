//! Applying and deleting the manifests on a real API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::manifests::{Cluster, OPENSTACK_ID, STACKIT_ID, class, folder, machine};
use serde_json::{Value, json};

/// The webhook configurations, and the first words of their webhooks' names.
const KINDS: [(&str, &[&str]); 2] =
    [("validatingwebhookconfiguration", &["machineclass"]), ("mutatingwebhookconfiguration", &["machine", "worker"])];

#[tokio::test]
async fn every_overlay_can_be_applied_twice_without_a_change_or_a_warning() {
    let cluster = Cluster::bare().await;
    cluster.kubectl(&["apply", "-f", "-"], Some(crate::manifests::CERT_MANAGER_CRDS)).await.passed();
    cluster.ok(&["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]).await;
    for name in &crate::manifests::kustomizations() {
        let rendered = cluster.ok(&["kustomize", &folder(name)]).await;
        let strict = ["apply", "--validate=strict", "-f", "-"];
        let first = cluster.kubectl(&strict, Some(&rendered)).await.passed();
        assert!(!first.stderr.contains("Warning"), "{name}: {}", first.stderr);
        let versions = [
            "get",
            "-f",
            "-",
            "-o",
            "jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{'\\n'}{end}",
        ];
        let before = cluster.kubectl(&versions, Some(&rendered)).await.passed().stdout;
        cluster.kubectl(&strict, Some(&rendered)).await.passed();
        let after = cluster.kubectl(&versions, Some(&rendered)).await.passed().stdout;
        assert_eq!(after, before, "{name}: applying it again changed something");
        // By the server as well, for those who install that way.
        cluster.ok(&["apply", "--server-side", "--force-conflicts", "-k", &folder(name)]).await;
    }
}

#[tokio::test]
async fn applying_again_leaves_the_ca_bundle_alone() {
    let cluster = Cluster::bare().await;
    let overlay = folder("overlays/self-managed");
    let ways: [&[&str]; 2] = [&["apply", "-k", &overlay], &["apply", "--server-side", "-k", &overlay]];
    for way in ways {
        cluster.ok(way).await;
        let ca = base64(cluster.0.ca_pem());
        for (kind, webhooks) in KINDS {
            let bundled = |name: &&str| json!({"name": format!("{name}.mcm-migration.stackit.cloud"), "clientConfig": {"caBundle": ca}});
            let bundle = json!({"webhooks": webhooks.iter().map(bundled).collect::<Vec<_>>()}).to_string();
            cluster.ok(&["patch", kind, "mcm-migration-webhook", "-p", &bundle]).await;
        }
        cluster.ok(way).await;
        cluster.ok(way).await;
        for (kind, names) in KINDS {
            let webhooks = webhooks(&cluster, kind).await;
            assert_eq!(webhooks.len(), names.len());
            for webhook in webhooks {
                assert_eq!(webhook["clientConfig"]["caBundle"], ca, "after {way:?}: {}", webhook["name"]);
            }
            cluster.ok(&["delete", kind, "mcm-migration-webhook"]).await;
        }
    }
}

#[tokio::test]
async fn the_webhooks_fail_open_quickly_and_only_for_what_they_are_for() {
    let cluster = Cluster::bare().await;
    cluster.ok(&["apply", "-k", &folder("base")]).await;
    let webhooks = webhooks(&cluster, "mutatingwebhookconfiguration").await;
    assert_eq!(webhooks.len(), 2);
    for (webhook, name, resource, operations) in [
        (&webhooks[0], "machine", "machines", json!(["CREATE", "UPDATE"])),
        (&webhooks[1], "worker", "workers", json!(["UPDATE"])),
    ] {
        assert_eq!(webhook["name"], format!("{name}.mcm-migration.stackit.cloud"));
        assert_eq!(webhook["failurePolicy"], "Ignore");
        assert_eq!(webhook["timeoutSeconds"], 2);
        assert_eq!(webhook["reinvocationPolicy"], "IfNeeded");
        assert_eq!(webhook["sideEffects"], "None");
        assert_eq!(webhook["matchPolicy"], "Equivalent");
        assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
        assert_eq!(webhook["clientConfig"]["service"]["path"], format!("/mutate/{name}"));
        assert_eq!(webhook["rules"].as_array().unwrap().len(), 1);
        assert_eq!(webhook["rules"][0]["resources"], json!([resource]));
        assert_eq!(webhook["rules"][0]["operations"], operations);
        assert_eq!(webhook["rules"][0]["scope"], "Namespaced");
    }
}

#[tokio::test]
async fn the_gate_forward_fails_closed_quickly_and_only_for_updates_of_classes() {
    let cluster = Cluster::bare().await;
    cluster.ok(&["apply", "-k", &folder("base")]).await;
    let webhooks = webhooks(&cluster, "validatingwebhookconfiguration").await;
    let [webhook] = &webhooks[..] else { panic!("{webhooks:?}") };
    assert_eq!(webhook["name"], "machineclass.mcm-migration.stackit.cloud");
    assert_eq!(webhook["failurePolicy"], "Fail");
    assert_eq!(webhook["timeoutSeconds"], 2);
    assert_eq!(webhook["sideEffects"], "None");
    assert_eq!(webhook["matchPolicy"], "Equivalent");
    assert_eq!(webhook["admissionReviewVersions"], json!(["v1"]));
    assert_eq!(webhook["clientConfig"]["service"]["path"], "/validate/machineclass");
    let rule = json!({
        "apiGroups": ["machine.sapcloud.io"], "apiVersions": ["v1alpha1"],
        "resources": ["machineclasses"], "operations": ["UPDATE"], "scope": "Namespaced",
    });
    assert_eq!(webhook["rules"], json!([rule]));

    // Nobody answers here: only the turn of a class is refused.
    cluster.namespace("classes", None).await;
    for (name, provider) in
        [("pool", "OpenStack"), ("spelled", "openstack"), ("switched", "stackit"), ("foreign", "aws")]
    {
        cluster.create(&class("classes", name, provider)).await.passed();
    }
    let turn = json!({"provider": "stackit"});
    rig::until("a turn is refused", std::time::Duration::from_secs(120), || async {
        let answer = cluster
            .kubectl(
                &[
                    "-n",
                    "classes",
                    "patch",
                    "machineclass",
                    "pool",
                    "--type=merge",
                    "-p",
                    &turn.to_string(),
                    "--dry-run=server",
                ],
                None,
            )
            .await;
        Ok((!answer.success && answer.stderr.contains("machineclass.mcm-migration.stackit.cloud")).then_some(()))
    })
    .await
    .unwrap();
    for name in ["pool", "spelled"] {
        assert!(!cluster.patch("classes", &format!("machineclass/{name}"), &turn).await.success, "{name}");
    }
    let others = [
        ("pool", json!({"providerSpec": {"region": "eu02"}})),
        ("pool", json!({"metadata": {"finalizers": ["machine.sapcloud.io/machine-controller"]}})),
        ("pool", json!({"provider": "aws"})),
        ("spelled", json!({"provider": null})),
        ("spelled", json!({"provider": "stackit"})),
        ("switched", json!({"provider": "OpenStack"})),
        ("foreign", json!({"provider": "stackit"})),
    ];
    for (name, patch) in others {
        cluster.patch("classes", &format!("machineclass/{name}"), &patch).await.passed();
    }
    cluster.ok(&["-n", "classes", "delete", "machineclass", "switched", "foreign"]).await;
}

#[tokio::test]
async fn a_migrated_object_costs_no_call() {
    // Nobody answers, so that each call counts as one that failed open.
    let cluster = Cluster::bare().await;
    cluster.ok(&["apply", "-k", &folder("overlays/self-managed")]).await;
    cluster.namespace("calls", None).await;
    let fail_open = |webhook: &'static str| {
        let cluster = &cluster;
        async move {
            let name = format!("{webhook}.mcm-migration.stackit.cloud");
            cluster.0.metric("apiserver_admission_webhook_fail_open_count", &[("name", &name)]).await.unwrap()
        }
    };
    // From here on the configuration is in force.
    let called = || async {
        cluster.dry_create(&machine("calls", "first", Some(OPENSTACK_ID))).await.passed();
        Ok((fail_open("machine").await > 0.0).then_some(()))
    };
    rig::until("the webhook is called", std::time::Duration::from_secs(120), called).await.unwrap();

    let before = fail_open("machine").await;
    cluster.create(&machine("calls", "migrated", Some(STACKIT_ID))).await.passed();
    cluster.create(&machine("calls", "new", None)).await.passed();
    let mut bare = machine("calls", "bare", None);
    bare.as_object_mut().unwrap().remove("spec");
    cluster.create(&bare).await.passed();
    for name in ["migrated", "new", "bare"] {
        cluster
            .patch("calls", &format!("machine/{name}"), &json!({"metadata": {"annotations": {"a": "b"}}}))
            .await
            .passed();
    }
    assert_same(fail_open("machine").await, before, "a Machine with nothing to migrate cost a call");
    cluster.create(&machine("calls", "legacy", Some(OPENSTACK_ID))).await.passed();
    cluster.patch("calls", "machine/legacy", &json!({"metadata": {"annotations": {"a": "b"}}})).await.passed();
    assert_same(fail_open("machine").await, before + 2.0, "a legacy Machine is called for on each write");

    let mark = |value: Value| json!({"metadata": {"annotations": {"stackit.cloud/machine-controller-manager-migrated": value}}});
    let worker = json!({
        "apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker",
        "metadata": {"namespace": "calls", "name": "worker"},
        "spec": {"type": "stackit"},
    });
    cluster.create(&worker).await.passed();
    assert_same(fail_open("worker").await, 0.0, "a Worker that is made is not called for");
    for (number, value) in [json!("1"), json!("t"), json!("True"), json!("true")].into_iter().enumerate() {
        cluster.patch("calls", "worker/worker", &mark(json!(null))).await;
        let before = fail_open("worker").await;
        cluster.patch("calls", "worker/worker", &mark(value.clone())).await.passed();
        let again = json!({"metadata": {"labels": {"n": number.to_string()}}});
        cluster.patch("calls", "worker/worker", &again).await.passed();
        assert_same(fail_open("worker").await, before, &format!("a Worker marked {value} cost a call"));
    }
    let before = fail_open("worker").await;
    cluster.patch("calls", "worker/worker", &mark(json!("false"))).await.passed();
    cluster.patch("calls", "worker/worker", &mark(json!(null))).await.passed();
    assert_same(fail_open("worker").await, before + 2.0, "a Worker that is not marked is called for");

    let errors = cluster.0.metric("apiserver_admission_match_condition_evaluation_errors_total", &[]).await.unwrap();
    assert_same(errors, 0.0, "a condition could not be evaluated");
}

#[tokio::test]
async fn uninstalling_takes_the_webhook_configurations_away_first_and_blocks_no_namespace() {
    let cluster = Cluster::guarded().await;
    let overlay = folder("overlays/gardener-seed");
    cluster.ok(&["apply", "-k", &overlay]).await;
    cluster.namespace("shoot", Some("closed")).await;
    for (name, id) in [("legacy", OPENSTACK_ID), ("migrated", STACKIT_ID)] {
        let mut held = machine("shoot", name, Some(id));
        held["metadata"]["finalizers"] = json!(["machine.sapcloud.io/machine-controller"]);
        cluster.create(&held).await.passed();
    }
    let deleted = cluster.ok(&["delete", "-k", &overlay, "--wait=false"]).await;
    for (line, (kind, _)) in deleted.lines().zip(KINDS) {
        assert!(line.contains(kind), "{line} goes before the {kind}");
    }

    // The shoot goes: Machines lose their finalizers, then the namespace can be finalized.
    cluster.ok(&["delete", "namespace", "shoot", "--wait=false"]).await;
    cluster.ok(&["-n", "shoot", "delete", "machines", "--all", "--wait=false"]).await;
    for name in ["legacy", "migrated"] {
        cluster.patch("shoot", &format!("machine/{name}"), &json!({"metadata": {"finalizers": null}})).await.passed();
    }
    assert_eq!(cluster.ok(&["-n", "shoot", "get", "machines", "-o=name"]).await, "");
    cluster.finalize("shoot").await;
    cluster.finalize("mcm-migration-system").await;
    for policy in ["no-way-back", "keep-ids", "keep-guard", "no-mixed"] {
        cluster.probe(policy).await.refused_by(policy);
    }
}

/// Counters are whole numbers, whatever their type.
#[track_caller]
fn assert_same(now: f64, expected: f64, what: &str) {
    assert!((now - expected).abs() < 0.5, "{what}: {now}, not {expected}");
}

async fn webhooks(cluster: &Cluster, kind: &str) -> Vec<Value> {
    let configuration = cluster.json(&["get", kind, "mcm-migration-webhook"]).await;
    configuration["webhooks"].as_array().unwrap().clone()
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}
