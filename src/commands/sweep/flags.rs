use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};

use crate::commands::{ClusterFlags, duration, serve};

/// Flags of `sweep`. Each has an environment variable behind it.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("shoots").required(true).args(["namespace", "all"]))]
pub(in crate::commands) struct SweepFlags {
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,

    /// Namespace of a shoot, for example shoot--project--name; may be given more than once
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_SWEEP_NAMESPACE", value_delimiter = ',')]
    pub(super) namespace: Vec<String>,

    /// Every shoot of the seed
    #[arg(long, env = "MCM_MIGRATION_SWEEP_ALL")]
    pub(super) all: bool,

    /// Delete what is proved to be left over; without it, it is only listed
    #[arg(long, env = "MCM_MIGRATION_SWEEP_DELETE")]
    pub(super) delete: bool,

    /// With --delete: how long something must have been seen left over. Everything is looked at twice, this far apart
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_SWEEP_GRACE", default_value = "10m", value_parser = duration::parse)]
    pub(super) grace: Duration,

    /// The domain of the labels <domain>/machine and <domain>/machineclass that `serve` runs with
    #[arg(long, value_name = "DOMAIN", env = "MCM_MIGRATION_LABEL_DOMAIN", default_value = "kubernetes.io", value_parser = serve::domain)]
    pub(super) label_domain: String,

    /// A --label-domain that `serve` ran with before, whose labels are to go; may be given more than once
    #[arg(long, value_name = "DOMAIN", env = "MCM_MIGRATION_SWEEP_OLD_LABEL_DOMAIN", value_delimiter = ',', value_parser = serve::domain)]
    pub(super) old_label_domain: Vec<String>,

    /// Certificates (PEM) that are trusted in calls to the cloud besides those of the system
    #[arg(long, value_name = "FILE", env = "MCM_MIGRATION_CA_BUNDLE")]
    pub(super) ca_bundle: Option<PathBuf>,
}
