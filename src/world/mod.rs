//! What is known now: caches filled from an API server or from a folder, reduced to domain values on arrival, with their age.

mod call;
mod error;
mod fact;
pub mod folder;
mod known_world;
mod machine_migration;
mod reduce;
mod resource;
mod snapshot;
mod trouble;
pub mod watch;
mod watch_event;

use fact::Fact;

pub use error::WorldError;
pub use known_world::World;
pub use machine_migration::{MachineCounts, MachineMigration, MachineMigrationSpec, MachineMigrationStatus, Phase};
pub use resource::Resource;
pub(crate) use snapshot::{detailed_snapshot, every_machine, machine, machine_of, owner};
pub use snapshot::{openstack_mcm_pod, shoot_namespaces, snapshot};
