use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use mcm_migration_core::domain::Region;

use crate::cloud::{CloudConfig, ConfigError};
use crate::commands::ClusterFlags;
use crate::commands::serve::{Limit, rate, region};

/// Flags of `export`. Each has an environment variable behind it.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("shoots").required(true).args(["namespace", "all"]))]
pub(in crate::commands) struct ExportFlags {
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,

    /// Namespace of a shoot, for example shoot--project--name; may be given more than once
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_EXPORT_NAMESPACE", value_delimiter = ',')]
    pub(super) namespace: Vec<String>,

    /// Every shoot of the seed
    #[arg(long, env = "MCM_MIGRATION_EXPORT_ALL")]
    pub(super) all: bool,

    /// Where to: a file, which is replaced as a whole; a folder, where the file is named after its content; or - for standard output
    #[arg(long, value_name = "FILE", env = "MCM_MIGRATION_EXPORT_OUTPUT", default_value = "-")]
    pub(super) output: PathBuf,

    /// Take up the labels of the servers as well, with the keys of the shoots' own Secrets, where these can be used
    #[arg(long, env = "MCM_MIGRATION_EXPORT_SERVERS")]
    pub(super) servers: bool,

    #[command(flatten)]
    pub(super) cloud: CloudFlags,
}

/// How the cloud is called by `export` and `restore`.
#[derive(Debug, Clone, Args)]
pub(in crate::commands) struct CloudFlags {
    /// What a region of OpenStack is called by the IaaS API; may be given more than once
    #[arg(long, value_name = "OLD=NEW", env = "MCM_MIGRATION_REGION_MAP", value_delimiter = ',', default_value = "RegionOne=eu01", value_parser = region)]
    region_map: Vec<(String, Region)>,

    /// Requests to the cloud a second; `unlimited` lifts the limit
    #[arg(long, value_name = "RATE", env = "MCM_MIGRATION_CLOUD_RATE_PROJECT", default_value = "2", value_parser = rate)]
    cloud_rate_project: Limit,

    /// Certificates (PEM) that are trusted in calls to the cloud besides those of the system
    #[arg(long, value_name = "FILE", env = "MCM_MIGRATION_CA_BUNDLE")]
    ca_bundle: Option<PathBuf>,
}

impl CloudFlags {
    /// Regions of OpenStack classes, and what they are called in the IaaS API.
    pub(in crate::commands) fn regions(&self) -> BTreeMap<String, Region> {
        self.region_map.iter().cloned().collect()
    }

    /// How the cloud is called.
    ///
    /// # Errors
    /// When the environment names an endpoint that is none.
    pub(in crate::commands) fn config(&self) -> Result<CloudConfig, ConfigError> {
        let (rate, ca_bundle) = (self.cloud_rate_project.0, self.ca_bundle.clone());
        Ok(CloudConfig { rate, rate_project: rate, ca_bundle, ..CloudConfig::from_env()? })
    }
}
