//! The Deployments of the manifests against the command line of the binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

const OVERLAYS: [&str; 4] = ["base", "overlays/self-managed", "overlays/cert-manager", "overlays/gardener-seed"];

/// What a Deployment has no use for, and why.
const ABSENT: [(&str, &str); 14] = [
    ("--kubeconfig", "the pod's service account is found"),
    ("--context", "belongs to a kubeconfig"),
    ("--objects", "stands in for a cluster"),
    ("--tls-extra-san", "the Service has one name"),
    ("--allow-unsafe-quarantine", "nothing unsafe is shipped"),
    ("--allow-unsafe-node-ready-for", "nothing unsafe is shipped"),
    ("--ignore-lost-node", "names a Node of one seed"),
    ("--ca-bundle", "the image trusts the public authorities"),
    ("--force-after", "what may be left behind is decided by people"),
    ("--owner-record", "nobody writes such records unless they are asked for"),
    ("--owner-id", "belongs to the owner record"),
    ("--owner-record-server", "belongs to the owner record"),
    ("--help", "answers people"),
    ("--version", "answers people"),
];

#[tokio::test]
async fn every_overlay_starts_the_program_with_flags_that_it_knows() {
    for (overlay, container) in containers().await {
        // Not on the ports of the pod: this is the test's own machine.
        let args: Vec<String> = args(&container)
            .iter()
            .map(|arg| arg.replace("[::]:8443", "127.0.0.1:0").replace("[::]:8080", "127.0.0.1:0"))
            .collect();
        let output = Command::new(env!("CARGO_BIN_EXE_mcm-migration-webhook"))
            .args(&args)
            .arg("--kubeconfig=/nonexistent")
            .env_remove("KUBECONFIG")
            .envs(variables(&container))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // It has no cluster here; but that is what it must complain about.
        assert_eq!(output.status.code(), Some(64), "{overlay}: {said}");
        assert!(!said.contains("`--help` says more"), "{overlay}: {said}");
        assert!(said.contains("/nonexistent") || said.contains("/etc/mcm-migration-webhook/tls"), "{overlay}: {said}");
    }
}

#[tokio::test]
async fn every_flag_of_serve_stands_in_the_manifests() {
    let help = Command::new(env!("CARGO_BIN_EXE_mcm-migration-webhook")).args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let flags: BTreeSet<&str> = help
        .split_whitespace()
        .filter(|word| word.starts_with("--"))
        .map(|word| word.trim_end_matches(|c: char| !c.is_ascii_lowercase()))
        .collect();
    assert!(flags.len() > 10, "{help}");
    let mut given = BTreeSet::new();
    for (_, container) in containers().await {
        given.extend(args(&container).iter().map(|arg| arg.split('=').next().unwrap().to_owned()));
        let as_flag = |name: &String| format!("--{}", name["MCM_MIGRATION_".len()..].to_lowercase().replace('_', "-"));
        given.extend(variables(&container).keys().map(as_flag));
    }
    for flag in flags {
        let absent = ABSENT.iter().any(|(name, _)| *name == flag);
        assert!(given.contains(flag) || absent, "{flag} stands in no Deployment");
    }
}

#[tokio::test]
async fn the_grace_period_covers_the_shutdown() {
    for (overlay, deployment) in deployments().await {
        let spec = &deployment["spec"]["template"]["spec"];
        let seconds = |flag: &str| -> u64 {
            let args = args(&spec["containers"][0]);
            let value = args.iter().find_map(|arg| arg.strip_prefix(&format!("--{flag}="))).unwrap();
            value.strip_suffix('s').unwrap().parse().unwrap()
        };
        let grace = spec["terminationGracePeriodSeconds"].as_u64().unwrap();
        assert!(grace > seconds("shutdown-delay") + seconds("drain-timeout"), "{overlay}");
    }
}

async fn containers() -> Vec<(&'static str, Value)> {
    let deployments = deployments().await;
    deployments.into_iter().map(|(name, d)| (name, d["spec"]["template"]["spec"]["containers"][0].clone())).collect()
}

async fn deployments() -> Vec<(&'static str, Value)> {
    let assets = rig::assets::ensure().await.unwrap();
    OVERLAYS
        .into_iter()
        .map(|overlay| {
            let output = Command::new(&assets.kubectl)
                .args(["kustomize", &format!("{}/manifests/{overlay}", env!("CARGO_MANIFEST_DIR"))])
                .output()
                .unwrap();
            assert!(output.status.success(), "{overlay}: {}", String::from_utf8_lossy(&output.stderr));
            let objects = rig::install::parse(&String::from_utf8(output.stdout).unwrap()).unwrap();
            (overlay, objects.into_iter().find(|object| object["kind"] == "Deployment").unwrap())
        })
        .collect()
}

fn args(container: &Value) -> Vec<String> {
    serde_json::from_value(container["args"].clone()).unwrap()
}

/// The environment as the kubelet would fill it in.
fn variables(container: &Value) -> BTreeMap<String, String> {
    let filled = |variable: &Value| {
        let value = variable["value"].as_str().unwrap_or("mcm-migration-system");
        (variable["name"].as_str().unwrap().to_owned(), value.to_owned())
    };
    container["env"].as_array().unwrap().iter().map(filled).collect()
}
