//! The JSON of the IaaS API (iaas v2), read leniently where it may grow and strictly where it decides.

use std::collections::BTreeMap;

use mcm_migration_core::domain::{
    InvalidUuid, NetworkId, Nic, NicId, Part, PartId, PartKind, Server, ServerId, ServerStatus, VolumeAttachment,
    VolumeId,
};
use serde_json::{Map, Value};

/// A volume, reduced to what decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// `id`
    pub id: VolumeId,
    /// `name`; empty when it has none.
    pub name: Box<str>,
    /// `serverId`: the server that it is attached to.
    pub server: Option<ServerId>,
    /// `status`, as it stands; empty when it has none.
    pub status: Box<str>,
}

/// A server with its boot volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BootVolume {
    pub(super) server: ServerId,
    /// `bootVolume.id`
    pub(super) volume: Option<VolumeId>,
}

/// A network interface with its `device`: the server that it is attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttachedNic {
    pub(super) nic: Nic,
    pub(super) device: Option<ServerId>,
}

/// A volume attachment with its `serverId`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerAttachment {
    pub(super) attachment: VolumeAttachment,
    pub(super) server: Option<ServerId>,
}

/// What is wrong with an object. It names members and quotes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Flaw {
    #[error("is no JSON object")]
    NoObject,
    #[error("has no {0:?}")]
    Missing(&'static str),
    #[error("has a {0:?} of an unexpected type")]
    Type(&'static str),
    #[error("has an {0:?} that is no plain lower-case UUID")]
    Uuid(&'static str),
}

/// What can be read from a JSON object of the API.
pub(super) trait Item: Sized {
    fn of(members: &mut Map<String, Value>) -> Result<Self, Flaw>;

    fn read(json: &str) -> Result<Self, Flaw> {
        match serde_json::from_str(json) {
            Ok(Value::Object(mut members)) => Self::of(&mut members),
            _ => Err(Flaw::NoObject),
        }
    }
}

impl Item for Server {
    fn of(members: &mut Map<String, Value>) -> Result<Self, Flaw> {
        Ok(Self {
            id: id(members, "id", ServerId::parse)?,
            name: text(members, "name")?.ok_or(Flaw::Missing("name"))?,
            status: ServerStatus::of(&text(members, "status")?.unwrap_or_default()),
            labels: labels(members)?,
        })
    }
}

impl Item for BootVolume {
    fn of(members: &mut Map<String, Value>) -> Result<Self, Flaw> {
        let volume = match members.remove("bootVolume") {
            None | Some(Value::Null) => None,
            Some(Value::Object(mut volume)) => optional_id(&mut volume, "id", VolumeId::parse)?,
            Some(_) => return Err(Flaw::Type("bootVolume")),
        };
        Ok(Self { server: id(members, "id", ServerId::parse)?, volume })
    }
}

impl Item for AttachedNic {
    fn of(members: &mut Map<String, Value>) -> Result<Self, Flaw> {
        let allowed_addresses = match members.remove("allowedAddresses") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(values)) => values
                .into_iter()
                .map(|value| match value {
                    Value::String(address) => Ok(address),
                    _ => Err(Flaw::Type("allowedAddresses")),
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(Flaw::Type("allowedAddresses")),
        };
        let nic = Nic {
            id: id(members, "id", NicId::parse)?,
            network: id(members, "networkId", NetworkId::parse)?,
            allowed_addresses,
        };
        Ok(Self { nic, device: optional_id(members, "device", ServerId::parse)? })
    }
}

impl Item for ServerAttachment {
    fn of(members: &mut Map<String, Value>) -> Result<Self, Flaw> {
        let delete_on_termination = match members.remove("deleteOnTermination") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(value)) => value,
            Some(_) => return Err(Flaw::Type("deleteOnTermination")),
        };
        let attachment = VolumeAttachment { volume: id(members, "volumeId", VolumeId::parse)?, delete_on_termination };
        Ok(Self { attachment, server: optional_id(members, "serverId", ServerId::parse)? })
    }
}

impl Item for Volume {
    fn of(members: &mut Map<String, Value>) -> Result<Self, Flaw> {
        Ok(Self {
            id: id(members, "id", VolumeId::parse)?,
            name: text(members, "name")?.unwrap_or_default(),
            server: optional_id(members, "serverId", ServerId::parse)?,
            status: text(members, "status")?.unwrap_or_default(),
        })
    }
}

/// A network interface as a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NicPart(pub(super) Part);

/// A volume as a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VolumePart(pub(super) Part);

impl Item for NicPart {
    fn of(members: &mut Map<String, Value>) -> Result<Self, Flaw> {
        let id =
            PartId::Nic { network: id(members, "networkId", NetworkId::parse)?, nic: id(members, "id", NicId::parse)? };
        // The list is open (iaas v2, `NIC.type`); what is not known may be the network's own.
        let of_network = !matches!(text(members, "type")?.as_deref(), None | Some("server" | "none"));
        Ok(Self(Part { of_network, ..part(members, id)? }))
    }
}

