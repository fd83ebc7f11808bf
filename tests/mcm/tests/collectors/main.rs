//! What the stand-ins do, beside each other on one API server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod machines_come_and_go;
mod openstack_kills;
mod process_lives_and_ends;
mod scene;
mod stackit_kills;
