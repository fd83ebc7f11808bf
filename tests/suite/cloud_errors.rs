//! What each refusal means, and that nothing is "gone" unless the API itself says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use crate::cloud_support::stub::{Stub, response};
use crate::cloud_support::{OTHER_SERVER, PROJECT, Rig, SERVER, region, server};
use mcm_migration_core::domain::{NetworkId, NicId, ServerId, VolumeId};
use simulator::{Fault, FaultPlan, Operation};

fn labels() -> BTreeMap<String, String> {
    BTreeMap::from([("kubernetes.io/machine".to_owned(), "worker-a".to_owned())])
}

#[tokio::test]
async fn each_refusal_has_its_class_and_is_not_repeated() {
    for (fault, class) in [
        (Fault::NotFoundJson, "gone"),
        (Fault::NotFoundHtml, "not-found"),
        (Fault::Forbidden, "forbidden"),
        (Fault::Conflict, "conflict"),
        (Fault::Redirect, "unexpected"),
        (Fault::NotJson, "unreadable"),
    ] {
        let rig = Rig::start();
        for operation in [Operation::GetServer, Operation::PatchServer] {
            rig.simulator.cloud().inject(FaultPlan::always(operation, fault));
        }
        let read = rig.client.get_server(&region(), server()).await.unwrap_err();
        let written = rig.client.patch_server_labels(&region(), server(), &labels()).await.unwrap_err();
        for (error, operation) in [(read, Operation::GetServer), (written, Operation::PatchServer)] {
            assert_eq!(error.reason_class(), class, "{error}");
            let calls = rig.calls(operation);
            assert_eq!(calls.len(), 1, "{fault:?}");
            let failure = error.failure();
            assert_eq!(
                (failure.status, failure.request_id.as_deref()),
                (calls[0].status, calls[0].request_id.as_deref())
            );
            assert_eq!((failure.server, failure.project.as_str()), (Some(server()), PROJECT));
        }
        assert_eq!(rig.calls(Operation::Unknown).len(), 0, "a redirection was followed");
    }
}

#[tokio::test]
async fn a_server_that_does_not_exist_is_gone_and_a_list_that_is_refused_proves_nothing() {
    let rig = Rig::start();
    let nobody = ServerId::parse("6f3c1f0a-0000-4000-8000-0000000000ff").unwrap();
    for error in [
        rig.client.get_server(&region(), nobody).await.unwrap_err(),
        rig.client.patch_server_labels(&region(), nobody, &labels()).await.unwrap_err(),
        rig.client.list_server_nics(&region(), nobody).await.unwrap_err(),
        rig.client.list_attachments(&region(), nobody).await.unwrap_err(),
        rig.client.boot_volume(&region(), nobody).await.unwrap_err(),
    ] {
        assert_eq!((error.reason_class(), error.failure().status), ("gone", Some(404)), "{error}");
    }
    rig.simulator.cloud().inject(FaultPlan::always(Operation::ListServers, Fault::NotFoundJson));
    assert_eq!(rig.client.list_servers(&region()).await.unwrap_err().reason_class(), "not-found");
    let (network, nic) = (
        NetworkId::parse("6f3c1f0a-0000-4000-8000-0000000000f1").unwrap(),
        NicId::parse("6f3c1f0a-0000-4000-8000-0000000000f2").unwrap(),
    );
    let error = rig.client.patch_nic_allowed_addresses(&region(), network, nic, &[]).await.unwrap_err();
    assert_eq!(error.reason_class(), "not-found", "{error}");
    let volume = VolumeId::parse("6f3c1f0a-0000-4000-8000-0000000000f3").unwrap();
    let error = rig.client.patch_attachment(&region(), server(), volume, true).await.unwrap_err();
    assert_eq!(error.reason_class(), "not-found", "{error}");
}