impl Item for VolumePart {
    fn of(members: &mut Map<String, Value>) -> Result<Self, Flaw> {
        let id = PartId::Volume(id(members, "id", VolumeId::parse)?);
        let bootable = match members.remove("bootable") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(bootable)) => bootable,
            Some(_) => return Err(Flaw::Type("bootable")),
        };
        Ok(Self(Part { bootable, ..part(members, id)? }))
    }
}

fn part(members: &mut Map<String, Value>, id: PartId) -> Result<Part, Flaw> {
    let (attached_to, unused) = match id.kind() {
        PartKind::Nic => ("device", "DOWN"),
        PartKind::Volume => ("serverId", "AVAILABLE"),
    };
    Ok(Part {
        id,
        name: text(members, "name")?.unwrap_or_default(),
        server: optional_id(members, attached_to, ServerId::parse)?,
        idle: text(members, "status")?.as_deref() == Some(unused),
        bootable: false,
        of_network: false,
        labels: labels(members)?,
    })
}

fn text(members: &mut Map<String, Value>, name: &'static str) -> Result<Option<Box<str>>, Flaw> {
    match members.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.into())),
        Some(_) => Err(Flaw::Type(name)),
    }
}

type Parse<T> = fn(&str) -> Result<T, InvalidUuid>;

fn optional_id<T>(members: &mut Map<String, Value>, name: &'static str, parse: Parse<T>) -> Result<Option<T>, Flaw> {
    // An object that is attached to nothing can say so with an empty text.
    match text(members, name)?.filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => parse(&text).map(Some).map_err(|_| Flaw::Uuid(name)),
    }
}

fn id<T>(members: &mut Map<String, Value>, name: &'static str, parse: Parse<T>) -> Result<T, Flaw> {
    optional_id(members, name, parse)?.ok_or(Flaw::Missing(name))
}

/// Labels whose values are texts: the schema leaves their type open, and the STACKIT provider drops the others as well.
fn labels(members: &mut Map<String, Value>) -> Result<BTreeMap<Box<str>, Box<str>>, Flaw> {
    match members.remove("labels") {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(labels)) => Ok(labels
            .into_iter()
            .filter_map(|(key, value)| match value {
                Value::String(value) => Some((key.into(), value.into())),
                _ => None,
            })
            .collect()),
        Some(_) => Err(Flaw::Type("labels")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "3b0f8c0e-0000-4000-8000-00000000000a";
    const B: &str = "3b0f8c0e-0000-4000-8000-00000000000b";

    fn server(rest: &str) -> Result<Server, Flaw> {
        Server::read(&format!(r#"{{"id":"{A}","name":"n"{rest}}}"#))
    }

    #[test]
    fn labels_may_be_absent_null_or_of_other_types() {
        for rest in ["", r#","labels":null"#, r#","labels":{}"#, r#","labels":{"a":1,"b":null}"#] {
            assert!(server(rest).is_ok_and(|server| server.labels.is_empty()), "{rest}");
        }
        assert!(server(r#","labels":{"a":"x","b":2}"#).is_ok_and(|server| server.labels.len() == 1));
        assert_eq!(server(r#","labels":[]"#), Err(Flaw::Type("labels")));
    }

    #[test]
    fn a_status_that_is_not_known_is_some_other() {
        for (rest, status) in [
            (r#","status":"ACTIVE""#, ServerStatus::Active),
            (r#","status":"NEW-ONE""#, ServerStatus::Other),
            ("", ServerStatus::Other),
        ] {
            assert!(server(rest).is_ok_and(|server| server.status == status), "{rest}");
        }
    }

    #[test]
    fn interfaces_attachments_and_volumes_are_read() {
        let nic = AttachedNic::read(&format!(r#"{{"id":"{A}","networkId":"{B}","allowedAddresses":null}}"#));
        assert!(nic.is_ok_and(|nic| nic.nic.allowed_addresses.is_empty() && nic.device.is_none()));
        assert_eq!(AttachedNic::read(&format!(r#"{{"id":"{A}"}}"#)), Err(Flaw::Missing("networkId")));
        let attachment = ServerAttachment::read(&format!(r#"{{"volumeId":"{A}","serverId":"{B}"}}"#));
        assert!(attachment.is_ok_and(|it| !it.attachment.delete_on_termination && it.server.is_some()));
        let volume = Volume::read(&format!(r#"{{"id":"{A}","serverId":""}}"#));
        assert!(volume.is_ok_and(|volume| volume.server.is_none()));
        let boot = |volume: &str| BootVolume::read(&format!(r#"{{"id":"{A}","bootVolume":{volume}}}"#));
        assert!(boot("null").is_ok_and(|boot| boot.volume.is_none()));
        assert!(boot("{}").is_ok_and(|boot| boot.volume.is_none()));
        assert!(boot(&format!(r#"{{"id":"{B}"}}"#)).is_ok_and(|boot| boot.volume.is_some()));
        assert_eq!(boot(r#"{"id":"no"}"#), Err(Flaw::Uuid("id")));
    }
}
