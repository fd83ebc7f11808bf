//! `export`: everything of shoots that a migration touches, as lines of JSON that vouch for each other.

mod flags;
mod output;
mod servers;

use std::fmt::Display;

use mcm_migration_core::archive::{Export, Record, write};

use super::reach::reach;
use super::sha256::sha256;
use super::{Exit, fail};
use crate::cloud::{CloudMetrics, Clouds};
use crate::world::{WorldError, archived, shoot_namespaces};

pub(super) use flags::{CloudFlags, ExportFlags};

/// Nothing is written; it is said all the same who reads.
const FIELD_MANAGER: &str = "mcm-migration-export";

pub(super) fn run(flags: &ExportFlags) -> Exit {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(export(flags)).unwrap_or_else(|exit| exit),
        Err(error) => fail(Exit::Failed, &format_args!("cannot start the runtime: {error}")),
    }
}

async fn export(flags: &ExportFlags) -> Result<Exit, Exit> {
    let clouds = flags.servers.then(|| flags.cloud.config().and_then(|it| Clouds::new(it, CloudMetrics::default())));
    let clouds = clouds.transpose().map_err(|error| fail(Exit::Usage, &error))?;
    let seed = reach(&flags.cluster, FIELD_MANAGER).await?;
    let client = seed.client();
    let namespaces = if flags.all {
        shoot_namespaces(&client).await.map_err(|error| unread(&error))?
    } else {
        flags.namespace.clone()
    };
    let mut export = Export { servers: flags.servers, ..Export::default() };
    export.namespaces.extend(namespaces.iter().map(|namespace| namespace.as_str().into()));
    for namespace in export.namespaces.clone() {
        let shoot = archived(&client, &namespace).await.map_err(|error| unread(&error))?;
        if shoot.records.is_empty() {
            return Err(fail(Exit::No, &format_args!("there is no namespace {namespace}; nothing was exported")));
        }
        let servers = match &clouds {
            Some(clouds) => servers::records(&client, &namespace, &shoot, clouds, &flags.cloud.regions()).await,
            None => Vec::new(),
        };
        for record in shoot.records.into_iter().chain(servers) {
            if let Record::ServersUnknown(unknown) = &record {
                let why = &unknown.reason;
                fail(Exit::Done, &format_args!("the servers of {namespace} are left out: {why}"));
            }
            export.insert(record);
        }
    }
    let bytes = write(&export, sha256).map_err(|error| fail(Exit::Failed, &error))?;
    let written = output::write(&flags.output, &bytes).map_err(|error| fail(Exit::Failed, &error))?;
    if let Some(file) = written {
        fail(Exit::Done, &format_args!("{} records of {} shoots in {file}", export.records.len(), namespaces.len()));
    }
    Ok(Exit::Done)
}

/// What could not be read ends the command: a part of an export is none.
pub(super) fn unread(error: &WorldError) -> Exit {
    let lost = matches!(error, WorldError::Unreachable { .. } | WorldError::Silent { .. });
    let error: &dyn Display = error;
    fail(if lost { Exit::Restart } else { Exit::Failed }, error)
}
