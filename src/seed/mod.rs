//! Calls to the seed's API server beyond what is watched: the guard and its probe, the status of a MachineMigration, the Nodes.
//!
//! The command `arm` and the side task make the same calls.

mod calls;
mod condition;
mod nodes;
mod probe;

pub(crate) use calls::{CallError, Seed, call};
pub(crate) use condition::{Shown, status_patch};
pub(crate) use nodes::nodes;
pub(crate) use probe::{Unproven, prove};
