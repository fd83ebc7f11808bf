use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use mcm_migration_core::domain::{
    NetworkId, Nic, NicId, ProjectId, Region, Server, ServerId, VolumeAttachment, VolumeId,
};
use reqwest::Url;
use serde_json::json;

use super::exchange::{Call, Method, Project};
use super::judge::Target;
use super::list::{ListFault, read_list};
use super::transport::Answer;
use super::wire::{AttachedNic, BootVolume, Item, ServerAttachment};
use super::{Check, CloudError, Operation, ServiceAccountKey, Volume, labels};

/// The calls to one project's part of the IaaS API, with one key. Clones share the token.
///
/// Each call waits for its turn, tries again what may go better, and gives up at its deadline. To drop the future is safe
/// at any time; a write may then have been done or not.
#[derive(Clone)]
pub struct ProjectClient {
    pub(super) project: Arc<Project>,
    pub(super) check: Option<Check>,
}

impl ProjectClient {
    pub(super) fn new(project: Project) -> Self {
        Self { project: Arc::new(project), check: None }
    }

    /// The same client, whose calls that `check` is for are sent only as long as it lets them.
    #[must_use]
    pub fn checked(&self, check: Check) -> Self {
        Self { project: Arc::clone(&self.project), check: Some(check) }
    }

    /// The project.
    #[must_use]
    pub fn project(&self) -> ProjectId {
        self.project.id()
    }

    /// The key, to be compared with what its Secret holds now.
    #[must_use]
    pub fn key(&self) -> &ServiceAccountKey {
        self.project.key()
    }

    /// All servers of the region. Their order means nothing.
    ///
    /// # Errors
    /// [`CloudError`]; a list that is not whole or not readable is one.
    pub async fn list_servers(&self, region: &Region) -> Result<Vec<Server>, CloudError> {
        let url = self.url(region, &["servers"]);
        let servers: Vec<Server> = self.list(Operation::ListServers, None, url).await?;
        self.each_once(Operation::ListServers, None, servers, |server| server.id)
    }

    /// The servers of the region that carry the label. The API is asked for them alone, and its answer is filtered again.
    ///
    /// # Errors
    /// As [`Self::list_servers`]; [`CloudError::BadRequest`] when it is no label.
    pub async fn list_servers_with_label(
        &self,
        region: &Region,
        key: &str,
        value: &str,
    ) -> Result<Vec<Server>, CloudError> {
        self.check_label(Operation::ListServers, None, key, value)?;
        let mut url = self.url(region, &["servers"]);
        url.query_pairs_mut().append_pair("label_selector", &format!("{key}={value}"));
        let mut servers: Vec<Server> = self.list(Operation::ListServers, None, url).await?;
        servers.retain(|server| server.labels.get(key).is_some_and(|found| **found == *value));
        self.each_once(Operation::ListServers, None, servers, |server| server.id)
    }

    /// One server.
    ///
    /// # Errors
    /// [`CloudError::Gone`] when the API says that there is no such server; else as the other classes say.
    pub async fn get_server(&self, region: &Region, server: ServerId) -> Result<Server, CloudError> {
        let found: Server = self.server(Operation::GetServer, region, server, Method::Get).await?;
        self.same(Operation::GetServer, server, found.id)?;
        Ok(found)
    }

    /// Sets labels of a server; its other labels stay (the API merges). Returns the server as the API shows it then.
    ///
    /// # Errors
    /// [`CloudError::BadRequest`], before anything is sent, for an empty map and for a label that the API would refuse;
    /// else as the other classes say.
    pub async fn patch_server_labels(
        &self,
        region: &Region,
        server: ServerId,
        labels: &BTreeMap<String, String>,
    ) -> Result<Server, CloudError> {
        let operation = Operation::PatchServerLabels;
        if labels.is_empty() {
            return Err(self.refuse(operation, Some(server), "no label is to be set"));
        }
        for (key, value) in labels {
            self.check_label(operation, Some(server), key, value)?;
        }
        let found: Server = self.server(operation, region, server, Method::Patch(json!({ "labels": labels }))).await?;
        self.same(operation, server, found.id)?;
        Ok(found)
    }

