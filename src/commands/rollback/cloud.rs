//! The looks at the cloud and the labels that come off, with the key of the shoot's own Secret.

use std::collections::BTreeSet;

use futures::FutureExt;
use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{PartId, PartKind, ProjectId, Reason, Region, Server, ServerId};
use mcm_migration_core::plan::way_back::may_write_old;
use mcm_migration_core::plan::{Listed, ListedParts};
use secrecy::ExposeSecret;

use super::sight::{SLEPT, Sight};
use super::writes::Failed;
use crate::cloud::{Check, CloudError, Clouds, ProjectClient, ServiceAccountKey};
use crate::sidetask::{because, read_credentials};
use crate::world::{machine_to_write_back, owner_and_mcm};

/// A Machine, with the ID that the step was planned for.
pub(super) struct Planned<'a> {
    pub(super) name: &'a str,
    pub(super) id: &'a str,
}

/// The client of the shoot's project, kept while project and key stay the same.
pub(super) struct Session {
    clouds: Clouds,
    client: Option<ProjectClient>,
}

impl Session {
    pub(super) fn new(clouds: Clouds) -> Self {
        Self { clouds, client: None }
    }

    async fn open(&mut self, sight: &Sight) -> Result<ProjectClient, Failed> {
        let invalid = |why: String| Failed::Because(format!("Secret {}/cloudprovider: {why}", sight.namespace));
        let read = read_credentials(&sight.seed.client(), &sight.namespace).await;
        let credentials = read.map_err(|error| Failed::Because(error.to_string()))?;
        let credentials = credentials.ok_or_else(|| invalid("it is absent".to_owned()))?;
        let project = credentials.project.ok_or_else(|| invalid("its project-id is no plain UUID".to_owned()))?;
        let key = credentials.key.ok_or_else(|| invalid("it has no serviceaccount.json".to_owned()))?;
        let key =
            ServiceAccountKey::parse(key.expose_secret().as_bytes()).map_err(|error| invalid(error.to_string()))?;
        if let Some(client) = self.client.as_ref().filter(|client| client.project() == project && *client.key() == key)
        {
            return Ok(client.clone());
        }
        let client = self.clouds.project(project, key);
        self.client = Some(client.clone());
        Ok(client)
    }

    /// The client, and one that asks before each try of a write whether all that it relies on still holds.
    async fn open_for(
        &mut self,
        sight: &Sight,
        machine: &Planned<'_>,
    ) -> Result<(ProjectClient, ProjectClient), Failed> {
        let client = self.open(sight).await?;
        let checked = client.checked(check(sight, machine, client.project()));
        Ok((client, checked))
    }

    /// LISTs the servers of a region.
    pub(super) async fn list(&mut self, sight: &mut Sight, region: &Region) -> Result<(), Failed> {
        let client = self.open(sight).await?;
        let (asked, sleeps) = (sight.now(), sight.sleeps);
        let servers = sight.beside(client.list_servers(region)).await.map_err(|error| failed(&error))?;
        if sight.sleeps > sleeps {
            return Err(Failed::Changed(SLEPT.to_owned()));
        }
        sight.cloud.lists.insert(region.clone(), Listed::new(servers, asked));
        Ok(())
    }

    /// Takes labels off a server, checks the answer, and reads it back. One that is gone has none.
    pub(super) async fn unlabel(
        &mut self,
        sight: &mut Sight,
        machine: &Planned<'_>,
        region: &Region,
        server: ServerId,
        keys: &BTreeSet<Box<str>>,
    ) -> Result<(), Failed> {
        let (client, checked) = self.open_for(sight, machine).await?;
        let keys: BTreeSet<String> = keys.iter().map(ToString::to_string).collect();
        let call = async {
            let answer = checked.remove_server_labels(region, server, &keys).await?;
            let read = client.get_server(region, server).await?;
            Ok((answer, read))
        };
        let (answer, read): (Server, Server) = match sight.beside(call).await {
            Ok(both) => both,
            Err(CloudError::Gone(_)) => {
                // What the last LIST shows is no longer so.
                sight.cloud.lists.remove(region);
                return Ok(());
            }
            Err(error) => return Err(failed(&error)),
        };
        for shown in [&answer, &read] {
            if let Some(key) = keys.iter().find(|key| shown.labels.contains_key(key.as_str())) {
                return Err(Failed::Because(format!("server {server} still shows the label {key}")));
            }
        }
        sight.cloud.take_up(region, read);
        Ok(())
    }
}