#[tokio::test]
async fn a_part_of_a_list_is_no_list() {
    let rig = Rig::start();
    rig.simulator.cloud().inject(FaultPlan::once(Operation::ListServers, Fault::ListCutShort));
    let error = rig.client.list_servers(&region()).await.unwrap_err();
    assert_eq!(error.reason_class(), "incomplete", "{error}");
    assert_eq!(rig.client.list_servers(&region()).await.unwrap().len(), 2);

    let stub = Stub::start().await;
    stub.then(|_| response(200, &[("link", "</servers?page=2>; rel=\"next\"")], r#"{"items":[]}"#.into()));
    assert_eq!(stub.client.list_servers(&region()).await.unwrap_err().reason_class(), "incomplete");
}

#[tokio::test]
async fn an_answer_that_cannot_be_right_is_not_believed() {
    let item = |id: &str| format!(r#"{{"id":"{id}","name":"n","machineType":"t"}}"#);
    let stub = Stub::start().await;
    for (body, says) in [
        (format!(r#"{{"items":[{},{}]}}"#, item(SERVER), item("NOT-A-UUID")), "NOT-A-UUID"),
        (format!(r#"{{"items":[{},{}]}}"#, item(SERVER), item(SERVER)), "twice"),
        (r#"{"items":null}"#.to_owned(), "no list"),
        ("{}".to_owned(), "no list"),
        ("<html>proxy</html>".to_owned(), "no list"),
    ] {
        stub.then_json(200, body.clone());
        let error = stub.client.list_servers(&region()).await.unwrap_err();
        assert!(error.reason_class() == "unreadable" && error.to_string().contains(says), "{body}: {error}");
    }
    stub.then_json(200, item(OTHER_SERVER));
    let error = stub.client.get_server(&region(), server()).await.unwrap_err();
    assert!(error.reason_class() == "unreadable" && error.to_string().contains(OTHER_SERVER), "{error}");
    stub.then_json(200, item(OTHER_SERVER));
    let error = stub.client.patch_server_labels(&region(), server(), &labels()).await.unwrap_err();
    assert_eq!(error.reason_class(), "unreadable", "{error}");
    stub.then_json(204, "");
    assert_eq!(stub.client.get_server(&region(), server()).await.unwrap_err().reason_class(), "unreadable");
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let stub = Stub::start().await;
    stub.then_json(200, " ".repeat(2 * 1024 * 1024));
    let error = stub.client.get_server(&region(), server()).await.unwrap_err();
    assert!(error.to_string().contains("larger than any real one"), "{error}");
    stub.then_json(403, "x ".repeat(2 * 1024 * 1024));
    let error = stub.client.get_server(&region(), server()).await.unwrap_err();
    assert!(error.reason_class() == "forbidden" && error.failure().message.len() <= 500, "{error}");
}

#[tokio::test]
async fn the_ids_that_support_asks_for_stand_in_the_error() {
    let stub = Stub::start().await;
    stub.then(|_| {
        let ids = [
            ("x-request-id", "req-0123456789abcdef0123456789abcdef"),
            ("x-trace-id", "0af7651916cd43dd8448eb211c80319c"),
        ];
        response(403, &ids, r#"{"code":403,"msg":"no role"}"#.into())
    });
    let error = stub.client.get_server(&region(), server()).await.unwrap_err().to_string();
    for part in [
        "no role",
        "HTTP 403",
        "request req-0123456789abcdef0123456789abcdef",
        "trace 0af7651916cd43dd8448eb211c80319c",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_refused_label_is_told_from_a_bad_request_and_an_empty_change_is_not_sent() {
    let stub = Stub::start().await;
    stub.then_json(400, r#"{"code":400,"msg":"does not match regex ^[a-z]$: key kubernetes.io/machine"}"#);
    let error = stub.client.patch_server_labels(&region(), server(), &labels()).await.unwrap_err();
    assert_eq!(error.reason_class(), "label-refused", "{error}");
    let sent = stub.asked().len();
    let long = BTreeMap::from([("kubernetes.io/machine".to_owned(), "a".repeat(64))]);
    for labels in [BTreeMap::new(), long] {
        let error = stub.client.patch_server_labels(&region(), server(), &labels).await.unwrap_err();
        assert_eq!((error.reason_class(), error.failure().attempts), ("bad-request", 0), "{error}");
    }
    let error = stub.client.list_servers_with_label(&region(), "a,b", "c").await.unwrap_err();
    assert_eq!(error.reason_class(), "bad-request");
    assert_eq!(stub.asked().len(), sent);
}