    /// Takes labels off a server: a `null` for each key, and no other key is named. Returns the server as the API shows it then.
    ///
    /// # Errors
    /// As [`Self::patch_server_labels`].
    pub async fn remove_server_labels(
        &self,
        region: &Region,
        server: ServerId,
        keys: &BTreeSet<String>,
    ) -> Result<Server, CloudError> {
        let operation = Operation::PatchServerLabels;
        let body = self.removal(operation, Some(server), keys)?;
        let found: Server = self.server(operation, region, server, Method::Patch(body)).await?;
        self.same(operation, server, found.id)?;
        Ok(found)
    }

    /// The network interfaces of a server.
    ///
    /// # Errors
    /// As [`Self::get_server`] and [`Self::list_servers`].
    pub async fn list_server_nics(&self, region: &Region, server: ServerId) -> Result<Vec<Nic>, CloudError> {
        let url = self.url(region, &["servers", server.as_str(), "nics"]);
        let mut nics: Vec<AttachedNic> = self.list(Operation::ListServerNics, Some(server), url).await?;
        nics.retain(|nic| nic.device.is_none_or(|device| device == server));
        let nics = nics.into_iter().map(|nic| nic.nic).collect();
        self.each_once(Operation::ListServerNics, Some(server), nics, |nic| nic.id)
    }

    /// Sets all allowed addresses of a network interface. Returns it as the API shows it then.
    ///
    /// # Errors
    /// As the classes of [`CloudError`] say.
    pub async fn patch_nic_allowed_addresses(
        &self,
        region: &Region,
        network: NetworkId,
        nic: NicId,
        addresses: &[String],
    ) -> Result<Nic, CloudError> {
        let operation = Operation::PatchNic;
        let url = self.url(region, &["networks", network.as_str(), "nics", nic.as_str()]);
        let method = Method::Patch(json!({ "allowedAddresses": addresses }));
        let found: AttachedNic = self.object(Call { operation, server: None, url, method }).await?;
        if (found.nic.id, found.nic.network) != (nic, network) {
            return Err(self.unreadable(operation, None, "the answer shows another network interface"));
        }
        Ok(found.nic)
    }

    /// The volumes that are attached to a server.
    ///
    /// # Errors
    /// As [`Self::get_server`] and [`Self::list_servers`].
    pub async fn list_attachments(
        &self,
        region: &Region,
        server: ServerId,
    ) -> Result<Vec<VolumeAttachment>, CloudError> {
        let operation = Operation::ListAttachments;
        let url = self.url(region, &["servers", server.as_str(), "volume-attachments"]);
        let mut found: Vec<ServerAttachment> = self.list(operation, Some(server), url).await?;
        found.retain(|it| it.server.is_none_or(|other| other == server));
        let attachments = found.into_iter().map(|it| it.attachment).collect();
        self.each_once(operation, Some(server), attachments, |attachment| attachment.volume)
    }

    /// The volume that a server boots from; none when it boots from something else.
    ///
    /// # Errors
    /// As [`Self::get_server`].
    pub async fn boot_volume(&self, region: &Region, server: ServerId) -> Result<Option<VolumeId>, CloudError> {
        let found: BootVolume = self.server(Operation::GetServer, region, server, Method::Get).await?;
        self.same(Operation::GetServer, server, found.server)?;
        Ok(found.volume)
    }

    /// All volumes of the region.
    ///
    /// # Errors
    /// As [`Self::list_servers`].
    pub async fn list_volumes(&self, region: &Region) -> Result<Vec<Volume>, CloudError> {
        let volumes: Vec<Volume> = self.list(Operation::ListVolumes, None, self.url(region, &["volumes"])).await?;
        self.each_once(Operation::ListVolumes, None, volumes, |volume| volume.id)
    }

    /// Says whether a volume is deleted together with the server that it is attached to. Returns the attachment as the API
    /// shows it then.
    ///
    /// # Errors
    /// As the classes of [`CloudError`] say; a 404 is never [`CloudError::Gone`] here, for it can mean the attachment.
    pub async fn patch_attachment(
        &self,
        region: &Region,
        server: ServerId,
        volume: VolumeId,
        delete_on_termination: bool,
    ) -> Result<VolumeAttachment, CloudError> {
        let operation = Operation::PatchAttachment;
        let url = self.url(region, &["servers", server.as_str(), "volume-attachments", volume.as_str()]);
        let method = Method::Patch(json!({ "deleteOnTermination": delete_on_termination }));
        let found: ServerAttachment = self.object(Call { operation, server: Some(server), url, method }).await?;
        if found.attachment.volume != volume || found.server.is_some_and(|other| other != server) {
            return Err(self.unreadable(operation, Some(server), "the answer shows another attachment"));
        }
        Ok(found.attachment)
    }

