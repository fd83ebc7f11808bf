use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, Args};
use mcm_migration_core::domain::Region;
use mcm_migration_core::plan::Settings;

use crate::cloud::{CloudConfig, Rate};
use crate::commands::duration;
use crate::commands::nodes::NodeFlags;
use crate::sidetask::election::ElectionConfig;
use crate::sidetask::owner_record::{DnsResolver, NameTemplate, OwnerConfigError, OwnerRecords};
use crate::sidetask::{Config, MaybeOwnerRecord};

/// The Lease of the side task.
const LEASE: &str = "mcm-migration-webhook";

/// Flags of the side task. Each has an environment variable behind it.
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
#[derive(Debug, Clone, Args)]
pub(in crate::commands) struct SideTaskFlags {
    /// Take part in the side task: one replica at a time settles, arms, touches, labels and completes. With false another replica must do it
    #[arg(long, value_name = "BOOL", env = "MCM_MIGRATION_SIDE_TASK", default_value_t = true, action = ArgAction::Set)]
    pub(in crate::commands::serve) side_task: bool,

    /// Write to Machines that nobody else writes to, so that they are rewritten; with false they wait for their next write
    #[arg(long, value_name = "BOOL", env = "MCM_MIGRATION_TOUCH", default_value_t = true, action = ArgAction::Set)]
    touch: bool,

    /// Let the boot volume of a migrated server be deleted together with it
    #[arg(long, env = "MCM_MIGRATION_BOOT_VOLUME_CARE")]
    boot_volume_care: bool,

    /// How old a new provider ID must be before its server is labelled: longer than an informer may hold an old copy
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_QUARANTINE", default_value = "15m", value_parser = duration::parse)]
    quarantine: Duration,

    /// Take a `--quarantine` below 11m
    #[arg(long, env = "MCM_MIGRATION_ALLOW_UNSAFE_QUARANTINE")]
    allow_unsafe_quarantine: bool,

    /// How long it is waited for the server of a Machine without a provider ID, after the last OpenStack pod has gone
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_INFLIGHT_TIMEOUT", default_value = "10m", value_parser = duration::parse)]
    inflight_timeout: Duration,

    #[command(flatten)]
    nodes: NodeFlags,

    /// How often a shoot that is under way is passed over when nothing changes
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_PASS_EVERY", default_value = "30s", value_parser = duration::parse)]
    pass_every: Duration,

    /// How often the labels of a shoot's servers are looked at when there is nothing to do
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_DRIFT_EVERY", default_value = "10m", value_parser = duration::parse)]
    drift_every: Duration,

    /// Requests to the cloud a second, of all shoots together; `unlimited` lifts the limit
    #[arg(long, value_name = "RATE", env = "MCM_MIGRATION_CLOUD_RATE", default_value = "5", value_parser = rate)]
    cloud_rate: Limit,

    /// Requests to the cloud a second, of the shoots of one project; `unlimited` lifts the limit
    #[arg(long, value_name = "RATE", env = "MCM_MIGRATION_CLOUD_RATE_PROJECT", default_value = "2", value_parser = rate)]
    cloud_rate_project: Limit,

    /// Certificates (PEM) that are trusted in calls to the cloud besides those of the system
    #[arg(long, value_name = "FILE", env = "MCM_MIGRATION_CA_BUNDLE")]
    ca_bundle: Option<PathBuf>,

    /// The domain of the labels <domain>/machine and <domain>/machineclass; STACKIT's provider v0.6.0 knows no other
    #[arg(long, value_name = "DOMAIN", env = "MCM_MIGRATION_LABEL_DOMAIN", default_value = "kubernetes.io", value_parser = domain)]
    label_domain: String,

    /// What a region of OpenStack is called by the IaaS API; may be given more than once
    #[arg(long, value_name = "OLD=NEW", env = "MCM_MIGRATION_REGION_MAP", value_delimiter = ',', default_value = "RegionOne=eu01", value_parser = region)]
    region_map: Vec<(String, Region)>,

    /// For how long others have to see the Lease unchanged before they may take it
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_LEASE_DURATION", default_value = "15s", value_parser = duration::parse)]
    lease_duration: Duration,

    /// How long the leader goes on without a renewal
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_LEASE_RENEW_DEADLINE", default_value = "10s", value_parser = duration::parse)]
    lease_renew_deadline: Duration,

    /// How often the leader renews, and others look
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_LEASE_RETRY_PERIOD", default_value = "2s", value_parser = duration::parse)]
    lease_retry_period: Duration,

    /// Ask a DNS TXT record whose a shoot is before each write: its name, with {namespace}, {name} and {project} of the shoot
    #[arg(long, value_name = "TEMPLATE", env = "MCM_MIGRATION_OWNER_RECORD", requires = "owner_id", value_parser = NameTemplate::parse)]
    owner_record: Option<NameTemplate>,

    /// The value that the owner records of this seed's shoots have
    #[arg(long, value_name = "ID", env = "MCM_MIGRATION_OWNER_ID", requires = "owner_record")]
    owner_id: Option<String>,

    /// The DNS server that is asked for owner records; without it those of the system
    #[arg(long, value_name = "ADDRESS", env = "MCM_MIGRATION_OWNER_RECORD_SERVER", requires = "owner_record")]
    owner_record_server: Option<SocketAddr>,
}

