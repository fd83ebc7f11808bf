//! What the API server's audit log and the simulator's journal prove together.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use k8s_openapi::jiff::Timestamp;
use rig::ApiServer;
use serde_json::Value;
use simulator::{Call, Operation};

/// When each Machine's STACKIT ID was persisted, by that ID, and how the clocks of both compare.
pub struct Persisted {
    by_id: BTreeMap<String, Timestamp>,
    instant: Instant,
    time: Timestamp,
}

impl Persisted {
    pub fn read(server: &ApiServer) -> Self {
        let (mut by_id, mut unanswered) = (BTreeMap::new(), BTreeMap::new());
        for event in server.audit_events().unwrap() {
            let machine = &event["responseObject"];
            let dry = event["requestURI"].as_str().is_some_and(|uri| uri.contains("dryRun"));
            if event["objectRef"]["resource"] != "machines" || event["stage"] != "ResponseComplete" || dry {
                continue;
            }
            let at: Timestamp = event["stageTimestamp"].as_str().unwrap().parse().unwrap();
            let object = format!("{}/{}", text(&event["objectRef"]["namespace"]), text(&event["objectRef"]["name"]));
            let touch = &event["requestObject"]["metadata"]["annotations"]["stackit.cloud/machine-should-be-migrated"];
            if event["responseStatus"]["code"] == 504 && touch == "true" {
                // Whoever touched was gone before the answer. It counts, if a later write shows that it was made.
                unanswered.insert(object, at);
                continue;
            }
            if let Some(id) = machine["spec"]["providerID"].as_str().filter(|id| id.starts_with("stackit://")) {
                let at = unanswered.get(&object).map_or(at, |before| at.min(*before));
                by_id.entry(format!("{id} {}", text(&machine["metadata"]["name"]))).or_insert(at);
            }
        }
        let time = Timestamp::try_from(SystemTime::now()).unwrap();
        Self { by_id, instant: Instant::now(), time }
    }

    /// Each label went to a server whose Machine had been persisted with its ID, and under its own name, for `quarantine`.
    pub fn assert_came_before_labels(&self, journal: &[Call], quarantine: Duration) {
        for call in journal.iter().filter(|call| call.operation == Operation::PatchServer) {
            let id = format!("stackit://{}/{}", call.project.as_ref().unwrap(), call.server.as_ref().unwrap());
            let named = call.body.as_ref().and_then(|body| body["labels"]["kubernetes.io/machine"].as_str());
            let mut machines = self.by_id.iter().filter(|(key, _)| key.split(' ').next() == Some(id.as_str()));
            let (key, persisted) = machines.next().unwrap_or_else(|| panic!("no Machine has the ID {id}: {call:?}"));
            assert!(named.is_none_or(|named| key.ends_with(&format!(" {named}"))), "{key} is no {named:?}: {call:?}");
            let before = self.time.duration_since(*persisted);
            let age = Duration::try_from(before).unwrap().saturating_sub(self.instant.duration_since(call.at));
            assert!(age >= quarantine, "labelled {age:?} after the ID was persisted: {call:?}");
        }
    }
}

/// The calls of a project and operation, in order.
pub fn calls_of<'a>(journal: &'a [Call], project: &str, operation: Operation) -> Vec<&'a Call> {
    journal.iter().filter(|call| call.project.as_deref() == Some(project) && call.operation == operation).collect()
}

/// A member of a JSON value as text; empty if it is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
