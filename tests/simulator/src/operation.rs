//! The calls that the simulator answers.

/// One kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `POST /token`
    Token,
    /// `GET …/servers` without a selector
    ListServers,
    /// `GET …/servers?label_selector=…`
    ListServersBySelector,
    /// `GET …/servers/{id}`
    GetServer,
    /// `PATCH …/servers/{id}`
    PatchServer,
    /// `POST …/servers`
    CreateServer,
    /// `DELETE …/servers/{id}`
    DeleteServer,
    /// `GET …/servers/{id}/nics`
    ListServerNics,
    /// `GET …/nics`
    ListProjectNics,
    /// `GET …/networks/{id}/nics`
    ListNetworkNics,
    /// `GET …/networks/{id}/nics/{id}`
    GetNic,
    /// `PATCH …/networks/{id}/nics/{id}`
    PatchNic,
    /// `DELETE …/networks/{id}/nics/{id}`
    DeleteNic,
    /// `GET …/volumes`
    ListVolumes,
    /// `GET …/volumes/{id}`
    GetVolume,
    /// `PATCH …/volumes/{id}`
    PatchVolume,
    /// `DELETE …/volumes/{id}`
    DeleteVolume,
    /// `GET …/servers/{id}/volume-attachments`
    ListAttachments,
    /// `GET …/servers/{id}/volume-attachments/{id}`
    GetAttachment,
    /// `PATCH …/servers/{id}/volume-attachments/{id}`
    PatchAttachment,
    /// Anything else. It is answered with 404, kept in the journal, and not part of [`Operation::ALL`].
    Unknown,
}

impl Operation {
    /// Every call that the simulator understands.
    pub const ALL: [Self; 20] = [
        Self::Token,
        Self::ListServers,
        Self::ListServersBySelector,
        Self::GetServer,
        Self::PatchServer,
        Self::CreateServer,
        Self::DeleteServer,
        Self::ListServerNics,
        Self::ListProjectNics,
        Self::ListNetworkNics,
        Self::GetNic,
        Self::PatchNic,
        Self::DeleteNic,
        Self::ListVolumes,
        Self::GetVolume,
        Self::PatchVolume,
        Self::DeleteVolume,
        Self::ListAttachments,
        Self::GetAttachment,
        Self::PatchAttachment,
    ];

    /// Whether the answer is `{"items": […]}`.
    #[must_use]
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::ListServers
                | Self::ListServersBySelector
                | Self::ListServerNics
                | Self::ListProjectNics
                | Self::ListNetworkNics
                | Self::ListVolumes
                | Self::ListAttachments
        )
    }

    /// Whether the call changes something in a project.
    #[must_use]
    pub fn is_write(self) -> bool {
        matches!(
            self,
            Self::PatchServer
                | Self::CreateServer
                | Self::DeleteServer
                | Self::PatchNic
                | Self::DeleteNic
                | Self::PatchVolume
                | Self::DeleteVolume
                | Self::PatchAttachment
        )
    }
}
