//! What a real API server makes of the annotations, and how long a name may be that reaches the webhook.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use crate::support::cluster::Cluster;
use crate::support::{DEADLINE, repository};
use rig::Shared;
use rig::shoot::Shoot;
use serde_json::{Value, json};

static CLUSTER: Shared<Cluster> = Shared::new();

const PREFIX: &str = "machine.mcm-migration.stackit.cloud/";

/// The annotations that docs/audit.md lists.
fn documented() -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository("docs/audit.md")).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|line| line.split('|').nth(2)?.split('`').nth(1).map(str::to_owned)).collect()
}

#[tokio::test]
async fn its_audit_event_carries_every_fact() {
    let cluster = &*CLUSTER.get(Cluster::start).await;
    let shoot = Shoot::new("audit-facts").legacy_machines(1);
    cluster.armed(&shoot).await;
    let [name] = shoot.machines().try_into().unwrap();
    let label = ["-n", &shoot.namespace(), "label", "machine", &name, "touched=yes"];
    cluster.server.kubectl(&label, None).await.unwrap().ok().unwrap();
    let event = cluster
        .server
        .audit_events()
        .unwrap()
        .into_iter()
        .find(|event| {
            event["objectRef"]["namespace"] == shoot.namespace().as_str()
                && event["annotations"][format!("{PREFIX}reason")] == "rewritten"
        })
        .expect("the event of the rewrite");
    let annotations = event["annotations"].as_object().unwrap();
    let of = |key: &str| annotations[&format!("{PREFIX}{key}")].as_str().unwrap();
    let found: BTreeSet<String> =
        annotations.keys().filter_map(|key| key.strip_prefix(PREFIX).map(str::to_owned)).collect();
    let mut wanted = documented();
    wanted.remove("subject");
    assert_eq!(found, wanted);
    // What the event says itself is the same.
    assert_eq!(
        (of("namespace"), of("name"), of("user")),
        (
            event["objectRef"]["namespace"].as_str().unwrap(),
            event["objectRef"]["name"].as_str().unwrap(),
            event["user"]["username"].as_str().unwrap()
        )
    );
    // And the record of the program is found by the uid.
    let record = cluster.product.await_log(|line| line["uid"] == of("uid"), DEADLINE).await.unwrap();
    assert_eq!((&record["new_id"], &record["name"]), (&json!(of("new-id")), &json!(name)));
}

#[tokio::test]
async fn a_name_of_a_megabyte_reaches_the_webhook_and_leaves_a_short_record() {
    let cluster = &*CLUSTER.get(Cluster::start).await;
    let shoot = Shoot::new("audit-long");
    cluster.armed(&shoot).await;
    let name = "n".repeat(1 << 20);
    let mut object = shoot.machine("long", &shoot.legacy_id("long"));
    object["metadata"]["name"] = json!(name);
    let refused = cluster.server.kubectl(&["create", "-f", "-"], Some(&object.to_string())).await.unwrap();
    assert!(!refused.success(), "no API server takes such a name");
    let is_of_it =
        |line: &Value| line["target"] == "audit" && line["name"].as_str().is_some_and(|name| name.starts_with("nnn"));
    let record = cluster.product.await_log(is_of_it, DEADLINE).await.unwrap();
    assert_eq!((&record["decision"], &record["operation"]), (&json!("changed"), &json!("CREATE")));
    assert!(record["name"].as_str().unwrap().ends_with('…') && record.to_string().len() < 4096);
    let event = cluster.server.audit_events().unwrap().into_iter().find(|event| {
        event["annotations"][format!("{PREFIX}name")].as_str().is_some_and(|name| name.starts_with("nnn"))
    });
    let event = event.expect("the event of the refused write");
    let ours: usize = event["annotations"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| key.starts_with(PREFIX))
        .map(|(_, value)| value.as_str().unwrap().len())
        .sum();
    assert!(ours < 4096, "{ours} bytes");
}
