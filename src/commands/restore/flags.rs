use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mcm_migration_core::plan::{NodesRule, Settings};

use crate::commands::ClusterFlags;
use crate::commands::export::CloudFlags;
use crate::commands::serve::domain;

/// Flags of `restore`. Each has an environment variable behind it.
#[derive(Debug, Clone, Args)]
pub(in crate::commands) struct RestoreFlags {
    /// The export; - for standard input
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,

    #[command(flatten)]
    pub(super) cluster: ClusterFlags,

    /// Only this shoot of the export; may be given more than once
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_RESTORE_NAMESPACE", value_delimiter = ',')]
    pub(super) namespace: Vec<String>,

    /// Say what would be written, and write nothing
    #[arg(long, env = "MCM_MIGRATION_DRY_RUN")]
    pub(super) dry_run: bool,

    /// The domain of the labels <domain>/machine and <domain>/machineclass, as `serve` has it
    #[arg(long, value_name = "DOMAIN", env = "MCM_MIGRATION_LABEL_DOMAIN", default_value = "kubernetes.io", value_parser = domain)]
    label_domain: String,

    #[command(flatten)]
    pub(super) cloud: CloudFlags,
}

impl RestoreFlags {
    /// What the gate of the way back asks of labels and regions. Times are of no concern: nothing is waited for.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            quarantine: Settings::SAFE_QUARANTINE,
            evidence_after: Settings::EVIDENCE_AFTER,
            inflight_timeout: Duration::ZERO,
            nodes: NodesRule { ready_for: Duration::ZERO, except: Vec::new() },
            label_domain: self.label_domain.clone(),
            regions: self.cloud.regions(),
            touch: false,
            boot_volume_care: false,
            force_after: None,
            drift_every: Duration::ZERO,
        }
    }
}
