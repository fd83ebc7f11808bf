use std::time::Duration;

use clap::Args;
use mcm_migration_core::plan::NodesRule;

use super::duration;

/// Below this a Node that hangs may still hold a provider that acts once more when it wakes up.
const SAFE_NODE_READY_FOR: Duration = Duration::from_secs(120);

/// What is asked of the Nodes of the seed before a shoot is armed.
#[derive(Debug, Clone, Args)]
pub(super) struct NodeFlags {
    /// A Node of the seed that need not be Ready, because its machine is known to be off; may be given more than once
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_IGNORE_LOST_NODE", value_delimiter = ',')]
    ignore_lost_node: Vec<String>,

    /// For how long every other Node of the seed must have been seen Ready before a shoot is armed
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_NODE_READY_FOR", default_value = "2m", value_parser = duration::parse)]
    node_ready_for: Duration,

    /// Take a `--node-ready-for` below 2m
    #[arg(long, env = "MCM_MIGRATION_ALLOW_UNSAFE_NODE_READY_FOR")]
    allow_unsafe_node_ready_for: bool,
}

impl NodeFlags {
    /// What is asked of the Nodes.
    ///
    /// # Errors
    /// A sentence when the time is shorter than is safe and that was not allowed.
    pub(super) fn rule(&self) -> Result<NodesRule, String> {
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
