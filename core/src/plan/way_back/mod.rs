//! The way back: one shoot's Machines get their OpenStack IDs again, without losing a server.
//!
//! The command `rollback` asks these functions, and so does whoever else writes old data into a namespace ([`may_write_old`],
//! [`may_write_back`]).
//!
//! Two hazards set the order. A server that carries the STACKIT provider's class label while its Machine has an OpenStack ID is deleted by
//! the STACKIT machine-controller-manager; so that one must be gone, and the labels off, before an ID is written back. A Machine with a
//! STACKIT ID loses its server once a class is `OpenStack` again; so the guard, which refuses such a class, stays until every
//! machine-controller-manager that could act is known to have the old IDs in its cache.

mod gate;
mod holds;
mod labels;
mod next;
mod outline;
mod previous;
mod shoot;

pub use gate::{LabelsOf, may_write_back, may_write_old};
pub use outline::{Line, State, outline};
pub use shoot::{Ends, Next, Step, WayBack};