/// Look-ups of owner records a second: DNS providers limit their rate.
const OWNER_RECORD_RATE: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// A limit, or none.
#[derive(Debug, Clone, Copy)]
struct Limit(Option<Rate>);

impl SideTaskFlags {
    /// How the side task is run.
    ///
    /// # Errors
    /// A sentence when something shorter than is safe was not allowed.
    pub(super) fn config(&self, dry_run: bool) -> Result<Config, String> {
        if self.quarantine < Settings::SAFE_QUARANTINE && !self.allow_unsafe_quarantine {
            return Err(
                "--quarantine below 11m is not safe: a machine-controller-manager whose watch hangs may hold an old copy of a \
                 Machine for 10 minutes and delete its server once that is labelled; leave the flag out, or add \
                 --allow-unsafe-quarantine"
                    .to_owned(),
            );
        }
        let settings = Settings {
            quarantine: self.quarantine,
            // A shorter quarantine, which is not safe anyway, asks for no more.
            evidence_after: Settings::EVIDENCE_AFTER.min(self.quarantine),
            inflight_timeout: self.inflight_timeout,
            nodes: self.nodes.rule()?,
            label_domain: self.label_domain.clone(),
            regions: self.region_map.iter().cloned().collect::<BTreeMap<_, _>>(),
            touch: self.touch,
            boot_volume_care: self.boot_volume_care,
            drift_every: self.drift_every,
        };
        let labelling_at_once = labelling_at_once(self.cloud_rate.0, self.cloud_rate_project.0);
        Ok(Config { settings, pass_every: self.pass_every, labelling_at_once, dry_run })
    }

    /// How the cloud is called.
    ///
    /// # Errors
    /// When the environment names an endpoint that is none.
    pub(super) fn cloud(&self) -> Result<CloudConfig, crate::cloud::ConfigError> {
        Ok(CloudConfig {
            rate: self.cloud_rate.0,
            rate_project: self.cloud_rate_project.0,
            ca_bundle: self.ca_bundle.clone(),
            ..CloudConfig::from_env()?
        })
    }

    /// Who else is asked whose a shoot is.
    ///
    /// # Errors
    /// When there is no resolver.
    pub(super) fn owners(&self) -> Result<MaybeOwnerRecord<DnsResolver>, OwnerConfigError> {
        let (Some(template), Some(owner)) = (&self.owner_record, &self.owner_id) else {
            return Ok(MaybeOwnerRecord(None));
        };
        let resolver = match self.owner_record_server {
            Some(server) => DnsResolver::at(server)?,
            None => DnsResolver::system()?,
        };
        let interval = OwnerRecords::<DnsResolver>::INTERVAL;
        let records = OwnerRecords::new(template.clone(), owner, interval, OWNER_RECORD_RATE, resolver)?;
        Ok(MaybeOwnerRecord(Some(Arc::new(records))))
    }

    /// Whose the Lease is.
    ///
    /// # Errors
    /// When the three times do not fit together.
    pub(super) fn election(&self, namespace: &str) -> Result<ElectionConfig, crate::sidetask::election::ConfigError> {
        // The pod's name, as Kubernetes sets the host name.
        let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
        let identity = ElectionConfig::unique_identity(host.as_deref().unwrap_or("mcm-migration-webhook"));
        let (lease, renew, retry) = (self.lease_duration, self.lease_renew_deadline, self.lease_retry_period);
        ElectionConfig::new(namespace, LEASE, identity, lease, renew, retry)
    }
}

/// As many shoots as use the seed's rate up when each goes at its project's; without a limit as many as there are connections for.
fn labelling_at_once(seed: Option<Rate>, project: Option<Rate>) -> usize {
    const UNLIMITED: u8 = 64;
    let Some(seed) = seed else { return usize::from(UNLIMITED) };
    let project = project.map_or(1.0, Rate::requests_a_second);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 64")]
    let shoots = (seed.requests_a_second() / project).ceil().clamp(1.0, f64::from(UNLIMITED)) as usize;
    shoots
}

fn rate(text: &str) -> Result<Limit, String> {
    if text == "unlimited" {
        return Ok(Limit(None));
    }
    text.parse()
        .map(|rate| Limit(Some(rate)))
        .map_err(|error: crate::cloud::InvalidRate| format!("{error}; or unlimited"))
}

fn region(text: &str) -> Result<(String, Region), String> {
    let wrong = || format!("`{text}` is not OLD=NEW, for example RegionOne=eu01");
    let (old, new) = text.split_once('=').filter(|(old, _)| !old.is_empty()).ok_or_else(wrong)?;
    Ok((old.to_owned(), Region::parse(new).map_err(|error| format!("`{new}`: {error}"))?))
}

/// With `/machineclass` behind it, a key may have 63 characters.
pub(in crate::commands) fn domain(text: &str) -> Result<String, String> {
    let label = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    if text.len() <= 50 && text.split('.').all(label) {
        Ok(text.to_owned())
    } else {
        Err(format!("`{text}` is not a DNS name of at most 50 characters, for example kubernetes.io"))
    }
}
