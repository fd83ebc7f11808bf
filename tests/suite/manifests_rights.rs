//! What the shipped accounts may do on a real API server, and what not.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use crate::manifests::{Cluster, GUARD, STACKIT_ID, class, folder, machine, migration};
use rig::Shared;
use serde_json::{Value, json};

const ACCOUNT: &str = "system:serviceaccount:mcm-migration-system:mcm-migration-webhook";

/// The field selector without which the Secrets of all namespaces cannot be listed.
const NAMED: &str = "--field-selector=metadata.name=cloudprovider";

/// The watch that goes with it.
const WATCH_NAMED: &str = "/api/v1/secrets?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dcloudprovider";

/// One for the tests that only read what is installed, self-managed.
async fn cluster() -> Arc<Cluster> {
    static CLUSTER: Shared<Cluster> = Shared::new();
    let installed = || async {
        let cluster = Cluster::guarded().await;
        cluster.ok(&["apply", "-k", &folder("overlays/self-managed")]).await;
        cluster
    };
    CLUSTER.get(installed).await
}

#[tokio::test]
async fn the_program_may_read_the_secrets_that_name_a_project_and_no_other() {
    let cluster = &*cluster().await;
    cluster.namespace("secrets", None).await;
    for name in ["cloudprovider", "other"] {
        cluster.ok(&["-n", "secrets", "create", "secret", "generic", name, "--from-literal=project-id=p"]).await;
    }
    let program = cluster.0.service_account_kubeconfig("mcm-migration-system", "mcm-migration-webhook").await.unwrap();
    let secrets = |args: &'static [&'static str]| {
        let program = program.clone();
        async move { cluster.0.kubectl_as(&program, args, None).await.unwrap() }
    };
    assert_eq!(secrets(&["get", "secrets", "-A", NAMED, "-o=name"]).await.stdout, "secret/cloudprovider\n");
    assert!(secrets(&["-n", "secrets", "get", "secret", "cloudprovider"]).await.success());
    // By the path, because kubectl lists before it watches. What is let in ends by itself.
    let seen = secrets(&["get", "--raw", WATCH_NAMED]).await;
    assert!(seen.success() && seen.stdout.contains("ADDED") && !seen.stdout.contains("\"other\""), "{seen:?}");
    let refused: [&[&str]; 10] = [
        &["get", "--raw", "/api/v1/secrets?watch=true&timeoutSeconds=1"],
        &["get", "--raw", "/api/v1/secrets?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dother"],
        &["get", "--raw", "/api/v1/namespaces/secrets/secrets?watch=true&timeoutSeconds=1"],
        &["get", "--raw", "/api/v1/watch/namespaces/secrets/secrets/other?timeoutSeconds=1"],
        &["-n", "secrets", "get", "secret", "other"],
        &["get", "secrets", "-A"],
        &["get", "secrets", "-A", "--field-selector=metadata.name=other"],
        &["-n", "secrets", "get", "secrets"],
        &["-n", "secrets", "annotate", "secret", "cloudprovider", "a=b"],
        &["-n", "secrets", "delete", "secret", "cloudprovider"],
    ];
    for args in refused {
        let answer = secrets(args).await;
        assert!(!answer.success() && answer.stderr.contains("(Forbidden)"), "{args:?}: {answer:?}");
    }
}

/// What may be written of what is watched: the verbs beside `get`, `list` and `watch`.
const WATCHED: [(&str, &[&str]); 9] = [
    ("namespaces", &["patch"]),
    ("pods", &[]),
    ("deployments.apps", &[]),
    ("machines.machine.sapcloud.io", &["patch"]),
    ("machineclasses.machine.sapcloud.io", &["create", "patch"]),
    ("machinedeployments.machine.sapcloud.io", &[]),
    ("workers.extensions.gardener.cloud", &["patch"]),
    ("clusters.extensions.gardener.cloud", &[]),
    ("machinemigrations.mcm-migration.stackit.cloud", &["create"]),
];

const WRITING: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

