use std::collections::BTreeMap;

use super::{NetworkId, NicId, ServerId, VolumeId};

/// A server as STACKIT's IaaS API shows it, reduced to what decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// `id`
    pub id: ServerId,
    /// `name`
    pub name: Box<str>,
    /// `status`
    pub status: ServerStatus,
    /// `labels` whose values are strings. Absent, `null` and `{}` are the same; a value that is no string is left out, so
    /// a key of ours with such a value counts as missing.
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

/// A server's status. The API's list is open (iaas v2, `Server.status`): what is not known is [`Self::Other`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ServerStatus {
    /// `ACTIVE`
    Active,
    /// `BUILD` or `CREATING`: it is being made.
    Creating,
    /// `ERROR`
    Error,
    /// `DEALLOCATED` or `DEALLOCATING`: shelved; the API refuses to change it.
    Deallocated,
    /// `DELETING` or `DELETED`.
    Deleting,
    /// Any other, an absent one included.
    Other,
}

impl ServerStatus {
    /// Sorts a value of `status`; an absent one is `""`.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text {
            "ACTIVE" => Self::Active,
            "BUILD" | "CREATING" => Self::Creating,
            "ERROR" => Self::Error,
            "DEALLOCATED" | "DEALLOCATING" => Self::Deallocated,
            "DELETING" | "DELETED" => Self::Deleting,
            _ => Self::Other,
        }
    }
}

impl ServerStatus {
    /// Whether the API refuses to change a server in it.
    #[must_use]
    pub fn forbids_changes(self) -> bool {
        matches!(self, Self::Creating | Self::Deallocated | Self::Deleting)
    }
}

/// A network interface of a server, reduced to what decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// `id`
    pub id: NicId,
    /// `networkId`
    pub network: NetworkId,
    /// `allowedAddresses`: CIDRs or addresses. Absent and `null` are the empty list.
    pub allowed_addresses: Vec<String>,
}

/// A volume that is attached to a server, reduced to what decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeAttachment {
    /// `volumeId`
    pub volume: VolumeId,
    /// `deleteOnTermination`: whether it is deleted together with the server. Absent is `false`.
    pub delete_on_termination: bool,
}