    pub(super) fn url(&self, region: &Region, rest: &[&str]) -> Url {
        let id = self.project.id();
        let parent = ["v2", "projects", id.as_str(), "regions", region.as_str()];
        self.project.iaas().join(parent.iter().chain(rest).copied())
    }

    async fn server<T: Item>(
        &self,
        operation: Operation,
        region: &Region,
        server: ServerId,
        method: Method,
    ) -> Result<T, CloudError> {
        let url = self.url(region, &["servers", server.as_str()]);
        self.object(Call { operation, server: Some(server), url, method }).await
    }

    pub(super) async fn object<T: Item>(&self, call: Call) -> Result<T, CloudError> {
        let (answer, tries) = self.project.call(&call, self.check.as_ref()).await?;
        let text = std::str::from_utf8(&answer.body).unwrap_or_default();
        T::read(text).map_err(|flaw| {
            let target = self.target(call.operation, call.server);
            CloudError::Unreadable(target.failure_of(tries, &answer, format!("the answer {flaw}")))
        })
    }

    pub(super) async fn list<T: Item>(
        &self,
        operation: Operation,
        server: Option<ServerId>,
        url: Url,
    ) -> Result<Vec<T>, CloudError> {
        let (answer, tries) =
            self.project.call(&Call { operation, server, url, method: Method::Get }, self.check.as_ref()).await?;
        read_whole(&answer).map_err(|fault| {
            let failure = self.target(operation, server).failure_of(tries, &answer, fault.to_string());
            if matches!(fault, ListFault::Part(_)) {
                CloudError::Incomplete(failure)
            } else {
                CloudError::Unreadable(failure)
            }
        })
    }

    /// A list that names an object twice was put together while it changed: another one can be missing from it.
    pub(super) fn each_once<T, Id: Ord + fmt::Display>(
        &self,
        operation: Operation,
        server: Option<ServerId>,
        items: Vec<T>,
        id: impl Fn(&T) -> Id,
    ) -> Result<Vec<T>, CloudError> {
        let mut seen = BTreeSet::new();
        for item in &items {
            let id = id(item);
            if seen.contains(&id) {
                return Err(self.unreadable(operation, server, &format!("the list names {id} twice")));
            }
            seen.insert(id);
        }
        Ok(items)
    }

    fn same(&self, operation: Operation, asked: ServerId, found: ServerId) -> Result<(), CloudError> {
        if asked == found {
            return Ok(());
        }
        Err(self.unreadable(operation, Some(asked), &format!("the answer shows another server, {found}")))
    }

    pub(super) fn check_label(
        &self,
        operation: Operation,
        server: Option<ServerId>,
        key: &str,
        value: &str,
    ) -> Result<(), CloudError> {
        labels::check(key, value).map_err(|fault| self.refuse(operation, server, &format!("{key}={value}: {fault}")))
    }

    /// Refuses what is asked for, before anything is sent.
    pub(super) fn refuse(&self, operation: Operation, server: Option<ServerId>, message: &str) -> CloudError {
        let failure = self.target(operation, server).failure(0, super::message::clean(message));
        CloudError::BadRequest { label_pattern: false, failure }
    }

    pub(super) fn unreadable(&self, operation: Operation, server: Option<ServerId>, message: &str) -> CloudError {
        CloudError::Unreadable(self.target(operation, server).failure(1, message))
    }

    pub(super) fn target(&self, operation: Operation, server: Option<ServerId>) -> Target {
        Target { operation, project: self.project.id(), server }
    }
}

fn read_whole<T: Item>(answer: &Answer) -> Result<Vec<T>, ListFault> {
    if answer.has_next { Err(ListFault::Part("a Link header".into())) } else { read_list(&answer.body) }
}

impl fmt::Debug for ProjectClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProjectClient")
            .field("project", &self.project())
            .field("key", self.key())
            .finish_non_exhaustive()
    }
}
