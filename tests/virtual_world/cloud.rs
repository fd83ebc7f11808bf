//! The cloud.

use std::collections::BTreeMap;
use std::time::Duration;

use mcm_migration_core::decide::NamespaceFacts;
use mcm_migration_core::domain::{
    NetworkId, Nic, NicId, Part, PartId, PartKind, ProjectId, Region, Server, ServerId, ServerStatus,
    StackitProviderId, VolumeAttachment, VolumeId,
};
use mcm_migration_webhook::cloud::{Check, CloudError, Failure, Operation, ServiceAccountKey};
use mcm_migration_webhook::sidetask::{Cloud, Clouds};
use rand::RngExt;

use super::{Shared, World, lock};

pub struct VirtualClouds(pub Shared);
pub struct VirtualProject(Shared, ProjectId, Option<Check>);

impl Clouds for VirtualClouds {
    type Project = VirtualProject;

    fn project(&self, project: ProjectId, _: ServiceAccountKey) -> VirtualProject {
        VirtualProject(self.0.clone(), project, None)
    }
}

impl VirtualProject {
    fn failure(&self, operation: Operation, server: Option<ServerId>) -> Box<Failure> {
        Box::new(Failure {
            operation,
            project: self.1,
            server,
            status: None,
            request_id: None,
            trace_id: None,
            attempts: 1,
            message: "by the test".into(),
        })
    }

    async fn call<T>(
        &self,
        operation: Operation,
        server: Option<ServerId>,
        answer: impl FnOnce(&mut World) -> Result<T, CloudError>,
    ) -> Result<T, CloudError> {
        let (pause, before, after) = {
            let mut world = lock(&self.0);
            world.steps += 1;
            let chaos = world.chaos;
            let pause = Duration::from_millis(world.rng.random_range(20..=if chaos > 0.0 { 3000 } else { 60 }));
            (pause, world.chance(chaos), world.chance(chaos))
        };
        tokio::time::sleep(pause).await;
        if before {
            return Err(CloudError::Unavailable(self.failure(operation, server)));
        }
        let answer = answer(&mut lock(&self.0));
        if after { Err(CloudError::Unavailable(self.failure(operation, server))) } else { answer }
    }

    /// As the real client does it: when the turn of a write has come.
    async fn ask(&self, operation: Operation, server: Option<ServerId>) -> Result<(), CloudError> {
        let Some(check) = &self.2 else { return Ok(()) };
        check.ask().await.map_err(|_| CloudError::CalledOff(self.failure(operation, server)))?;
        lock(&self.0).sent("a write to the cloud");
        Ok(())
    }

    /// A write reaches the servers: of whose shoot, and whether it may.
    fn judge(&self, world: &mut World, what: &str, labels: bool) {
        let owner = world.shoots.iter().find(|(_, objects)| objects.facts.project == Some(self.1));
        let Some(namespace) = owner.map(|(namespace, _)| namespace.clone()) else { return };
        // The answer on whose it is counts for a second; then come reads of the API server, and the call itself.
        let in_flight = Duration::from_secs(5) + world.longest_call() * 3;
        world.judge(&namespace, what, labels, in_flight);
        if labels {
            let then = world.as_of(&namespace, in_flight + world.lag);
            let remains = world.shoots[&namespace].facts.openstack_remains().next();
            if let (Some(why), Some(_)) = (remains, then.openstack_remains().next()) {
                world.violations.push(format!("{what} while {why}"));
            }
        }
    }

    fn find(&self, world: &World, operation: Operation, server: ServerId) -> Result<Server, CloudError> {
        let found = world.servers.get(&server).cloned();
        found.ok_or_else(|| CloudError::Gone(self.failure(operation, Some(server))))
    }
}

impl Cloud for VirtualProject {
    fn checked(&self, check: Check) -> Self {
        Self(self.0.clone(), self.1, Some(check))
    }

