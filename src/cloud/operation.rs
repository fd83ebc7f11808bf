use std::fmt;

/// What a call does. Its short name is a metric's label, its sentence stands in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `POST` of an assertion to the token endpoint.
    GetToken,
    /// `GET …/servers`
    ListServers,
    /// `GET …/servers/{id}`
    GetServer,
    /// `PATCH …/servers/{id}`, labels only.
    PatchServerLabels,
    /// `GET …/servers/{id}/nics`
    ListServerNics,
    /// `PATCH …/networks/{id}/nics/{id}`, `allowedAddresses` only.
    PatchNic,
    /// `GET …/servers/{id}/volume-attachments`
    ListAttachments,
    /// `PATCH …/servers/{id}/volume-attachments/{id}`, `deleteOnTermination` only.
    PatchAttachment,
    /// `GET …/volumes`
    ListVolumes,
}

impl Operation {
    /// A short name, stable.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GetToken => "get-token",
            Self::ListServers => "list-servers",
            Self::GetServer => "get-server",
            Self::PatchServerLabels => "patch-server-labels",
            Self::ListServerNics => "list-server-nics",
            Self::PatchNic => "patch-nic",
            Self::ListAttachments => "list-attachments",
            Self::PatchAttachment => "patch-attachment",
            Self::ListVolumes => "list-volumes",
        }
    }
}

/// What follows "cannot".
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GetToken => "get an access token",
            Self::ListServers => "list the servers",
            Self::GetServer => "read the server",
            Self::PatchServerLabels => "label the server",
            Self::ListServerNics => "list the network interfaces",
            Self::PatchNic => "set a network interface's allowed addresses",
            Self::ListAttachments => "list the attached volumes",
            Self::PatchAttachment => "set an attached volume's deleteOnTermination",
            Self::ListVolumes => "list the volumes",
        })
    }
}
