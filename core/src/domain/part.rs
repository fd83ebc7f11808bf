use std::collections::BTreeMap;
use std::fmt;

use super::{NetworkId, NicId, ServerId, VolumeId};

/// A kind of *part*: what the OpenStack provider makes apart for a server, under the Machine's name, and what the STACKIT provider v0.6.0
/// leaves behind when it deletes the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartKind {
    /// A network interface.
    Nic,
    /// A volume.
    Volume,
}

impl PartKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Nic, Self::Volume];
}

impl fmt::Display for PartKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nic => "network interface",
            Self::Volume => "volume",
        })
    }
}

/// Which network interface or volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PartId {
    /// A network interface; the API's path to it leads through its network.
    Nic {
        /// `networkId`
        network: NetworkId,
        /// `id`
        nic: NicId,
    },
    /// A volume.
    Volume(VolumeId),
}

impl PartId {
    /// Its kind.
    #[must_use]
    pub fn kind(self) -> PartKind {
        match self {
            Self::Nic { .. } => PartKind::Nic,
            Self::Volume(_) => PartKind::Volume,
        }
    }
}

/// `network interface <id>` or `volume <id>`
impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nic { nic, .. } => write!(f, "{} {nic}", PartKind::Nic),
            Self::Volume(volume) => write!(f, "{} {volume}", PartKind::Volume),
        }
    }
}

/// A network interface or a volume as STACKIT's IaaS API shows it, reduced to what decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which.
    pub id: PartId,
    /// `name`; empty when it has none.
    pub name: Box<str>,
    /// `device` of a network interface, `serverId` of a volume: what it is attached to.
    pub server: Option<ServerId>,
    /// Whether it says of itself that nothing uses it: `status` `DOWN` of a network interface, `AVAILABLE` of a volume.
    pub idle: bool,
    /// `bootable` of a volume; false of a network interface.
    pub bootable: bool,
    /// Whether a network interface belongs to the network itself: `type` `metadata` or `gateway`, or one that is not known.
    pub of_network: bool,
    /// `labels` whose values are strings, as those of a server.
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

impl Part {
    /// Whether a label says that a storage driver of a cluster made it. Drivers name their volumes after the claim, never after a Machine; this is
    /// asked besides.
    #[must_use]
    pub fn is_of_csi(&self) -> bool {
        self.labels.keys().any(|key| key.to_ascii_lowercase().contains("csi"))
    }
}
