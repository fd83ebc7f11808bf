//! Leader election by a Lease, by the rules of client-go's `tools/leaderelection`, and stricter where two leaders could
//! meet otherwise:
//!
//! - whether a record has expired is judged by how long this process has seen it unchanged, on the monotonic clock;
//! - an absent Lease is made for nobody first, and waited for like one that is held: somebody may have deleted it under a
//!   leader who is cut off (client-go makes it and leads at once). The first leader ever waits one lease duration;
//! - a record that names this process, which leads by no term, has to expire like any other;
//! - a record without a holder is free at once only if it was released, which its duration of one second says;
//! - a leader stops when the record names another, not only at its deadline;
//! - the deadline counts from before the last renewal that succeeded was sent, and no task has to run for
//!   [`Leadership::holds`] to say no.
//!
//! `candidate` decides and does no I/O, `lease_api` makes the calls, `run` binds them to the work. A term that
//! ended is not the end of the process: it goes on as a follower, because it still answers admission calls. The next
//! term's work cannot meet that of the last one: a term is over when its task has ended and every clone of its
//! [`Leadership`] is gone; if that does not happen in time, [`run`] gives up and the process has to end.
#![allow(clippy::disallowed_methods, reason = "a lease is held in real time")]

mod campaign;
mod candidate;
mod config;
mod error;
mod leadership;
mod lease_api;
mod record;
mod run;
mod standing;

pub use config::{ConfigError, ElectionConfig};
pub use error::ElectionError;
pub use leadership::{Leadership, Term};
pub use run::{Election, run};
pub use standing::Standing;
