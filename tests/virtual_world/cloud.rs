//! The cloud.

use std::collections::BTreeMap;
use std::time::Duration;

use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{
    NetworkId, Nic, NicId, Part, PartId, PartKind, ProjectId, Region, Server, ServerId, ServerStatus,
    StackitProviderId, VolumeAttachment, VolumeId,
};
use mcm_migration_core::plan::Moment;
use mcm_migration_webhook::cloud::{Check, CloudError, Failure, Operation, ServiceAccountKey};
use mcm_migration_webhook::sidetask::{Cloud, Clouds};
use rand::RngExt;

use crate::fault::Fault;
use crate::network::{self, To};
use crate::time::awake;
use crate::world::{Shared, World, lock};

/// The cloud, as one replica reaches it.
pub struct VirtualClouds {
    pub world: Shared,
    pub replica: usize,
}

/// One project. All servers of the world lie in it, also those of other shoots and of nobody.
pub struct VirtualProject {
    world: Shared,
    replica: usize,
    id: ProjectId,
    check: Option<Check>,
}

impl Clouds for VirtualClouds {
    type Project = VirtualProject;

    fn project(&self, project: ProjectId, _: ServiceAccountKey) -> VirtualProject {
        VirtualProject { world: self.world.clone(), replica: self.replica, id: project, check: None }
    }
}

impl VirtualProject {
    fn failure(&self, operation: Operation, server: Option<ServerId>) -> Box<Failure> {
        Box::new(Failure {
            operation,
            project: self.id,
            server,
            status: None,
            request_id: None,
            trace_id: None,
            attempts: 1,
            message: "by the test".into(),
        })
    }

    async fn read<T>(
        &self,
        operation: Operation,
        server: Option<ServerId>,
        read: impl FnOnce(&mut World) -> Result<T, CloudError>,
    ) -> Result<T, CloudError> {
        let what = format!("{operation:?} {}", server.map(|server| server.to_string()).unwrap_or_default());
        let answer = network::read(&self.world, self.replica, To::Cloud, &what, read).await;
        answer.unwrap_or_else(|| Err(CloudError::Unavailable(self.failure(operation, server))))
    }

    /// As the real client does it, the check is asked when the turn of the write has come: the limits let it wait, sometimes for long.
    async fn write<T: Send + 'static>(
        &self,
        operation: Operation,
        server: ServerId,
        write: impl FnMut(&mut World, Moment) -> Option<T> + Send + 'static,
    ) -> Result<T, CloudError> {
        let queue = {
            let mut world = lock(&self.world);
            // What is asked after a wait matters the more, the more waits there are.
            let often = if world.fault == Some(Fault::CheckBeforeLabel) { 1.0 } else { 0.2 };
            let busy = world.weather.lost > 0.0 && world.chance(often);
            Duration::from_millis(if busy { world.rng.random_range(1000..150_000) } else { 0 })
        };
        tokio::time::sleep(queue).await;
        awake(&self.world, self.replica).await;
        if let Some(check) = &self.check
            && lock(&self.world).fault != Some(Fault::CheckBeforeLabel)
        {
            check.ask().await.map_err(|_| CloudError::CalledOff(self.failure(operation, Some(server))))?;
        }
        let mut write = write;
        let carry_out = move |world: &mut World, decided| write(world, decided).ok_or("the server is gone");
        let what = format!("{operation:?} {server}");
        match network::write(&self.world, self.replica, To::Cloud, what, carry_out).await {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(_)) => Err(CloudError::Gone(self.failure(operation, Some(server)))),
            None => Err(CloudError::Unavailable(self.failure(operation, Some(server)))),
        }
    }

    fn find(&self, world: &World, operation: Operation, server: ServerId) -> Result<Server, CloudError> {
        let found = world.servers.get(&server).cloned();
        found.ok_or_else(|| CloudError::Gone(self.failure(operation, Some(server))))
    }
}

impl Cloud for VirtualProject {
    fn checked(&self, check: Check) -> Self {
        Self { world: self.world.clone(), replica: self.replica, id: self.id, check: Some(check) }
    }

    async fn servers(&self, _: &Region) -> Result<Vec<Server>, CloudError> {
        self.read(Operation::ListServers, None, |world| {
            world.lists += 1;
            let old_lists = world.weather.old_lists;
            let old = world.chance(old_lists);
            let servers = if old { &world.old_servers } else { &world.servers };
            let mut servers: Vec<_> = servers.values().cloned().collect();
            if world.chance(old_lists) {
                // As when a page boundary moves while the pages are read.
                servers.extend(servers.first().cloned());
            }
            Ok(servers)
        })
        .await
    }

    async fn servers_with_label(&self, _: &Region, key: &str, value: &str) -> Result<Vec<Server>, CloudError> {
        self.read(Operation::ListServers, None, |world| {
            let has = |server: &&Server| server.labels.get(key).is_some_and(|label| &**label == value);
            Ok(world.servers.values().filter(has).cloned().collect())
        })
        .await
    }

    async fn server(&self, _: &Region, server: ServerId) -> Result<Server, CloudError> {
        self.read(Operation::GetServer, Some(server), |world| self.find(world, Operation::GetServer, server)).await
    }

