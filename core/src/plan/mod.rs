//! Plans for one shoot: whose it is, whether it qualifies for the guard and for arming, what the guard's probe proves.
//!
//! The command `arm` and the side task ask the same functions.

mod action;
mod arm;
mod backoff;
mod class;
mod cloud_view;
mod direction;
mod exception;
mod guard;
mod label;
mod label_parts;
mod leftover_labels;
mod leftovers;
mod nodes;
mod ownership;
mod probe;
mod quarantine;
mod report;
mod retire;
mod rewrite;
mod seen;
mod settings;
mod settle;
mod shoot;
mod steps;
pub mod way_back;
mod worker;

use crate::domain::Region;

pub use action::Action;
pub use arm::needs_arming;
pub use backoff::Backoff;
pub use class::ClassDetails;
pub use cloud_view::{CloudView, Listed, ListedParts};
pub use direction::Direction;
pub use exception::Finding;
pub use guard::qualifies_for_guard;
pub use label_parts::{is_made_apart, part_labels};
pub use leftover_labels::{OldLabels, old_labels, stale_markers};
pub use leftovers::{
    Alive, Kept, Leftover, Remains, confirmed, leftovers, leftovers_of_others, may_be_deleted, may_be_swept,
};
pub use nodes::{Moment, NodeBook, NodeSeen, NodeSighting, NodesNotYet, NodesRule, every_node_ready_long_enough};
pub use ownership::{Ownership, ownership};
pub use probe::{PROBES, Probe, ProbeAnswer, REFUSAL_PREFIX, judge};
pub use quarantine::{NotYet, quarantine_is_over};
pub use report::{Counts, Phase, Report, Say, report};
pub use seen::{LeaseSighting, Seen};
pub use settings::Settings;
pub use shoot::{Kind, Plan, Proof, Shoot, Wait, plan};
pub use steps::{GuardStep, guard_steps, is_armed};
