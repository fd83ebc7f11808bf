//! Small shoots, each switched in an order of its own, on a seed where replicas and the API server come and go.
#![allow(dead_code, unreachable_pub, reason = "read by one test file")]

pub mod crew;
pub mod finish;
pub mod neighbour;
pub mod order;
pub mod play;
pub mod stage;
pub mod write;
