//! The words: parsed at the edge into types that cannot be wrong, one type a file.

mod exception;
mod guard_label;
pub mod keys;
mod legacy_provider_id;
mod mcm_containers;
mod part;
mod provider;
mod provider_id;
mod reason;
mod region;
mod server;
mod truth;
mod uuid;

pub use exception::Exception;
pub use guard_label::GuardLabel;
pub use legacy_provider_id::LegacyProviderId;
pub use mcm_containers::McmContainers;
pub use part::{Part, PartId, PartKind};
pub use provider::Provider;
pub use provider_id::{ProviderId, StackitProviderId};
pub use reason::Reason;
pub use region::{InvalidRegion, Region};
pub use server::{Nic, Server, ServerStatus, VolumeAttachment};
pub use truth::is_true;
pub use uuid::{InvalidUuid, NetworkId, NicId, ProjectId, ServerId, VolumeId};