#[tokio::test]
async fn the_program_may_watch_what_it_decides_by_and_write_only_what_the_side_task_does() {
    let cluster = &*cluster().await;
    for (resource, written) in WATCHED {
        for verb in ["get", "list", "watch"] {
            assert!(may(cluster, ACCOUNT, &[verb, resource, "-A"]).await, "{verb} {resource}");
        }
        for verb in WRITING {
            assert_eq!(
                may(cluster, ACCOUNT, &[verb, resource, "-A"]).await,
                written.contains(&verb),
                "{verb} {resource}"
            );
        }
    }
    // A status, where there is one, is written of the MachineMigration alone.
    for (resource, _) in WATCHED {
        let may = may(cluster, ACCOUNT, &["patch", resource, "--subresource=status", "-A"]).await;
        assert_eq!(may, resource.starts_with("machinemigrations"), "{resource}");
    }
}

#[tokio::test]
async fn the_program_may_hold_its_own_lease_look_at_the_shoots_and_make_events() {
    let cluster = &*cluster().await;
    let own = "mcm-migration-system";
    for (lease, namespace, allowed) in [
        ("mcm-migration-webhook", own, &["get", "update"][..]),
        ("other", own, &[]),
        ("machine-controller", "default", &["get"]),
        ("mcm-migration-webhook", "default", &[]),
    ] {
        for verb in ["get", "update", "patch", "delete"] {
            let lease = format!("leases.coordination.k8s.io/{lease}");
            let may = may(cluster, ACCOUNT, &[verb, &lease, "-n", namespace]).await;
            assert_eq!(may, allowed.contains(&verb), "{verb} {lease} in {namespace}");
        }
    }
    assert!(may(cluster, ACCOUNT, &["create", "leases.coordination.k8s.io", "-n", own]).await);
    assert!(!may(cluster, ACCOUNT, &["create", "leases.coordination.k8s.io", "-n", "default"]).await);
    assert!(may(cluster, ACCOUNT, &["list", "nodes"]).await);
    assert!(may(cluster, ACCOUNT, &["create", "events", "-A"]).await);
    for (resource, verbs) in [("nodes", &WRITING[..]), ("events", &["get", "update", "patch", "delete"])] {
        for verb in verbs {
            assert!(!may(cluster, ACCOUNT, &[verb, resource, "-A"]).await, "{verb} {resource}");
        }
    }
}

#[tokio::test]
async fn the_program_may_write_its_certificate_and_its_own_configurations_alone() {
    let cluster = &*cluster().await;
    let own = "mcm-migration-system";
    for verb in ["get", "update"] {
        assert!(may(cluster, ACCOUNT, &[verb, "secret/mcm-migration-webhook-tls", "-n", own]).await, "{verb}");
        assert!(!may(cluster, ACCOUNT, &[verb, "secret/mcm-migration-webhook-tls", "-n", "default"]).await, "{verb}");
        assert!(!may(cluster, ACCOUNT, &[verb, "secret/other", "-n", own]).await, "{verb}");
    }
    assert!(may(cluster, ACCOUNT, &["create", "secrets", "-n", own]).await);
    assert!(!may(cluster, ACCOUNT, &["create", "secrets", "-n", "default"]).await);
    for kind in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let configuration = format!("{kind}.admissionregistration.k8s.io");
        for verb in ["get", "patch"] {
            assert!(may(cluster, ACCOUNT, &[verb, &format!("{configuration}/mcm-migration-webhook")]).await, "{verb}");
            assert!(!may(cluster, ACCOUNT, &[verb, &format!("{configuration}/other")]).await, "{verb}");
        }
        assert!(!may(cluster, ACCOUNT, &["list", &configuration]).await, "{kind}");
    }
}

#[tokio::test]
async fn without_self_managed_certificates_the_program_may_write_no_secret_and_no_configuration() {
    let cluster = &*cluster().await;
    for name in ["base", "overlays/cert-manager"] {
        let rendered = cluster.ok(&["kustomize", &folder(name)]).await;
        let mut rules = 0;
        for object in
            rig::install::parse(&rendered).unwrap().iter().filter(|o| o["kind"] == "ClusterRole" || o["kind"] == "Role")
        {
            for rule in object["rules"].as_array().unwrap() {
                rules += 1;
                let of = |what: &str| rule["resources"].as_array().unwrap().iter().any(|r| r.as_str().unwrap() == what);
                assert!(
                    !rule["apiGroups"].as_array().unwrap().contains(&json!("admissionregistration.k8s.io")),
                    "{rule}"
                );
                assert!(!of("*") && !rule["verbs"].as_array().unwrap().contains(&json!("*")), "{name}: {rule}");
                if of("secrets") {
                    let verbs = rule["verbs"].as_array().unwrap();
                    assert!(
                        verbs.iter().all(|verb| ["get", "list", "watch"].contains(&verb.as_str().unwrap())),
                        "{name}: {rule}"
                    );
                    assert_eq!(rule["resourceNames"], json!(["cloudprovider"]), "{name}: {rule}");
                }
            }
        }
        assert!(rules > 0, "{name}: no rights at all");
    }
}

