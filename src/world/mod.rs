//! What is known now: caches filled from an API server or from a folder, reduced to domain values on arrival, with their age.

mod archive;
mod call;
mod error;
mod fact;
pub mod folder;
mod known_world;
mod machine_migration;
mod reduce;
mod resource;
mod rollback_account;
mod snapshot;
mod trouble;
pub mod watch;
mod watch_event;

use fact::Fact;

pub(crate) use archive::{Archived, archived};
pub use error::WorldError;
pub use known_world::World;
pub use machine_migration::{
    MachineCounts, MachineException, MachineMigration, MachineMigrationSpec, MachineMigrationStatus, Phase,
};
pub use resource::Resource;
pub use rollback_account::{RollbackAccount, RollbackStep};
pub(crate) use snapshot::{
    WayBackSnapshot, detailed_snapshot, every_machine, machine, machine_of, machine_to_write_back, owner,
    owner_and_mcm, way_back_snapshot,
};
pub use snapshot::{openstack_mcm_pod, shoot_namespaces, snapshot};
