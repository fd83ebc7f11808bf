use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};

use super::SideTaskFlags;
use crate::commands::{ClusterFlags, address, duration};

/// Flags of `serve`. Each has an environment variable behind it.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("certificate").required(true).args(["tls_cert_dir", "tls_self_managed"]))]
pub(in crate::commands) struct ServeFlags {
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,

    /// Take what is known from the manifests in this folder instead of an API server; they are followed as they change
    #[arg(long, value_name = "DIR", env = "MCM_MIGRATION_OBJECTS", conflicts_with_all = ["kubeconfig", "context", "tls_self_managed"])]
    pub(super) objects: Option<PathBuf>,

    /// Address of the admission listener (HTTPS); port 0 takes a free one, and the log names it
    #[arg(long, value_name = "ADDRESS", env = "MCM_MIGRATION_LISTEN", default_value = "[::]:8443", value_parser = address::parse)]
    pub(super) listen: SocketAddr,

    /// Address of the admin listener (HTTP): /livez, /readyz, /metrics
    #[arg(long, value_name = "ADDRESS", env = "MCM_MIGRATION_ADMIN_LISTEN", default_value = "[::]:8080", value_parser = address::parse)]
    pub(super) admin_listen: SocketAddr,

    /// Folder with tls.crt and tls.key, for example a mounted Secret; taken up again whenever they change
    #[arg(long, value_name = "DIR", env = "MCM_MIGRATION_TLS_CERT_DIR")]
    pub(super) tls_cert_dir: Option<PathBuf>,

    /// Keep a CA and a certificate in a Secret that all replicas share, and the caBundle of the webhook configurations
    #[arg(long, env = "MCM_MIGRATION_TLS_SELF_MANAGED")]
    pub(super) tls_self_managed: bool,

    /// Self-managed: the Secret that holds CA and certificate
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_TLS_SECRET", default_value = "mcm-migration-webhook-tls")]
    pub(super) tls_secret: String,

    /// Self-managed: a further DNS name or IP address for the certificate
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_TLS_EXTRA_SAN", value_delimiter = ',')]
    pub(super) tls_extra_san: Vec<String>,

    /// Self-managed: the webhook configurations whose caBundle is kept
    #[arg(
        long,
        value_name = "NAME",
        env = "MCM_MIGRATION_WEBHOOK_CONFIGURATION",
        value_delimiter = ',',
        default_value = "mcm-migration-webhook"
    )]
    pub(super) webhook_configuration: Vec<String>,

    /// The namespace that the program runs in
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_NAMESPACE", default_value = "mcm-migration-system")]
    pub(super) namespace: String,

    /// The Service in front of the replicas; its DNS name stands in the certificate
    #[arg(long, value_name = "NAME", env = "MCM_MIGRATION_SERVICE_NAME", default_value = "mcm-migration-webhook")]
    pub(super) service_name: String,

    /// A watch without a sign of life for this long closes every gate
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_CACHE_MAX_AGE", default_value = "2m30s", value_parser = duration::parse)]
    pub(super) cache_max_age: Duration,

    /// How long calls are still taken after SIGTERM, until every API server knows that the replica is leaving
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_SHUTDOWN_DELAY", default_value = "15s", value_parser = duration::parse)]
    pub(super) shutdown_delay: Duration,

    /// How long calls that are under way may take to end after that
    #[arg(long, value_name = "DURATION", env = "MCM_MIGRATION_DRAIN_TIMEOUT", default_value = "20s", value_parser = duration::parse)]
    pub(super) drain_timeout: Duration,

    /// Connections to the admission listener at the same time; each may hold a body of 7 MiB
    #[arg(long, value_name = "N", env = "MCM_MIGRATION_MAX_CONNECTIONS", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) max_connections: u32,

    /// Decide and record, and answer without a patch
    #[arg(long, env = "MCM_MIGRATION_DRY_RUN")]
    pub(super) dry_run: bool,

    #[command(flatten)]
    pub(super) side_task: SideTaskFlags,

    /// What is logged, for example `info` or `info,audit=debug`
    #[arg(long, value_name = "FILTER", env = "MCM_MIGRATION_LOG", default_value = "info")]
    pub(super) log: String,
}
