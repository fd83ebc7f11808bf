//! Plans for one shoot: whose it is, whether it qualifies for the guard and for arming, what the guard's probe proves.
//!
//! The command `arm` and the side task ask the same functions.

mod arm;
mod guard;
mod nodes;
mod ownership;
mod probe;
mod steps;

pub use arm::needs_arming;
pub use guard::qualifies_for_guard;
pub use nodes::{Moment, NodeBook, NodeSeen, NodeSighting, NodesNotYet, NodesRule, every_node_ready_long_enough};
pub use ownership::{Ownership, ownership};
pub use probe::{PROBES, Probe, ProbeAnswer, REFUSAL_PREFIX, judge};
pub use steps::{GuardStep, guard_steps, is_armed};
