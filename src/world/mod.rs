//! What is known now: caches filled from an API server or from a folder, reduced to domain values on arrival, with their age.

mod known_world;
mod resource;

pub use known_world::World;
pub use resource::Resource;
