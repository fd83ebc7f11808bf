//! An exhaustive model of a migration.
//!
//! The planner and the gates are the product's own functions, asked about facts that are built from the model's state. Only what surrounds them
//! is modelled: the API server, informers, machine-controller-managers, Gardener, the cloud, the clock.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::cast_possible_truncation, reason = "there are two seeds, two classes and three Machines")]

pub mod admission;
pub mod config;
pub mod configs;
pub mod facts;
pub mod fair;
pub mod gates;
pub mod mcm;
pub mod memo;
pub mod memory;
pub mod model;
pub mod planner;
pub mod removals;
pub mod render;
pub mod search;
pub mod state;
pub mod step;
pub mod way_back;
