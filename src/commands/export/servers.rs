use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use mcm_migration_core::archive::{Record, ServerRecord, UnknownServers};
use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{ProviderId, Region, ServerId, StackitProviderId};

use crate::cloud::Clouds;
use crate::commands::shoot_cloud;
use crate::world::Archived;

/// The servers that a shoot's Machines name, with their labels; or that they could not be looked at.
pub(super) async fn records(
    client: &Client,
    namespace: &str,
    shoot: &Archived,
    clouds: &Clouds,
    regions: &BTreeMap<String, Region>,
) -> Vec<Record> {
    match read(client, namespace, shoot, clouds, regions).await {
        Ok(records) => records,
        Err(because) => {
            let reason = because.reason.name().into();
            vec![Record::ServersUnknown(UnknownServers { namespace: namespace.into(), reason })]
        }
    }
}

async fn read(
    client: &Client,
    namespace: &str,
    shoot: &Archived,
    clouds: &Clouds,
    regions: &BTreeMap<String, Region>,
) -> Result<Vec<Record>, Because> {
    let project = shoot_cloud::project(client, namespace, clouds).await?;
    let there: BTreeSet<Region> = shoot.classes.values().filter_map(|class| class.region(regions)).collect();
    let found = shoot_cloud::servers(&project, there).await?;
    let machines: BTreeMap<ServerId, &str> = shoot.records.iter().filter_map(machine).collect();
    let mut records = Vec::new();
    for (region, servers) in found {
        for server in servers {
            let Some(machine) = machines.get(&server.id) else { continue };
            records.push(Record::Server(ServerRecord {
                namespace: namespace.into(),
                machine: (*machine).into(),
                region: region.as_str().into(),
                id: server.id.as_str().into(),
                name: server.name,
                labels: server.labels,
            }));
        }
    }
    Ok(records)
}

fn machine(record: &Record) -> Option<(ServerId, &str)> {
    let Record::Machine(machine) = record else { return None };
    let server = match ProviderId::of(&machine.provider_id) {
        ProviderId::Legacy(id) => id.server(),
        ProviderId::Stackit(text) => StackitProviderId::parse(text).ok()?.server,
        _ => return None,
    };
    Some((server, &machine.name))
}
