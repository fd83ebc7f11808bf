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
    /// `GET …/volumes/{id}`
    GetVolume,
    /// `PATCH …/volumes/{id}`, labels only.
    PatchVolumeLabels,
    /// `DELETE …/volumes/{id}`
    DeleteVolume,
    /// `GET …/nics`
    ListNics,
    /// `GET …/networks/{id}/nics/{id}`
    GetNic,
    /// `PATCH …/networks/{id}/nics/{id}`, labels only.
    PatchNicLabels,
    /// `DELETE …/networks/{id}/nics/{id}`
    DeleteNic,
}

impl Operation {
    /// Whether it reads all servers, network interfaces or volumes of a region.
    pub(super) fn is_list_of_region(self) -> bool {
        matches!(self, Self::ListServers | Self::ListVolumes | Self::ListNics)
    }

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
            Self::GetVolume => "get-volume",
            Self::PatchVolumeLabels => "patch-volume-labels",
            Self::DeleteVolume => "delete-volume",
            Self::ListNics => "list-nics",
            Self::GetNic => "get-nic",
            Self::PatchNicLabels => "patch-nic-labels",
            Self::DeleteNic => "delete-nic",
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
            Self::GetVolume => "read the volume",
            Self::PatchVolumeLabels => "label the volume",
            Self::DeleteVolume => "delete the volume",
            Self::ListNics => "list the project's network interfaces",
            Self::GetNic => "read the network interface",
            Self::PatchNicLabels => "label the network interface",
            Self::DeleteNic => "delete the network interface",
        })
    }
}
