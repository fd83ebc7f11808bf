//! An exhaustive model of a migration.
//!
//! The planner and the gates are the product's own functions, asked about facts that are built from the model's state. Only what surrounds them
//! is modelled: the API server, informers, machine-controller-managers, Gardener, the cloud, the clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "there are two seeds, two classes and three Machines")]
#![allow(clippy::missing_panics_doc, reason = "what is asserted is that the model is right")]
#![allow(clippy::similar_names, reason = "a seed is seen, and what is seen is called so in the product")]
#![allow(clippy::needless_range_loop, reason = "a Machine is its number, in several arrays")]
#![allow(
    clippy::too_many_lines,
    clippy::match_same_arms,
    reason = "one arm a step, or a write, and all of them in one place"
)]
#![allow(
    clippy::enum_glob_use,
    clippy::borrowed_box,
    reason = "a table of gates; keys of a map as the product has them"
)]
#![allow(clippy::unused_self, reason = "steps are methods of the world, whether or not they ask it")]
#![allow(clippy::struct_excessive_bools, reason = "each is a trait of a configuration; they combine freely")]

pub mod admission;
mod candidates;
pub mod catalogue;
mod clock;
pub mod config;
pub mod configs;
mod configs_back;
pub mod facts;
pub mod fair;
mod gardener;
pub mod gates;
mod harm;
pub mod job;
mod landing;
pub mod mcm;
pub mod memo;
pub mod memory;
pub mod model;
mod moving;
mod pack;
pub mod planner;
mod pods;
pub mod removals;
pub mod render;
pub mod search;
pub mod state;
pub mod step;
pub mod way_back;
