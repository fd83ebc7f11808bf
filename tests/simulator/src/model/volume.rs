//! Volumes.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::labels::{LabelMode, Labels};

/// A volume, with what belongs to its attachment while it is attached.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Volume {
    /// UUID, lower case.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: Labels,
    /// In gigabytes.
    pub size: u64,
    /// `availabilityZone`
    pub zone: String,
    /// `performanceClass`
    pub performance_class: String,
    /// Whether its server boots from it.
    pub boot: bool,
    /// Of the attachment: whether it goes away with the server. The API's default is no.
    pub delete_on_termination: bool,
}

impl Volume {
    /// A data volume that outlives its server.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            id: Uuid::new_v4().to_string(),
            name: name.into(),
            labels: Labels::Absent,
            size: 50,
            zone: "eu01-1".to_owned(),
            performance_class: "storage_premium_perf1".to_owned(),
            boot: false,
            delete_on_termination: false,
        }
    }

    /// A volume to boot from.
    #[must_use]
    pub fn boot(name: impl Into<String>) -> Self {
        Self { boot: true, ..Self::new(name) }
    }

    /// With this ID.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self { id: id.into(), ..self }
    }

    /// With these labels.
    #[must_use]
    pub fn with_labels(self, labels: impl Into<Labels>) -> Self {
        Self { labels: labels.into(), ..self }
    }

    /// Goes away with its server, or does not.
    #[must_use]
    pub fn with_delete_on_termination(self, delete: bool) -> Self {
        Self { delete_on_termination: delete, ..self }
    }

    pub(crate) fn render(&self, server: Option<&str>) -> Value {
        let mut volume = json!({
            "id": self.id,
            "name": self.name,
            "availabilityZone": self.zone,
            "size": self.size,
            "performanceClass": self.performance_class,
            "bootable": self.boot,
            "encrypted": false,
            "status": if server.is_some() { "ATTACHED" } else { "AVAILABLE" },
        });
        if let Some(object) = volume.as_object_mut() {
            if let Some(server) = server {
                object.insert("serverId".to_owned(), Value::from(server));
            }
            self.labels.write_to(object);
        }
        volume
    }

    pub(crate) fn render_attachment(&self, server: &str) -> Value {
        json!({ "serverId": server, "volumeId": self.id, "deleteOnTermination": self.delete_on_termination })
    }

    /// What a PATCH does; the message of the 400 if it is not acceptable.
    pub(crate) fn patch(&mut self, mode: LabelMode, change: &Map<String, Value>) -> Result<(), String> {
        let mut next = self.clone();
        if let Some(labels) = change.get("labels") {
            next.labels.patch(mode, labels)?;
        }
        if let Some(name) = change.get("name") {
            next.name = name
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| crate::labels::schema_error("/name", "value must be a string"))?;
        }
        *self = next;
        Ok(())
    }
}
