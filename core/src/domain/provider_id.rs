use std::fmt;

use super::{InvalidUuid, LegacyProviderId, ProjectId, ServerId};

/// A Machine's provider ID as the STACKIT provider writes and compares it: `stackit://<project>/<server>`
/// (machine-controller-manager-provider-stackit `pkg/provider/helpers.go`).
///
/// Made only of parts that cannot be wrong: a malformed one makes the provider answer "already deleted".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackitProviderId {
    /// The project of the shoot's `cloudprovider` Secret.
    pub project: ProjectId,
    /// The server, byte for byte the one of the legacy ID.
    pub server: ServerId,
}

impl StackitProviderId {
    const SCHEME: &str = "stackit://";

    /// Takes exactly `stackit://<project>/<server>` with two plain lower-case UUIDs.
    ///
    /// # Errors
    /// [`InvalidUuid`] when either part is anything else.
    pub fn parse(text: &str) -> Result<Self, InvalidUuid> {
        let parts = text.strip_prefix(Self::SCHEME).ok_or(InvalidUuid)?;
        let (project, server) = parts.split_once('/').ok_or(InvalidUuid)?;
        Ok(Self { project: ProjectId::parse(project)?, server: ServerId::parse(server)? })
    }
}

impl fmt::Display for StackitProviderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}/{}", Self::SCHEME, self.project, self.server)
    }
}

/// What `spec.providerID` of a Machine says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderId<'a> {
    /// Absent, null or empty: the server has not been created, or nobody knows of it yet.
    None,
    /// The legacy format, exactly.
    Legacy(LegacyProviderId<'a>),
    /// It begins with `openstack:` and is not the legacy format: still to be migrated, but nobody can say to what.
    MalformedLegacy(&'a str),
    /// It begins with `stackit:`. Whether the rest is right is not asked: it is never rewritten.
    Stackit(&'a str),
    /// Some other provider's.
    Foreign(&'a str),
}

impl<'a> ProviderId<'a> {
    /// Sorts a value of `spec.providerID`; never fails.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        if text.is_empty() {
            Self::None
        } else if text.starts_with("openstack:") {
            LegacyProviderId::parse(text).map_or(Self::MalformedLegacy(text), Self::Legacy)
        } else if text.starts_with("stackit:") {
            Self::Stackit(text)
        } else {
            Self::Foreign(text)
        }
    }

    /// Whether a server stands behind it that the OpenStack provider made: the well-formed and the malformed.
    #[must_use]
    pub fn is_legacy(&self) -> bool {
        matches!(self, Self::Legacy(_) | Self::MalformedLegacy(_))
    }
}
