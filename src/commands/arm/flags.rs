use clap::{ArgGroup, Args};

use crate::commands::ClusterFlags;
use crate::commands::nodes::NodeFlags;

/// Flags of `arm`. Each has an environment variable behind it.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("shoots").required(true).args(["namespace", "all"]))]
pub(in crate::commands) struct ArmFlags {
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,

    /// Namespace of a shoot, for example shoot--project--name; may be given more than once
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_ARM_NAMESPACE", value_delimiter = ',')]
    pub(super) namespace: Vec<String>,

    /// Every shoot of the seed
    #[arg(long, env = "MCM_MIGRATION_ARM_ALL")]
    pub(super) all: bool,

    /// Say what would be done, and write nothing
    #[arg(long, env = "MCM_MIGRATION_DRY_RUN")]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) nodes: NodeFlags,
}