    async fn servers(&self, _: &Region) -> Result<Vec<Server>, CloudError> {
        self.call(Operation::ListServers, None, |world| {
            world.lists += 1;
            Ok(world.servers.values().cloned().collect())
        })
        .await
    }

    async fn servers_with_label(&self, _: &Region, key: &str, value: &str) -> Result<Vec<Server>, CloudError> {
        self.call(Operation::ListServers, None, |world| {
            let has = |server: &&Server| server.labels.get(key).is_some_and(|label| &**label == value);
            Ok(world.servers.values().filter(has).cloned().collect())
        })
        .await
    }

    async fn server(&self, _: &Region, server: ServerId) -> Result<Server, CloudError> {
        self.call(Operation::GetServer, Some(server), |world| self.find(world, Operation::GetServer, server)).await
    }

    async fn label(
        &self,
        _: &Region,
        server: ServerId,
        labels: &BTreeMap<String, String>,
    ) -> Result<Server, CloudError> {
        self.ask(Operation::PatchServerLabels, Some(server)).await?;
        self.call(Operation::PatchServerLabels, Some(server), |world| {
            world.label_calls += 1;
            self.judge(world, "a label was set", true);
            self.find(world, Operation::PatchServerLabels, server)?;
            // No label but on the server of a Machine whose persisted ID is this very one.
            let project = self.1;
            let id = StackitProviderId { project, server }.to_string();
            let has_id = |facts: &NamespaceFacts| facts.machines.values().any(|machine| *machine.provider_id == *id);
            let in_flight = Duration::from_secs(4) + world.longest_call() * 2;
            let namespaces: Vec<_> = world.shoots.keys().cloned().collect();
            let named = namespaces
                .iter()
                .any(|namespace| has_id(&world.shoots[namespace].facts) || has_id(&world.as_of(namespace, in_flight)));
            if !named {
                world.violations.push(format!("server {server} was labelled and no Machine has the ID {id}"));
            }
            let server = world.servers.get_mut(&server).unwrap();
            server.labels.extend(labels.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())));
            Ok(server.clone())
        })
        .await
    }

    // Every interface and volume here was made along with its server, so there is nothing to label.
    async fn parts(&self, _: &Region, _: PartKind) -> Result<Vec<Part>, CloudError> {
        self.call(Operation::ListNics, None, |_| Ok(Vec::new())).await
    }

    async fn part(&self, _: &Region, _: PartId) -> Result<Part, CloudError> {
        Err(CloudError::NotFound(self.failure(Operation::GetNic, None)))
    }

    async fn label_part(&self, _: &Region, _: PartId, _: &BTreeMap<String, String>) -> Result<Part, CloudError> {
        self.ask(Operation::PatchNicLabels, None).await?;
        Err(CloudError::NotFound(self.failure(Operation::PatchNicLabels, None)))
    }

    async fn nics(&self, _: &Region, server: ServerId) -> Result<Vec<Nic>, CloudError> {
        self.call(Operation::ListServerNics, Some(server), |world| {
            self.find(world, Operation::ListServerNics, server)?;
            let id = server.to_string();
            let labels = &world.servers[&server].labels;
            let allowed = labels.get("test/allowed").map(|allowed| allowed.split(' ').map(str::to_owned).collect());
            Ok(vec![Nic {
                id: NicId::parse(&id).unwrap(),
                network: super::build::network(),
                allowed_addresses: allowed.unwrap_or_default(),
            }])
        })
        .await
    }

    async fn allow(&self, _: &Region, network: NetworkId, nic: NicId, addresses: &[String]) -> Result<Nic, CloudError> {
        self.ask(Operation::PatchNic, None).await?;
        self.call(Operation::PatchNic, None, |world| {
            self.judge(world, "an address was added", false);
            let server = ServerId::parse(nic.as_str()).unwrap();
            if let Some(server) = world.servers.get_mut(&server) {
                server.labels.insert("test/allowed".into(), addresses.join(" ").into());
            }
            Ok(Nic { id: nic, network, allowed_addresses: addresses.to_vec() })
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
