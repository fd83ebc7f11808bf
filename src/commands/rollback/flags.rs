use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use mcm_migration_core::domain::Region;
use mcm_migration_core::plan::Settings;

use crate::cloud::{CloudConfig, ConfigError};
use crate::commands::ClusterFlags;
use crate::commands::duration;
use crate::commands::nodes::NodeFlags;
use crate::commands::serve::{Limit, domain, rate, region};

/// How the account is written to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// A line a step, for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// Flags of `rollback`. Each has an environment variable behind it.
#[derive(Debug, Clone, Args)]
pub(in crate::commands) struct RollbackFlags {
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,

    /// Namespace of the shoot, for example shoot--project--name
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_ROLLBACK_NAMESPACE")]
    pub(super) namespace: String,

    /// Print the whole way back with what would hold it, and write nothing
    #[arg(long, env = "MCM_MIGRATION_DRY_RUN")]
    pub(super) dry_run: bool,

    /// How the account is written to standard output
    #[arg(long, value_enum, env = "MCM_MIGRATION_OUTPUT", default_value_t = Output::Text)]
    pub(super) output: Output,

    /// A Machine that the STACKIT provider made, or that has no provider ID, and that stays: its VM is not deleted with it. Each has to be named by `--yes-vm-stays` too
    #[arg(long, value_name = "MACHINE", env = "MCM_MIGRATION_LEAVE_BEHIND", value_delimiter = ',')]
    leave_behind: Vec<String>,

    /// The name of a `--leave-behind` once more: its VM stays, and somebody else has to delete it
    #[arg(long, value_name = "MACHINE", env = "MCM_MIGRATION_YES_VM_STAYS", value_delimiter = ',')]
    yes_vm_stays: Vec<String>,

    /// How long it is waited for what Gardener or an operator has to do; without it the command ends and says what that is
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_WAIT", default_value = "0s", value_parser = duration::parse)]
    pub(super) wait: Duration,

    /// How old an ID that was written back must be before the guard is taken off: longer than an informer may hold an old copy
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_QUARANTINE", default_value = "15m", value_parser = duration::parse)]
    quarantine: Duration,

    /// Take a `--quarantine` below 11m
    #[arg(long, env = "MCM_MIGRATION_ALLOW_UNSAFE_QUARANTINE")]
    allow_unsafe_quarantine: bool,

    #[command(flatten)]
    nodes: NodeFlags,

    /// The domain of the labels <domain>/machine and <domain>/machineclass, as `serve` has it
    #[arg(long, value_name = "DOMAIN", env = "MCM_MIGRATION_LABEL_DOMAIN", default_value = "kubernetes.io", value_parser = domain)]
    label_domain: String,

    /// What a region of OpenStack is called by the IaaS API, for a Machine without the annotation previous-provider-id; nothing is assumed; may be given
    /// more than once
    #[arg(long, value_name = "OLD=NEW", env = "MCM_MIGRATION_REGION_MAP", value_delimiter = ',', value_parser = region)]
    region_map: Vec<(String, Region)>,

    /// Requests to the cloud a second; `unlimited` lifts the limit
    #[arg(long, value_name = "RATE", env = "MCM_MIGRATION_CLOUD_RATE_PROJECT", default_value = "2", value_parser = rate)]
    cloud_rate_project: Limit,

    /// Certificates (PEM) that are trusted in calls to the cloud besides those of the system
    #[arg(long, value_name = "FILE", env = "MCM_MIGRATION_CA_BUNDLE")]
    ca_bundle: Option<PathBuf>,
}

impl RollbackFlags {
    /// What an operator decides about times, labels and regions.
    ///
    /// # Errors
    /// A sentence when something shorter than is safe was not allowed.
    pub(super) fn settings(&self) -> Result<Settings, String> {
        if self.quarantine < Settings::SAFE_QUARANTINE && !self.allow_unsafe_quarantine {
            return Err(
                "--quarantine below 11m is not safe: a machine-controller-manager whose watch hangs may hold an old copy of a \
                 Machine for 10 minutes and delete its server once the classes are OpenStack's again; leave the flag out, or add \
                 --allow-unsafe-quarantine"
                    .to_owned(),
            );
        }
        Ok(Settings {
            quarantine: self.quarantine,
            // A shorter quarantine, which is not safe anyway, asks for no more.
            evidence_after: Settings::EVIDENCE_AFTER.min(self.quarantine),
            inflight_timeout: Duration::ZERO,
            nodes: self.nodes.rule()?,
            label_domain: self.label_domain.clone(),
            regions: self.region_map.iter().cloned().collect::<BTreeMap<_, _>>(),
            touch: false,
            boot_volume_care: false,
            force_after: None,
            drift_every: Duration::ZERO,
        })
    }

    /// The Machines that stay, each said twice.
    ///
    /// # Errors
    /// A sentence that names those that were said once.
    pub(super) fn left_behind(&self) -> Result<BTreeSet<Box<str>>, String> {
        let leave: BTreeSet<Box<str>> = self.leave_behind.iter().map(|name| name.trim().into()).collect();
        let stays: BTreeSet<Box<str>> = self.yes_vm_stays.iter().map(|name| name.trim().into()).collect();
        let missing = |said: &BTreeSet<Box<str>>, other: &BTreeSet<Box<str>>| -> Vec<String> {
            said.difference(other).map(ToString::to_string).collect()
        };
        let (once, alone) = (missing(&leave, &stays), missing(&stays, &leave));
        if !once.is_empty() {
            return Err(format!(
                "--leave-behind {}: its VM will not be deleted with the Machine; say so by --yes-vm-stays with the same name, or leave it out",
                once.join(",")
            ));
        }
        if !alone.is_empty() {
            return Err(format!("--yes-vm-stays {}: no --leave-behind names it", alone.join(",")));
        }
        Ok(leave)
    }

    /// How the cloud is called.
    ///
    /// # Errors
    /// When the environment names an endpoint that is none.
    pub(super) fn cloud(&self) -> Result<CloudConfig, ConfigError> {
        let (rate, ca_bundle) = (self.cloud_rate_project.0, self.ca_bundle.clone());
        Ok(CloudConfig { rate, rate_project: rate, ca_bundle, ..CloudConfig::from_env()? })
    }
}
