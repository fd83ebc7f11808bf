//! Servers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::labels::{LabelMode, Labels, schema_error};
use crate::model::{Nic, Volume};

/// A server with its network interfaces and attached volumes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Server {
    /// UUID, lower case.
    pub id: String,
    /// Up to 63 characters. Both MCM providers give it the name of the Machine. Names need not be unique.
    pub name: String,
    /// A free string: `ACTIVE`, `DEALLOCATED`, `CREATING`, …
    pub status: String,
    /// `RUNNING`, `STOPPED`, `CRASHED`, `ERROR`
    pub power_status: Option<String>,
    /// `machineType`
    pub machine_type: String,
    /// `availabilityZone`
    pub zone: String,
    /// Its labels.
    pub labels: Labels,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
    /// Its network interfaces; shown with `details=true` only.
    pub nics: Vec<Nic>,
    /// Attached volumes, the one to boot from included.
    pub volumes: Vec<Volume>,
    /// `userData`, base64; shown with `details=true` only.
    pub user_data: Option<String>,
    /// `serviceAccountMails`; shown with `details=true` only.
    pub service_account_mails: Vec<String>,
    /// Members that no client knows yet, or that replace known ones.
    pub extra: Map<String, Value>,
}

impl Server {
    /// An active server without labels, network interfaces and volumes.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            status: "ACTIVE".to_owned(),
            power_status: Some("RUNNING".to_owned()),
            machine_type: "c1.2".to_owned(),
            zone: "eu01-1".to_owned(),
            labels: Labels::Absent,
            metadata: BTreeMap::new(),
            nics: Vec::new(),
            volumes: Vec::new(),
            user_data: None,
            service_account_mails: Vec::new(),
            extra: Map::new(),
        }
    }

    /// With this status.
    #[must_use]
    pub fn with_status(self, status: impl Into<String>) -> Self {
        Self { status: status.into(), ..self }
    }

    /// With these labels, in any of their three forms.
    #[must_use]
    pub fn with_labels(self, labels: impl Into<Labels>) -> Self {
        Self { labels: labels.into(), ..self }
    }

    /// With one label more.
    #[must_use]
    pub fn with_label(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.labels.set(key, value);
        self
    }

    /// With one network interface more.
    #[must_use]
    pub fn with_nic(mut self, nic: Nic) -> Self {
        self.nics.push(nic);
        self
    }

    /// With one volume more.
    #[must_use]
    pub fn with_volume(mut self, volume: Volume) -> Self {
        self.volumes.push(volume);
        self
    }

    /// With a member that no client knows yet, or that replaces a known one.
    #[must_use]
    pub fn with_extra(mut self, member: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(member.into(), value.into());
        self
    }

    pub(crate) fn render(&self, details: bool) -> Value {
        let ids: Vec<&str> = self.volumes.iter().map(|volume| volume.id.as_str()).collect();
        let mut object = Map::new();
        let mut put = |member: &str, value: Value| object.insert(member.to_owned(), value);
        put("id", self.id.as_str().into());
        put("name", self.name.as_str().into());
        put("status", self.status.as_str().into());
        put("machineType", self.machine_type.as_str().into());
        put("availabilityZone", self.zone.as_str().into());
        put("volumes", ids.into());
        put("createdAt", "2026-01-01T00:00:00.000Z".into());
        if let Some(power) = &self.power_status {
            put("powerStatus", power.as_str().into());
        }
        if let Some(boot) = self.volumes.iter().find(|volume| volume.boot) {
            put("bootVolume", json!({ "id": boot.id, "deleteOnTermination": boot.delete_on_termination }));
        }
        if !self.metadata.is_empty() {
            put("metadata", self.metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect());
        }
        if details {
            put("nics", self.nics.iter().map(Nic::render_in_server).collect());
            put("serviceAccountMails", self.service_account_mails.clone().into());
            if let Some(data) = &self.user_data {
                put("userData", data.as_str().into());
            }
        }
        self.labels.write_to(&mut object);
        object.extend(self.extra.clone());
        Value::Object(object)
    }

    /// What a PATCH does; the message of the 400 if it is not acceptable.
    pub(crate) fn patch(&mut self, mode: LabelMode, change: &Map<String, Value>) -> Result<(), String> {
        let name = match change.get("name") {
            Some(name) => Some(check_name(name)?),
            None => None,
        };
        let mut metadata = self.metadata.clone();
        if let Some(change) = change.get("metadata") {
            let change = change.as_object().ok_or_else(|| schema_error("/metadata", "value must be an object"))?;
            for (key, value) in change {
                match value {
                    Value::Null => drop(metadata.remove(key)),
                    Value::String(value) => drop(metadata.insert(key.clone(), value.clone())),
                    _ => return Err(schema_error(&format!("/metadata/{key}"), "value must be a string")),
                }
            }
        }
        if let Some(labels) = change.get("labels") {
            self.labels.patch(mode, labels)?;
        }
        self.metadata = metadata;
        if let Some(name) = name {
            self.name = name;
        }
        Ok(())
    }
}

/// One or more labels of a DNS name, up to 63 characters together.
pub(crate) fn check_name(value: &Value) -> Result<String, String> {
    let name = value.as_str().ok_or_else(|| schema_error("/name", "value must be a string"))?;
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if name.len() > 63 {
        return Err(schema_error("/name", "maximum string length is 63"));
    }
    if name.split('.').all(part) {
        Ok(name.to_owned())
    } else {
        Err(schema_error("/name", "string doesn't match the regular expression"))
    }
}
