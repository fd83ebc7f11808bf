//! The test rig of mcm-migration-webhook: a real kube-apiserver over a real etcd, a TCP forwarder that stands for the
//! Service, a proxy that misbehaves on demand, a runner for the product's binary, and fixtures of Gardener and the
//! machine-controller-manager (MCM).
//!
//! Everything here may be shared by tests that run on different tokio runtimes: what lives longer than one call runs in
//! processes or on threads of its own. Every child process ends with the value that started it, and also when the test
//! process is killed (see [`process`]).
#![allow(clippy::missing_errors_doc, reason = "every error here ends a test; its message says what failed")]

pub mod api_server;
mod arm;
pub mod assets;
pub mod audit;
mod background;
pub mod certs;
pub mod crds;
mod etcd;
pub mod forwarder;
mod go_build;
pub mod in_force;
pub mod install;
pub mod kubeconfig;
pub mod kubectl;
mod lent;
pub mod namespaces;
pub mod objects;
mod ports;
pub mod process;
pub mod product;
pub mod prometheus;
pub mod proxy;
mod reset;
mod shared;
pub mod shoot;
mod store;
pub mod txt_zone;
mod undertaker;
pub mod wait;

pub use api_server::{ApiServer, ApiServerOptions};
pub use arm::arm_by_hand;
pub use assets::Assets;
pub use forwarder::Forwarder;
pub use kubectl::Output;
pub use lent::Lent;
pub use product::Product;
pub use proxy::ApiProxy;
pub use rustix::process::Signal;
pub use shared::Shared;
pub use shoot::Shoot;
pub use txt_zone::TxtZone;
pub use wait::until;

/// Installs the process-wide TLS provider; every client of this crate calls it first, and calling it again does nothing.
pub fn install_tls_provider() {
    // An error says that a provider is installed already, which is what is wanted.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}

/// Tells the person at the terminal what takes so long. `cargo test` captures `eprintln!`, so this writes around it.
pub(crate) fn say(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "rig: {line}");
}
