use std::time::Duration;

use clap::{ArgGroup, Args};
use mcm_migration_core::plan::NodesRule;

use crate::commands::{ClusterFlags, duration};

/// Below this a Node that hangs may still hold a provider that acts once more when it wakes up.
const SAFE_NODE_READY_FOR: Duration = Duration::from_secs(120);

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

    /// A Node of the seed that need not be Ready, because its machine is known to be off; may be given more than once
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_IGNORE_LOST_NODE", value_delimiter = ',')]
    pub(super) ignore_lost_node: Vec<String>,

    /// For how long every other Node of the seed must have been seen Ready before a shoot is armed
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_NODE_READY_FOR", default_value = "2m", value_parser = duration::parse)]
    pub(super) node_ready_for: Duration,

    /// Take a `--node-ready-for` below 2m
    #[arg(long, env = "MCM_MIGRATION_ALLOW_UNSAFE_NODE_READY_FOR")]
    pub(super) allow_unsafe_node_ready_for: bool,
}

impl ArmFlags {
    /// What is asked of the Nodes.
    ///
    /// # Errors
    /// A sentence when the time is shorter than is safe and that was not allowed.
    pub(super) fn nodes_rule(&self) -> Result<NodesRule, String> {
        if self.node_ready_for < SAFE_NODE_READY_FOR && !self.allow_unsafe_node_ready_for {
            return Err(
                "--node-ready-for below 2m is not safe: an OpenStack provider frozen on a hung Node may wake up and delete \
                 rewritten servers; leave the flag out, or add --allow-unsafe-node-ready-for"
                    .to_owned(),
            );
        }
        Ok(NodesRule { ready_for: self.node_ready_for, except: self.ignore_lost_node.clone() })
    }
}