    async fn label(
        &self,
        _: &Region,
        server: ServerId,
        labels: &BTreeMap<String, String>,
    ) -> Result<Server, CloudError> {
        let (project, labels) = (self.id, labels.clone());
        self.write(Operation::PatchServerLabels, server, move |world, decided| {
            world.label_calls += 1;
            judge_label(world, project, server, decided);
            let server = world.servers.get_mut(&server)?;
            server.labels.extend(labels.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())));
            Some(server.clone())
        })
        .await
    }

    // Every interface and volume here was made along with its server, so there is nothing to label.
    async fn parts(&self, _: &Region, _: PartKind) -> Result<Vec<Part>, CloudError> {
        self.read(Operation::ListNics, None, |_| Ok(Vec::new())).await
    }

    async fn part(&self, _: &Region, _: PartId) -> Result<Part, CloudError> {
        Err(CloudError::NotFound(self.failure(Operation::GetNic, None)))
    }

    async fn label_part(&self, _: &Region, _: PartId, _: &BTreeMap<String, String>) -> Result<Part, CloudError> {
        Err(CloudError::NotFound(self.failure(Operation::PatchNicLabels, None)))
    }

    async fn nics(&self, _: &Region, server: ServerId) -> Result<Vec<Nic>, CloudError> {
        self.read(Operation::ListServerNics, Some(server), |world| {
            self.find(world, Operation::ListServerNics, server)?;
            let id = server.to_string();
            let labels = &world.servers[&server].labels;
            let allowed = labels.get("test/allowed").map(|allowed| allowed.split(' ').map(str::to_owned).collect());
            Ok(vec![Nic {
                id: NicId::parse(&id).unwrap(),
                network: crate::shoots::network(),
                allowed_addresses: allowed.unwrap_or_default(),
            }])
        })
        .await
    }

    async fn allow(&self, _: &Region, network: NetworkId, nic: NicId, addresses: &[String]) -> Result<Nic, CloudError> {
        let (server, addresses) = (ServerId::parse(nic.as_str()).unwrap(), addresses.to_vec());
        self.write(Operation::PatchNic, server, move |world, decided| {
            judge(world, server, "an address was added", false, decided);
            if let Some(server) = world.servers.get_mut(&server) {
                server.labels.insert("test/allowed".into(), addresses.join(" ").into());
            }
            Some(Nic { id: nic, network, allowed_addresses: addresses.clone() })
        })
        .await
    }

    async fn boot_volume(&self, _: &Region, server: ServerId) -> Result<Option<VolumeId>, CloudError> {
        Ok(VolumeId::parse(server.as_str()).ok())
    }

    async fn attachments(&self, _: &Region, server: ServerId) -> Result<Vec<VolumeAttachment>, CloudError> {
        Ok(vec![VolumeAttachment { volume: VolumeId::parse(server.as_str()).unwrap(), delete_on_termination: false }])
    }

    async fn delete_with_server(
        &self,
        _: &Region,
        _: ServerId,
        volume: VolumeId,
    ) -> Result<VolumeAttachment, CloudError> {
        Ok(VolumeAttachment { volume, delete_on_termination: true })
    }
}

/// A server that the OpenStack provider made.
pub fn server(id: ServerId, name: &str, status: ServerStatus) -> Server {
    Server { id, name: name.into(), status, labels: BTreeMap::new() }
}

/// How much older than its sending that may be which a write to the cloud was decided on: whose the shoot is counts for a second; then come
/// reads of the API server.
fn margin(world: &World) -> Duration {
    Duration::from_secs(2) + world.longest_call() * 4
}

/// The shoot that a server belongs to, by its name.
fn shoot_of(world: &World, server: ServerId) -> Option<Box<str>> {
    let name = &world.servers.get(&server)?.name;
    world.shoots.keys().find(|namespace| name.starts_with(&***namespace)).cloned()
}

/// A write reaches a server: whether it may.
fn judge(world: &mut World, server: ServerId, what: &str, labels: bool, decided: Moment) {
    let Some(namespace) = shoot_of(world, server) else { return };
    let margin = margin(world);
    world.judge(&namespace, what, labels, decided, margin);
    if labels {
        let then = world.at(&namespace, decided.saturating_sub(margin + world.lag));
        let now = world.at(&namespace, decided);
        if let (Some(why), Some(_)) = (now.openstack_remains().next(), then.openstack_remains().next()) {
            world.violate(&format!("{what} while {why}"));
        }
    }
}

fn judge_label(world: &mut World, project: ProjectId, server: ServerId, decided: Moment) {
    judge(world, server, "a label was set", true, decided);
    if !world.servers.contains_key(&server) {
        return;
    }
    // No label but on the server of a Machine whose persisted ID was this very one.
    let id = StackitProviderId { project, server }.to_string();
    let has_id = |facts: &NamespaceFacts| facts.machines.values().any(|machine| *machine.provider_id == *id);
    let margin = margin(world);
    let named = world.shoots.keys().any(|namespace| {
        has_id(&world.at(namespace, decided)) || has_id(&world.at(namespace, decided.saturating_sub(margin)))
    });
    if !named {
        world.violate(&format!("server {server} was labelled and no Machine had the ID {id}"));
    }
}
