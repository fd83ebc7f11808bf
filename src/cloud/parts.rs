//! Calls for network interfaces and volumes as *parts*: what the OpenStack provider made apart for a server.

use std::collections::{BTreeMap, BTreeSet};

use mcm_migration_core::domain::{Part, PartId, PartKind, Region, ServerId};
use reqwest::Url;
use serde_json::{Value, json};

use super::exchange::{Call, Method};
use super::wire::{NicPart, VolumePart};
use super::{CloudError, Operation, ProjectClient};

impl ProjectClient {
    /// All network interfaces, or all volumes, of the region. Their order means nothing.
    ///
    /// # Errors
    /// As [`Self::list_servers`].
    pub async fn list_parts(&self, region: &Region, kind: PartKind) -> Result<Vec<Part>, CloudError> {
        let (operation, parts): (_, Vec<Part>) = match kind {
            PartKind::Nic => {
                let url = self.url(region, &["nics"]);
                let nics: Vec<NicPart> = self.list(Operation::ListNics, None, url).await?;
                (Operation::ListNics, nics.into_iter().map(|nic| nic.0).collect())
            }
            PartKind::Volume => {
                let url = self.url(region, &["volumes"]);
                let volumes: Vec<VolumePart> = self.list(Operation::ListVolumes, None, url).await?;
                (Operation::ListVolumes, volumes.into_iter().map(|volume| volume.0).collect())
            }
        };
        self.each_once(operation, None, parts, |part| part.id)
    }

    /// One network interface or volume.
    ///
    /// # Errors
    /// As the classes of [`CloudError`] say; a 404 is [`CloudError::NotFound`].
    pub async fn get_part(&self, region: &Region, part: PartId) -> Result<Part, CloudError> {
        let operation = match part.kind() {
            PartKind::Nic => Operation::GetNic,
            PartKind::Volume => Operation::GetVolume,
        };
        self.one(operation, region, part, Method::Get).await
    }

    /// Sets labels of a network interface or a volume; its other labels stay (the API merges). Returns it as the API shows it then.
    ///
    /// # Errors
    /// As [`Self::patch_server_labels`].
    pub async fn patch_part_labels(
        &self,
        region: &Region,
        part: PartId,
        labels: &BTreeMap<String, String>,
    ) -> Result<Part, CloudError> {
        let operation = Self::labelling(part);
        if labels.is_empty() {
            return Err(self.refuse(operation, None, "no label is to be set"));
        }
        for (key, value) in labels {
            self.check_label(operation, None, key, value)?;
        }
        self.one(operation, region, part, Method::Patch(json!({ "labels": labels }))).await
    }

    /// Takes labels off a network interface or a volume; its other labels stay. Returns it as the API shows it then.
    ///
    /// # Errors
    /// [`CloudError::BadRequest`], before anything is sent, when no key is named; else as the other classes say.
    pub async fn remove_part_labels(
        &self,
        region: &Region,
        part: PartId,
        keys: &BTreeSet<String>,
    ) -> Result<Part, CloudError> {
        let operation = Self::labelling(part);
        let body = self.removal(operation, None, keys)?;
        self.one(operation, region, part, Method::Patch(body)).await
    }

    /// Deletes a network interface or a volume. The API refuses with 409 while something uses it.
    ///
    /// # Errors
    /// [`CloudError::Conflict`] when it is in use; [`CloudError::NotFound`] when it may be gone already; else as the other classes say.
    pub async fn delete_part(&self, region: &Region, part: PartId) -> Result<(), CloudError> {
        let operation = match part.kind() {
            PartKind::Nic => Operation::DeleteNic,
            PartKind::Volume => Operation::DeleteVolume,
        };
        let call = Call { operation, server: None, url: self.part_url(region, part), method: Method::Delete };
        self.project.call(&call, self.check.as_ref()).await.map(drop)
    }

    /// The body that takes labels off: the API removes a key whose value is `null` (iaas v2, `Labels`).
    pub(super) fn removal(
        &self,
        operation: Operation,
        server: Option<ServerId>,
        keys: &BTreeSet<String>,
    ) -> Result<Value, CloudError> {
        if keys.is_empty() {
            return Err(self.refuse(operation, server, "no label is to be taken off"));
        }
        for key in keys {
            self.check_label(operation, server, key, "")?;
        }
        let labels: serde_json::Map<String, Value> = keys.iter().map(|key| (key.clone(), Value::Null)).collect();
        Ok(json!({ "labels": labels }))
    }

    fn labelling(part: PartId) -> Operation {
        match part.kind() {
            PartKind::Nic => Operation::PatchNicLabels,
            PartKind::Volume => Operation::PatchVolumeLabels,
        }
    }

    async fn one(
        &self,
        operation: Operation,
        region: &Region,
        part: PartId,
        method: Method,
    ) -> Result<Part, CloudError> {
        let call = Call { operation, server: None, url: self.part_url(region, part), method };
        let found = match part.kind() {
            PartKind::Nic => self.object::<NicPart>(call).await?.0,
            PartKind::Volume => self.object::<VolumePart>(call).await?.0,
        };
        if found.id != part {
            return Err(self.unreadable(operation, None, &format!("the answer shows another, {}", found.id)));
        }
        Ok(found)
    }

    fn part_url(&self, region: &Region, part: PartId) -> Url {
        match part {
            PartId::Nic { network, nic } => self.url(region, &["networks", network.as_str(), "nics", nic.as_str()]),
            PartId::Volume(volume) => self.url(region, &["volumes", volume.as_str()]),
        }
    }
}
