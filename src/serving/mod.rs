//! Listeners, TLS, certificates, shutdown, the admin listener, metrics. The room knows none of the others.

mod admin;
mod certificate;
mod connections;
mod folder;
pub mod issue;
mod listeners;
mod metrics;
mod readiness;
pub mod self_managed;
mod signals;
mod tls;

pub use admin::admin_router;
pub use certificate::{CertificateStore, PairError};
pub use folder::CertificateFolder;
pub use listeners::{ListenConfig, Listeners, ServingError};
pub use metrics::ServingMetrics;
pub use readiness::Readiness;
pub use signals::{Signals, SignalsError};
