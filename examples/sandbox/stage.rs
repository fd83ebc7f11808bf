//! What those who play a part beside the product have: the API server, the cloud, and a list of what they did.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use rig::objects;
use serde_json::{Value, json};
use simulator::Cloud;

/// How often those on stage look around.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Shared by all.
#[derive(Clone)]
pub(crate) struct Stage {
    /// As a cluster administrator.
    pub(crate) client: Client,
    pub(crate) cloud: Arc<Cloud>,
    began: Instant,
    notes: Arc<Mutex<Vec<Note>>>,
}

/// Something that was done, or came about, in a shoot.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// The shoot.
    pub(crate) shoot: String,
    pub(crate) at: Instant,
    pub(crate) text: String,
}

impl Stage {
    /// The curtain goes up now.
    pub(crate) fn new(client: Client, cloud: Arc<Cloud>) -> Self {
        Self { client, cloud, began: Instant::now(), notes: Arc::default() }
    }

    /// Notes what was done.
    pub(crate) fn note(&self, shoot: &str, text: impl Into<String>) {
        let note = Note { shoot: shoot.to_owned(), at: Instant::now(), text: text.into() };
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
    }

    /// What was noted so far, in order.
    pub(crate) fn notes(&self) -> Vec<Note> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// When that was, since the curtain went up.
    pub(crate) fn at(&self, note: &Note) -> Duration {
        note.at.saturating_duration_since(self.began)
    }

    /// What was noted last of a shoot.
    pub(crate) fn last_note(&self, shoot: &str) -> Option<Note> {
        self.notes().into_iter().rfind(|note| note.shoot == shoot)
    }

    /// The Machines of a namespace.
    pub(crate) async fn machines(&self, namespace: &str) -> Result<Vec<Value>> {
        let all = list(&self.client, "machine.sapcloud.io", "Machine").await?;
        Ok(all.into_iter().filter(|machine| machine["metadata"]["namespace"] == namespace).collect())
    }

    /// Creates an object. One with a `deletionTimestamp` is created and then deleted, so that its finalizers hold it.
    pub(crate) async fn create(&self, object: &Value) -> Result<()> {
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().context("an object without metadata")?;
        let terminating = metadata.remove("deletionTimestamp").is_some();
        objects::create(&self.client, &object).await?;
        if terminating { objects::delete(&self.client, &object).await } else { Ok(()) }
    }
}

/// All objects of a kind.
pub(crate) async fn list(client: &Client, group: &str, kind: &str) -> Result<Vec<Value>> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1alpha1", kind));
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let list = api.list(&ListParams::default()).await.with_context(|| format!("cannot list {kind}s"))?;
    list.items.into_iter().map(|object| Ok(serde_json::to_value(object)?)).collect()
}

/// A reference to an object, as [`rig::objects`] takes it.
pub(crate) fn reference(group: &str, kind: &str, namespace: &str, name: &str) -> Value {
    json!({ "apiVersion": format!("{group}/v1alpha1"), "kind": kind, "metadata": { "namespace": namespace, "name": name } })
}

/// `metadata.name`
pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// A Machine's `spec.providerID`; empty if there is none.
pub(crate) fn provider_id(machine: &Value) -> &str {
    machine["spec"]["providerID"].as_str().unwrap_or_default()
}

/// An annotation's value.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"].get(key)?.as_str()
}

/// Whether the object is being deleted.
pub(crate) fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}
