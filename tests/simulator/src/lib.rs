//! A faithful simulator of the STACKIT APIs that the product speaks to: tokens, servers, network interfaces, volumes.
//!
//! [`Cloud`] is the state and can be used without HTTP; [`Simulator`] serves it on loopback. Whatever a caller does is
//! kept in a [journal](Call), and a [`FaultPlan`] says which calls are to go wrong, and how.
//!
//! What the API looks like comes from the vendor's API documents
//! (<https://github.com/stackitcloud/stackit-api-specifications>: `services/iaas/v2`, `services/service-account/v2`); what they
//! leave open comes from the vendor's SDKs, the Terraform provider and their public issues, and is said where it is decided.
#![allow(clippy::missing_errors_doc, reason = "every error here ends a test; its message says what failed")]

mod cloud;
mod faults;
mod http;
mod journal;
mod keys;
mod labels;
mod model;
mod operation;
mod reply;
mod selector;
mod simulator;
mod target;
mod tokens;

pub use cloud::Cloud;
pub use faults::{Fault, FaultId, FaultPlan};
pub use journal::Call;
pub use keys::{AUDIENCE, ServiceAccountKey};
pub use labels::{LabelMode, Labels};
pub use model::{Nic, Server, Volume};
pub use operation::Operation;
pub use simulator::Simulator;
