//! The API server of the rig is a real one: it has a version, refuses what RBAC does not allow, and keeps its objects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{Api, ListParams};
use rig::{ApiServer, ApiServerOptions, api_server, assets, audit};

async fn start() -> ApiServer {
    ApiServer::start(ApiServerOptions::default()).await.unwrap()
}

#[tokio::test]
async fn it_starts_and_kubectl_agrees_on_its_version() {
    let server = start().await;

    let output = server.kubectl(&["version", "--output=json"], None).await.unwrap();

    let versions: serde_json::Value = serde_json::from_str(&output.ok().unwrap()).unwrap();
    let version = |side: &str| versions[side]["gitVersion"].as_str().unwrap().to_owned();
    assert_eq!(version("clientVersion"), version("serverVersion"));
    // A folder of the developer's own may hold any version.
    if std::env::var_os(assets::ASSETS_VARIABLE).is_none() {
        let wanted = std::env::var(assets::VERSION_VARIABLE).unwrap_or_else(|_| assets::DEFAULT_VERSION.to_owned());
        let prefix = format!("v{}.", wanted.trim_start_matches('v'));
        assert!(version("serverVersion").starts_with(&prefix), "{versions}");
    }
}

#[tokio::test]
async fn rbac_denies_what_no_role_allows_and_allows_what_one_does() {
    let server = start().await;
    server.kubectl(&["create", "serviceaccount", "reader", "-n", "default"], None).await.unwrap().ok().unwrap();
    let kubeconfig = server.service_account_kubeconfig("default", "reader").await.unwrap();
    let client = api_server::client(&kubeconfig).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");

    let refused = maps.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 403), "{refused}");

    for args in [
        ["create", "role", "reader", "--verb=list", "--resource=configmaps"],
        ["create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader"],
    ] {
        server.kubectl(&[&args[..], &["-n", "default"]].concat(), None).await.unwrap().ok().unwrap();
    }
    rig::until("the role works", Duration::from_secs(60), || async {
        Ok(Some(maps.list(&ListParams::default()).await?))
    })
    .await
    .unwrap();
    let secrets: Api<Secret> = Api::namespaced(client, "default");
    secrets.list(&ListParams::default()).await.unwrap_err();
}

#[tokio::test]
async fn a_user_has_the_name_and_the_group_of_the_certificate() {
    let server = start().await;
    let kubeconfig = server.user_kubeconfig("alice", &["system:masters"]).unwrap();

    let output = server.kubectl_as(&kubeconfig, &["auth", "whoami", "--output=json"], None).await.unwrap();

    let answer: serde_json::Value = serde_json::from_str(&output.ok().unwrap()).unwrap();
    let user = &answer["status"]["userInfo"];
    assert_eq!(user["username"], "alice");
    assert!(user["groups"].as_array().unwrap().contains(&"system:masters".into()), "{user}");
}

#[tokio::test]
async fn a_restart_keeps_objects_tokens_and_the_address() {
    let server = start().await;
    server.kubectl(&["create", "configmap", "kept", "-n", "default"], None).await.unwrap().ok().unwrap();
    server.kubectl(&["create", "serviceaccount", "kept", "-n", "default"], None).await.unwrap().ok().unwrap();
    let kubeconfig = server.service_account_kubeconfig("default", "kept").await.unwrap();
    let url = server.url();

    server.stop_api_server().await.unwrap();
    let gone = server.kubectl(&["get", "configmaps", "--request-timeout=2s"], None).await.unwrap();
    assert!(!gone.success());
    server.restart().await.unwrap();

    assert_eq!(server.url(), url);
    server.kubectl(&["get", "configmap", "kept", "-n", "default"], None).await.unwrap().ok().unwrap();
    server.kubectl_as(&kubeconfig, &["auth", "whoami"], None).await.unwrap().ok().unwrap();
}

#[tokio::test]
async fn a_second_api_server_over_one_etcd_sees_the_same_objects() {
    let first = start().await;
    let second = first.second_on_same_etcd().await.unwrap();
    assert_ne!(first.url(), second.url());

    first.kubectl(&["create", "configmap", "shared", "-n", "default"], None).await.unwrap().ok().unwrap();

    let found = second.kubectl(&["get", "configmap", "shared", "-n", "default", "-o", "name"], None).await.unwrap();
    assert_eq!(found.ok().unwrap().trim(), "configmap/shared");
    drop(first);
    // The first one does not own the store alone.
    second.kubectl(&["delete", "configmap", "shared", "-n", "default"], None).await.unwrap().ok().unwrap();
}

#[tokio::test]
async fn the_audit_log_and_the_metrics_show_a_write_and_no_secret() {
    let server = start().await;
    server.kubectl(&["create", "namespace", "audited"], None).await.unwrap().ok().unwrap();
    let literal = "--from-literal=key=opensesame";
    server
        .kubectl(&["create", "secret", "generic", "hidden", "-n", "audited", literal], None)
        .await
        .unwrap()
        .ok()
        .unwrap();

    let events = server.audit_events().unwrap();

    let write = |resource: &str, name: &str| {
        let found = events.iter().find(|event| {
            let object = &event["objectRef"];
            event["verb"] == "create" && object["resource"] == resource && object["name"] == name
        });
        found.unwrap_or_else(|| panic!("no event for {resource} {name} among {}", events.len()))
    };
    assert_eq!(write("namespaces", "audited")["requestObject"]["metadata"]["name"], "audited");
    assert_eq!(write("secrets", "hidden")["requestObject"], serde_json::Value::Null);
    assert!(!serde_json::to_string(&events).unwrap().contains("opensesame"));
    assert!(audit::failed_open(&events).is_empty());
    let labels = [("verb", "POST"), ("resource", "namespaces")];
    assert!(server.metric("apiserver_request_total", &labels).await.unwrap() >= 1.0);
}
