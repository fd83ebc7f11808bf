use std::collections::BTreeMap;
use std::future::Future;

use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{
    NetworkId, Nic, NicId, Part, PartId, PartKind, ProjectId, Reason, Region, Server, ServerId, VolumeAttachment,
    VolumeId,
};

use crate::cloud::{Check, CloudError, Clouds as StackitClouds, ProjectClient, ServiceAccountKey};

/// The cloud: makes a client for one project with one key.
pub trait Clouds: Send + Sync + 'static {
    /// The client of a project.
    type Project: Cloud;

    /// A client, which calls nothing yet.
    fn project(&self, project: ProjectId, key: ServiceAccountKey) -> Self::Project;
}

/// One project of the cloud, as the side task uses it. Every call waits for the limits of the project and of the seed.
pub trait Cloud: Sized + Send + Sync + 'static {
    /// The same, whose calls that `check` is for are sent only as long as it lets them: it is asked when their turn has come.
    #[must_use]
    fn checked(&self, check: Check) -> Self;

    /// LIST of all servers of a region.
    fn servers(&self, region: &Region) -> impl Future<Output = Result<Vec<Server>, CloudError>> + Send;

    /// LIST of the servers that carry a label.
    fn servers_with_label(
        &self,
        region: &Region,
        key: &str,
        value: &str,
    ) -> impl Future<Output = Result<Vec<Server>, CloudError>> + Send;

    /// GET of a server.
    fn server(&self, region: &Region, server: ServerId) -> impl Future<Output = Result<Server, CloudError>> + Send;

    /// PATCH of a server's labels: the ones named are set, all others stay.
    fn label(
        &self,
        region: &Region,
        server: ServerId,
        labels: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<Server, CloudError>> + Send;

    /// LIST of all network interfaces, or all volumes, of a region.
    fn parts(&self, region: &Region, kind: PartKind) -> impl Future<Output = Result<Vec<Part>, CloudError>> + Send;

    /// GET of a network interface or a volume.
    fn part(&self, region: &Region, part: PartId) -> impl Future<Output = Result<Part, CloudError>> + Send;

    /// PATCH of the labels of a network interface or a volume: the ones named are set, all others stay.
    fn label_part(
        &self,
        region: &Region,
        part: PartId,
        labels: &BTreeMap<String, String>,
    ) -> impl Future<Output = Result<Part, CloudError>> + Send;

    /// The network interfaces of a server.
    fn nics(&self, region: &Region, server: ServerId) -> impl Future<Output = Result<Vec<Nic>, CloudError>> + Send;

    /// PATCH of an interface's allowed addresses, the whole list.
    fn allow(
        &self,
        region: &Region,
        network: NetworkId,
        nic: NicId,
        addresses: &[String],
    ) -> impl Future<Output = Result<Nic, CloudError>> + Send;

    /// The boot volume of a server.
    fn boot_volume(
        &self,
        region: &Region,
        server: ServerId,
    ) -> impl Future<Output = Result<Option<VolumeId>, CloudError>> + Send;

    /// The volumes that are attached to a server.
    fn attachments(
        &self,
        region: &Region,
        server: ServerId,
    ) -> impl Future<Output = Result<Vec<VolumeAttachment>, CloudError>> + Send;

    /// PATCH of an attachment, so that the volume is deleted together with the server.
    fn delete_with_server(
        &self,
        region: &Region,
        server: ServerId,
        volume: VolumeId,
    ) -> impl Future<Output = Result<VolumeAttachment, CloudError>> + Send;
}

impl Clouds for StackitClouds {
    type Project = ProjectClient;

    fn project(&self, project: ProjectId, key: ServiceAccountKey) -> ProjectClient {
        Self::project(self, project, key)
    }
}

impl Cloud for ProjectClient {
    fn checked(&self, check: Check) -> Self {
        Self::checked(self, check)
    }

    async fn servers(&self, region: &Region) -> Result<Vec<Server>, CloudError> {
        self.list_servers(region).await
    }

    async fn servers_with_label(&self, region: &Region, key: &str, value: &str) -> Result<Vec<Server>, CloudError> {
        self.list_servers_with_label(region, key, value).await
    }

    async fn server(&self, region: &Region, server: ServerId) -> Result<Server, CloudError> {
        self.get_server(region, server).await
    }

    async fn label(
        &self,
        region: &Region,
        server: ServerId,
        labels: &BTreeMap<String, String>,
    ) -> Result<Server, CloudError> {
        self.patch_server_labels(region, server, labels).await
    }

    async fn parts(&self, region: &Region, kind: PartKind) -> Result<Vec<Part>, CloudError> {
        self.list_parts(region, kind).await
    }

    async fn part(&self, region: &Region, part: PartId) -> Result<Part, CloudError> {
        self.get_part(region, part).await
    }

    async fn label_part(
        &self,
        region: &Region,
        part: PartId,
        labels: &BTreeMap<String, String>,
    ) -> Result<Part, CloudError> {
        self.patch_part_labels(region, part, labels).await
    }

    async fn nics(&self, region: &Region, server: ServerId) -> Result<Vec<Nic>, CloudError> {
        self.list_server_nics(region, server).await
    }

    async fn allow(
        &self,
        region: &Region,
        network: NetworkId,
        nic: NicId,
        addresses: &[String],
    ) -> Result<Nic, CloudError> {
        self.patch_nic_allowed_addresses(region, network, nic, addresses).await
    }

    async fn boot_volume(&self, region: &Region, server: ServerId) -> Result<Option<VolumeId>, CloudError> {
        Self::boot_volume(self, region, server).await
    }

    async fn attachments(&self, region: &Region, server: ServerId) -> Result<Vec<VolumeAttachment>, CloudError> {
        self.list_attachments(region, server).await
    }

    async fn delete_with_server(
        &self,
        region: &Region,
        server: ServerId,
        volume: VolumeId,
    ) -> Result<VolumeAttachment, CloudError> {
        self.patch_attachment(region, server, volume, true).await
    }
}

/// What a failed call means for the Machine, the region or the project that it was for.
#[must_use]
pub fn because(error: &CloudError) -> Because {
    let reason = match error {
        CloudError::CalledOff(_) => Reason::WriteFailed,
        CloudError::Gone(_) => Reason::ServerGone,
        CloudError::Conflict(_) => Reason::ServerDeferred,
        CloudError::Unauthorized(_) | CloudError::Key(_) => Reason::CredentialsInvalid,
        CloudError::Forbidden(_) => Reason::CloudForbidden,
        CloudError::BadRequest { label_pattern: true, .. } => Reason::LabelRefused,
        CloudError::BadRequest { .. } | CloudError::NotFound(_) => Reason::CloudRefused,
        CloudError::RateLimited { .. }
        | CloudError::Unavailable(_)
        | CloudError::Untrusted(_)
        | CloudError::Incomplete(_)
        | CloudError::Unreadable(_)
        | CloudError::Unexpected(_) => Reason::CloudUnavailable,
    };
    Because::about(reason, error.to_string())
}