impl Session {
    /// LISTs the network interfaces or the volumes of a region. What cannot be listed is left out from then on.
    pub(super) async fn list_parts(
        &mut self,
        sight: &mut Sight,
        region: &Region,
        kind: PartKind,
    ) -> Result<(), Failed> {
        let client = self.open(sight).await?;
        let asked = sight.now();
        match sight.beside(client.list_parts(region, kind)).await {
            Ok(parts) => {
                sight.cloud.parts.insert((region.clone(), kind), ListedParts::new(parts, asked));
                Ok(())
            }
            Err(error) => Err(leave_out(sight, region, kind, because(&error))),
        }
    }

    /// Takes labels off a network interface or a volume, and checks the answer. What refuses it is left out from then on.
    pub(super) async fn unlabel_part(
        &mut self,
        sight: &mut Sight,
        machine: &Planned<'_>,
        region: &Region,
        part: PartId,
        keys: &BTreeSet<Box<str>>,
    ) -> Result<(), Failed> {
        let (_, checked) = self.open_for(sight, machine).await?;
        let keys: BTreeSet<String> = keys.iter().map(ToString::to_string).collect();
        match sight.beside(checked.remove_part_labels(region, part, &keys)).await {
            Ok(answer) if keys.iter().any(|key| answer.labels.contains_key(key.as_str())) => {
                let shown = Because::about(Reason::StillLabelled, part.to_string());
                Err(leave_out(sight, region, part.kind(), shown))
            }
            Ok(answer) => {
                sight.cloud.take_up_part(region, answer);
                Ok(())
            }
            Err(error @ CloudError::CalledOff(_)) => Err(failed(&error)),
            Err(error) => Err(leave_out(sight, region, part.kind(), because(&error))),
        }
    }
}

/// The labels of network interfaces and volumes endanger nothing, so what cannot be written to holds nothing up; it is told.
fn leave_out(sight: &mut Sight, region: &Region, kind: PartKind, because: Because) -> Failed {
    let told = format!("the labels of this kind of part stay ({kind}): {because}");
    sight.cloud.part_troubles.insert((region.clone(), kind), because);
    Failed::Because(told)
}

/// What is asked right before each try of the write: the gate, and that the Machine is the one that was planned for.
fn check(sight: &Sight, machine: &Planned<'_>, project: ProjectId) -> Check {
    let (client, namespace) = (sight.seed.client(), sight.namespace.clone());
    let planned: (String, String) = (machine.name.to_owned(), machine.id.to_owned());
    Check::new(move || {
        let (client, namespace, (machine, planned)) = (client.clone(), namespace.clone(), planned.clone());
        async move {
            let facts = owner_and_mcm(&client, &namespace).await.map_err(|error| error.to_string())?;
            may_write_old(&facts).map_err(|why| Failed::from(why).to_string())?;
            if facts.project != Some(project) {
                return Err("the Secret names another project now".to_owned());
            }
            let now = machine_to_write_back(&client, &namespace, &machine).await.map_err(|error| error.to_string())?;
            match now {
                Some((facts, ..)) if *facts.provider_id == *planned => Ok(()),
                _ => Err(format!("Machine {machine} is another now")),
            }
        }
        .boxed()
    })
}

fn failed(error: &CloudError) -> Failed {
    match error {
        CloudError::CalledOff(_) => Failed::Changed(error.to_string()),
        _ => Failed::Because(because(error).to_string()),
    }
}
