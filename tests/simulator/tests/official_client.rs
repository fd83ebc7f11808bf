//! STACKIT's own Python client takes the simulator for the real thing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod official;

use serde_json::{Value, json};
use simulator::{Nic, Operation, Server, Simulator, Volume};

const PROJECT: &str = "11111111-1111-4111-8111-111111111111";
const FOREIGN: &str = "11111111-1111-4111-8111-222222222222";
const SERVER: &str = "22222222-2222-4222-8222-111111111111";
const OTHER: &str = "22222222-2222-4222-8222-222222222222";
const NETWORK: &str = "33333333-3333-4333-8333-333333333333";
const NIC: &str = "44444444-4444-4444-8444-444444444444";
const VOLUME: &str = "55555555-5555-4555-8555-555555555555";

/// What the script saw, and the simulator that it saw.
fn run() -> (Value, Simulator) {
    let simulator = Simulator::start().unwrap();
    let cloud = simulator.cloud();
    let key = cloud.add_project(PROJECT);
    let _ = cloud.add_project(FOREIGN);
    let machine = Server::new(SERVER, "machine-1")
        .with_label("pool", "a")
        .with_nic(Nic::new(NETWORK, "machine-1").with_id(NIC))
        .with_volume(Volume::boot("machine-1").with_id(VOLUME))
        .with_extra("aMemberOfTomorrow", json!({"x": 1}));
    cloud.add_server(PROJECT, "eu01", machine);
    // A status that the client does not know, and labels that are null.
    let other = Server::new(OTHER, "machine-2").with_status("HOVERING").with_label("pool", "b");
    cloud.add_server(PROJECT, "eu01", other);
    let bare = Server::new("22222222-2222-4222-8222-333333333333", "machine-3").with_labels(simulator::Labels::Null);
    cloud.add_server(PROJECT, "eu01", bare);

    let folder = tempfile::tempdir().unwrap();
    let key_path = folder.path().join("serviceaccount.json");
    std::fs::write(&key_path, key.json()).unwrap();
    let seen = official::run(&json!({
        "iaas_url": simulator.iaas_url(),
        "token_url": simulator.token_url(),
        "key_path": key_path,
        "project": PROJECT,
        "foreign_project": FOREIGN,
        "server": SERVER,
        "other_server": OTHER,
        "network": NETWORK,
        "nic": NIC,
        "volume": VOLUME,
    }));
    (seen.unwrap(), simulator)
}

#[test]
fn the_official_client_sees_a_cloud_and_leaves_a_journal() {
    let (seen, simulator) = run();
    let is = |member: &str, expected: Value| assert_eq!(seen[member], expected, "{member}");

    is("servers", json!(["machine-1", "machine-2", "machine-3"]));
    is("server", json!({"id": SERVER, "name": "machine-1", "status": "ACTIVE", "labels": {"pool": "a"}, "nics": null}));
    is("nic_of_detailed_server", json!(NIC));
    is("patched", json!({"foreign": "kept", "kubernetes.io/machine": "machine-1", "pool": "a"}));
    is("after_null", json!({"kubernetes.io/machine": "machine-1", "pool": "a"}));
    is("by_selector", json!(["machine-1"]));
    is("by_key", json!(["machine-1", "machine-2"]));
    is("by_nothing", json!([]));

    is("server_nics", json!(["machine-1"]));
    is("project_nics", json!(["machine-1"]));
    is("network_nics", json!(["machine-1"]));
    is(
        "nic",
        json!({"labels": {"kubernetes.io/machine": "machine-1"}, "allowed": ["10.250.0.0/16", "10.1.2.3"], "device": SERVER}),
    );
    is("volumes", json!(["machine-1"]));
    is("volume_label", json!({"a": "b"}));
    is("attached_before", json!([false]));
    is("attached_after", json!(true));

    is("created", json!({"name": "made-by-python", "status": "CREATING", "labels": {"pool": "new"}}));
    is("created_later", json!("ACTIVE"));
    // The network interface was handed over by ID and stays, the volume was told to go.
    is("nics_that_remain", json!([["machine-1", "DOWN", "none"]]));
    is("volumes_that_remain", json!([]));
    is("nics_at_the_end", json!([]));

    let error = |member: &str, class: &str, status: u16, message: &str| {
        is(member, json!({"class": class, "status": status, "body": {"code": status, "msg": message}}));
    };
    error("delete_nic_in_use", "ConflictException", 409, "nic is in use");
    error("get_deleted", "NotFoundException", 404, "server not found");
    error("unknown_server", "NotFoundException", 404, "server not found");
    error("unknown_project", "NotFoundException", 404, "project not found");
    error("foreign_project", "ForbiddenException", 403, "Forbidden");
    for member in ["bad_value", "bad_key", "reserved", "trailing_comma"] {
        assert_eq!(seen[member]["class"], "BadRequestException", "{member}");
        assert_eq!(seen[member]["status"], 400, "{member}");
    }
    assert!(seen["bad_value"]["body"]["msg"].as_str().unwrap().ends_with(": value /opt/mstr"), "{}", seen["bad_value"]);

    let cloud = simulator.cloud();
    let journal = cloud.journal();
    assert_eq!(cloud.count(Operation::Token), 1, "one token does for the whole script");
    assert_eq!(cloud.count(Operation::Unknown), 0, "every path that the client asks for is known");
    let missing: Vec<Operation> = Operation::ALL.into_iter().filter(|operation| cloud.count(*operation) == 0).collect();
    // The script calls neither of these two.
    assert_eq!(missing, [Operation::GetVolume, Operation::DeleteVolume]);
    assert!(journal.iter().all(|call| call.status.is_some() && call.request_id.is_some() && call.kid.is_some()));
    let patches = cloud.calls(Operation::PatchServer);
    assert_eq!(patches[0].body, Some(json!({"labels": {"kubernetes.io/machine": "machine-1", "foreign": "kept"}})));
    assert_eq!(patches[1].body, Some(json!({"labels": {"foreign": null}})));
    let selected = cloud.calls(Operation::ListServersBySelector);
    assert_eq!(selected[0].selector.as_deref(), Some("kubernetes.io/machine=machine-1,pool=a"));
}