#[tokio::test]
async fn an_operator_can_close_and_prove_the_guard_and_arm_and_read_no_secret() {
    let cluster = &*cluster().await;
    // Shipped to be bound by the administrator.
    let bindings = cluster.json(&["get", "clusterrolebindings"]).await;
    let bound = |b: &Value| b["roleRef"]["name"] == "mcm-migration-operator";
    assert!(!bindings["items"].as_array().unwrap().iter().any(bound), "the operator's role is bound to somebody");
    let bind = ["create", "clusterrolebinding", "operators", "--clusterrole=mcm-migration-operator", "--user=olga"];
    cluster.ok(&bind).await;

    cluster.namespace("armed", None).await;
    cluster.create(&class("armed", "pool", "stackit")).await.passed();
    cluster.create(&machine("armed", "m", Some(STACKIT_ID))).await.passed();
    let olga = cluster.0.user_kubeconfig("olga", &[]).unwrap();
    let kubectl = |args: Vec<String>, stdin: Option<String>| {
        let olga = olga.clone();
        async move {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            cluster.0.kubectl_as(&olga, &args, stdin.as_deref()).await.unwrap()
        }
    };
    let words = |line: &str| line.split_whitespace().map(String::from).collect::<Vec<_>>();

    let made = kubectl(words("create -f -"), Some(migration("armed", "openstack-to-stackit").to_string())).await;
    assert!(made.success(), "{}", made.stderr);
    let label = kubectl(words(&format!("label namespace armed {GUARD}=closed")), None).await;
    assert!(label.success(), "{}", label.stderr);
    let status = "-n armed patch mmig openstack-to-stackit --subresource=status --type=merge -p";
    let armed = kubectl([words(status), vec![r#"{"status":{"phase":"Armed"}}"#.into()]].concat(), None).await;
    assert!(armed.success(), "{}", armed.stderr);

    // Refused by the guard, not for want of a right.
    let dry =
        |line: &str, patch: &str| [words(line), words("--dry-run=server --type=merge -p"), vec![patch.into()]].concat();
    let create = words("create --dry-run=server -f -");
    let probes = [
        kubectl(create, Some(class("armed", "back", "OpenStack").to_string())).await,
        kubectl(dry("-n armed patch machineclass pool", r#"{"provider":"OpenStack"}"#), None).await,
        kubectl(dry("-n armed patch machine m", r#"{"spec":{"providerID":"openstack:///r/1"}}"#), None).await,
        kubectl(words(&format!("label namespace armed {GUARD}- --dry-run=server")), None).await,
    ];
    for probe in probes {
        assert!(!probe.success() && probe.stderr.contains(crate::manifests::PREFIX), "{probe:?}");
    }

    for resource in
        ["nodes", "pods", "deployments.apps", "workers.extensions.gardener.cloud", "clusters.extensions.gardener.cloud"]
    {
        assert!(may(cluster, "olga", &["list", resource, "-A"]).await, "list {resource}");
        assert!(!may(cluster, "olga", &["patch", resource, "-A"]).await, "patch {resource}");
    }
    for verb in ["get", "list"] {
        assert!(!may(cluster, "olga", &[verb, "secret/cloudprovider", "-n", "armed"]).await, "{verb} secrets");
    }
    for resource in ["machines.machine.sapcloud.io", "machineclasses.machine.sapcloud.io", "namespaces"] {
        assert!(!may(cluster, "olga", &["delete", resource, "-A"]).await, "delete {resource}");
    }
    for resource in ["machines.machine.sapcloud.io", "namespaces"] {
        assert!(!may(cluster, "olga", &["create", resource, "-A"]).await, "create {resource}");
    }
}

/// `kubectl auth can-i` for a user.
async fn may(cluster: &Cluster, user: &str, what: &[&str]) -> bool {
    let answer = cluster.kubectl(&[&["auth", "can-i", "--as", user], what].concat(), None).await;
    match answer.stdout.trim() {
        "yes" => true,
        "no" => false,
        other => panic!("{what:?}: {other} {}", answer.stderr),
    }
}
