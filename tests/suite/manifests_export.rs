//! The cron job that exports: it can be applied, runs with what its manifest says, and may read what it needs and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::manifests::{Cluster, STACKIT_ID, class, folder, machine, migration};
use serde_json::{Value, json};

const NAMESPACE: &str = "mcm-migration-export";
const ACCOUNT: &str = "system:serviceaccount:mcm-migration-export:mcm-migration-export";

async fn may(cluster: &Cluster, what: &[&str]) -> bool {
    let answer = cluster.kubectl(&[&["auth", "can-i", "--as", ACCOUNT], what].concat(), None).await;
    answer.stdout.trim() == "yes"
}

#[tokio::test]
async fn the_cron_job_exports_with_read_rights_alone() {
    let cluster = Cluster::guarded().await;
    cluster.ok(&["apply", "-k", &folder("overlays/export")]).await;
    let read = [
        "namespaces",
        "machines.machine.sapcloud.io",
        "machineclasses.machine.sapcloud.io",
        "workers.extensions.gardener.cloud",
        "machinemigrations.mcm-migration.stackit.cloud",
    ];
    for resource in read {
        assert!(may(&cluster, &["list", resource, "-A"]).await, "list {resource}");
        for verb in ["create", "update", "patch", "delete", "deletecollection"] {
            assert!(!may(&cluster, &[verb, resource, "-A"]).await, "{verb} {resource}");
        }
    }
    for resource in
        ["secrets", "configmaps", "pods", "clusters.extensions.gardener.cloud", "leases.coordination.k8s.io"]
    {
        for verb in ["get", "list", "watch", "patch"] {
            assert!(!may(&cluster, &[verb, resource, "-A"]).await, "{verb} {resource}");
        }
    }

    cluster.namespace("shoot--p--s", Some("closed")).await;
    for object in [
        class("shoot--p--s", "pool", "stackit"),
        machine("shoot--p--s", "m", Some(STACKIT_ID)),
        migration("shoot--p--s", "openstack-to-stackit"),
        json!({"apiVersion": "extensions.gardener.cloud/v1alpha1", "kind": "Worker",
            "metadata": {"name": "s", "namespace": "shoot--p--s"}, "spec": {"type": "stackit"}}),
    ] {
        cluster.create(&object).await.passed();
    }
    let lines = export(&cluster).await;
    let kinds: Vec<&str> = lines.iter().map(|line| line["record"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Header", "Namespace", "MachineMigration", "Worker", "MachineClass", "Machine", "Trailer"]);
    assert_eq!(lines[5]["record"]["providerID"], STACKIT_ID);
    assert_eq!(lines[1]["record"]["guard"], "closed");

    // With servers it reads one Secret more, by its name.
    cluster.ok(&["apply", "-k", &folder("overlays/export-with-servers")]).await;
    let in_shoot = ["-n", "shoot--p--s"];
    assert!(may(&cluster, &[&["get", "secrets/cloudprovider"][..], &in_shoot].concat()).await);
    for what in
        [["get", "secrets/other"], ["list", "secrets"], ["watch", "secrets"], ["patch", "secrets/cloudprovider"]]
    {
        assert!(!may(&cluster, &[&what[..], &in_shoot].concat()).await, "{what:?}");
    }
    let unknown = |lines: &[Value]| {
        let records = lines.iter().map(|line| &line["record"]);
        records.filter(|it| it["kind"] == "ServersUnknown").map(|it| it["reason"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(unknown(&export(&cluster).await), ["\"credentials-invalid\""], "it could read that there is none");
    cluster.ok(&["delete", "clusterrolebinding", "mcm-migration-export-servers"]).await;
    assert_eq!(unknown(&export(&cluster).await), ["\"read-failed\""], "without the right it says so");
}

/// The records that the Job's pod would write with its rights, into a folder of this machine.
async fn export(cluster: &Cluster) -> Vec<Value> {
    let job = cluster.json(&["-n", NAMESPACE, "get", "cronjob", "mcm-migration-export"]).await;
    let pod = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"];
    let (container, folder) = (&pod["containers"][0], tempfile::tempdir().unwrap());
    assert_eq!(container["volumeMounts"][0]["mountPath"], "/exports");
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "mcm-migration-export");
    let args: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
    let args = args.iter().map(|arg| arg.replace("/exports", folder.path().to_str().unwrap()));
    let account = cluster.0.service_account_kubeconfig(NAMESPACE, "mcm-migration-export").await.unwrap();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_mcm-migration-webhook"));
    command.args(args).env("MCM_MIGRATION_KUBECONFIG", account);
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
