//! The side task: one replica, holding a Lease, brings every shoot of the seed from legacy to complete.
//!
//! A pure planner ([`mcm_migration_core::plan`]) says what is to be done for one shoot; what is here reads what it needs, carries its
//! actions out, and writes down what came of them. It speaks to the traits [`Cluster`] and [`Cloud`] and takes a [`Clock`], so that the
//! same code runs in virtual time.
#![deny(clippy::disallowed_methods)]

mod clock;
mod cloud;
mod cluster;
mod context;
pub mod election;
mod fence;
mod kube_cluster;
mod metrics;
pub mod owner_record;
mod owners;
mod part_lists;
mod projects;
mod run;
mod shared_lists;
mod shoot;
mod watchdog;

pub use clock::{Clock, SystemClock};
pub use cloud::{Cloud, Clouds, because};
pub use cluster::{Cluster, ClusterError, Credentials, MachineNow, Notice, Snapshot, VersionOf, Write, Written};
pub use context::Config;
pub use fence::Fence;
pub use kube_cluster::KubeCluster;
pub(crate) use kube_cluster::{read_credentials, read_lease};
pub use metrics::SideTaskMetrics;
pub use owners::{MaybeOwnerRecord, NoOwnerRecord, Owners};
pub use run::SideTask;
