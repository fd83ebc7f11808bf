//! A stand-in for the machine-controller-manager (MCM) with both providers, faithful where servers die: it runs beside a test
//! of the product, and fails the test the moment it would delete the server of a live Machine.
//!
//! What it does was read in public source: gardener/machine-controller-manager
//! (`pkg/util/provider/machinecontroller/machine_safety.go`), gardener/machine-controller-manager-provider-openstack
//! (`pkg/driver`) and stackitcloud/machine-controller-manager-provider-stackit (`pkg/provider/list.go`, `delete.go`).
//! Draining, health checks and what makes Machines are left out.
//!
//! Before it deletes a server it asks the API server, past its own copy, whether a live Machine names that server. If one
//! does, the server stays, so that the rest can be examined, and [`Mcm::verdict`] says who was about to die.
#![allow(clippy::missing_errors_doc, reason = "every error here ends a test; its message says what failed")]

mod background;
mod collector;
mod copy;
mod election;
mod event;
mod fleet;
mod frost;
mod informer;
mod judge;
mod killed;
mod life;
mod machines;
mod making;
mod mcm;
mod model;
mod network;
mod options;
mod pod;
mod shared;

pub use event::Event;
pub use fleet::Fleet;
pub use killed::Killed;
pub use mcm::Mcm;
pub use options::Options;
pub use rig::shoot::Provider;
