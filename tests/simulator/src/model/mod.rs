//! What a project holds. A server owns its network interfaces and volumes; detached ones belong to the region.

mod nic;
mod server;
mod volume;

pub use nic::Nic;
pub use server::Server;
pub(crate) use server::check_name;
pub use volume::Volume;
