//! What the calls send, and what they make of the answers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use crate::cloud_support::stub::Stub;
use crate::cloud_support::{OTHER_SERVER, PROJECT, REGION, Rig, SERVER, region, server};
use mcm_migration_core::domain::{ServerId, ServerStatus, VolumeId};
use serde_json::json;
use simulator::{Nic, Operation, Server, Volume};

const THIRD: &str = "6f3c1f0a-0000-4000-8000-0000000000a3";
const NETWORK: &str = "6f3c1f0a-0000-4000-8000-0000000000b1";
const NIC: &str = "6f3c1f0a-0000-4000-8000-0000000000b2";
const BOOT: &str = "6f3c1f0a-0000-4000-8000-0000000000c1";
const DATA: &str = "6f3c1f0a-0000-4000-8000-0000000000c2";

fn with_third() -> (Rig, ServerId) {
    let rig = Rig::start();
    let third = Server::new(THIRD, "worker-c")
        .with_status("DEALLOCATED")
        .with_label("owner", "somebody")
        .with_nic(Nic::new(NETWORK, "port").with_id(NIC).with_allowed_addresses(["10.0.0.0/8"]))
        .with_volume(Volume::boot("root").with_id(BOOT))
        .with_volume(Volume::new("data").with_id(DATA).with_delete_on_termination(true))
        .with_extra("aNewMember", json!({"x": [1]}));
    rig.simulator.cloud().add_server(PROJECT, REGION, third);
    (rig, ServerId::parse(THIRD).unwrap())
}

#[tokio::test]
async fn servers_are_listed_read_and_labelled_and_other_labels_stay() {
    let (rig, third) = with_third();
    let mut names: Vec<_> = rig.client.list_servers(&region()).await.unwrap().into_iter().map(|s| s.name).collect();
    names.sort();
    assert_eq!(names, ["worker-a".into(), "worker-b".into(), "worker-c".into()]);
    assert_eq!(rig.client.get_server(&region(), third).await.unwrap().status, ServerStatus::Deallocated);

    let labels = BTreeMap::from([("kubernetes.io/machine".to_owned(), "worker-a".to_owned())]);
    for _ in 0..2 {
        let labelled = rig.client.patch_server_labels(&region(), server(), &labels).await.unwrap();
        assert_eq!(labelled.labels["kubernetes.io/machine"], "worker-a".into());
    }
    let more = BTreeMap::from([("kubernetes.io/cluster".to_owned(), "shoot--a--b".to_owned())]);
    assert_eq!(rig.client.patch_server_labels(&region(), server(), &more).await.unwrap().labels.len(), 2);
    assert_eq!(rig.client.get_server(&region(), server()).await.unwrap().labels.len(), 2);
    let error = rig.client.patch_server_labels(&region(), third, &labels).await.unwrap_err();
    assert_eq!(error.reason_class(), "conflict", "{error}");

    let sent: Vec<_> = rig.calls(Operation::PatchServer).into_iter().map(|call| call.body.unwrap()).collect();
    let (once, twice) = (json!({"labels": labels}), json!({"labels": more}));
    assert_eq!(sent, [once.clone(), once.clone(), twice, once]);

    let found = rig.client.list_servers_with_label(&region(), "kubernetes.io/machine", "worker-a").await.unwrap();
    assert_eq!(found.iter().map(|server| server.id.as_str()).collect::<Vec<_>>(), [SERVER]);
    let asked = rig.calls(Operation::ListServersBySelector).pop().unwrap();
    assert_eq!(asked.selector.as_deref(), Some("kubernetes.io/machine=worker-a"));
}

#[tokio::test]
async fn what_the_selector_let_through_is_filtered_again() {
    let stub = Stub::start().await;
    let item = |id: &str, label: &str| json!({"id": id, "name": "n", "machineType": "t", "labels": {"k": label}});
    let items = json!({"items": [item(SERVER, "v"), item(OTHER_SERVER, "V"), {"id": THIRD, "name": "n"}]});
    stub.then_json(200, items.to_string());
    let found = stub.client.list_servers_with_label(&region(), "k", "v").await.unwrap();
    assert_eq!(found.iter().map(|server| server.id.as_str()).collect::<Vec<_>>(), [SERVER]);
    let asked = stub.asked().pop().unwrap();
    assert_eq!(asked.uri.query(), Some("label_selector=k%3Dv"));
    assert_eq!(asked.headers["authorization"], "Bearer hush-token");
    assert_eq!(asked.headers["accept"], "application/json");

    let nics = json!({"items": [
        {"id": NIC, "networkId": NETWORK, "device": SERVER},
        {"id": BOOT, "networkId": NETWORK, "device": OTHER_SERVER},
        {"id": DATA, "networkId": NETWORK},
    ]});
    stub.then_json(200, nics.to_string());
    assert_eq!(stub.client.list_server_nics(&region(), server()).await.unwrap().len(), 2);
}

#[tokio::test]
async fn allowed_addresses_are_read_and_set() {
    let (rig, third) = with_third();
    let nics = rig.client.list_server_nics(&region(), third).await.unwrap();
    let [nic] = nics.as_slice() else { panic!("{nics:?}") };
    assert_eq!((nic.id.as_str(), nic.network.as_str()), (NIC, NETWORK));
    assert_eq!(nic.allowed_addresses, ["10.0.0.0/8"]);
    let addresses = ["10.0.0.0/8".to_owned(), "100.64.0.0/11".to_owned()];
    let changed = rig.client.patch_nic_allowed_addresses(&region(), nic.network, nic.id, &addresses).await.unwrap();
    assert_eq!(changed.allowed_addresses, addresses);
    assert_eq!(rig.client.list_server_nics(&region(), third).await.unwrap(), [changed]);
    let sent = rig.calls(Operation::PatchNic).pop().unwrap().body.unwrap();
    assert_eq!(sent, json!({"allowedAddresses": addresses}));
}

#[tokio::test]
async fn the_boot_volume_is_found_and_set_to_go_with_its_server() {
    let (rig, third) = with_third();
    let boot = rig.client.boot_volume(&region(), third).await.unwrap();
    assert_eq!(boot, Some(VolumeId::parse(BOOT).unwrap()));
    assert_eq!(rig.client.boot_volume(&region(), server()).await.unwrap(), None);
    let goes = async || {
        let mut found = rig.client.list_attachments(&region(), third).await.unwrap();
        found.sort_by_key(|attachment| attachment.volume);
        found.into_iter().map(|attachment| attachment.delete_on_termination).collect::<Vec<_>>()
    };
    assert_eq!(goes().await, [false, true]);
    let changed = rig.client.patch_attachment(&region(), third, boot.unwrap(), true).await.unwrap();
    assert!(changed.delete_on_termination);
    assert_eq!(goes().await, [true, true]);
    assert_eq!(rig.calls(Operation::PatchAttachment).pop().unwrap().body, Some(json!({"deleteOnTermination": true})));
    let volumes = rig.client.list_volumes(&region()).await.unwrap();
    assert_eq!(volumes.len(), 2);
    assert!(volumes.iter().all(|volume| volume.server == Some(third)), "{volumes:?}");
}
