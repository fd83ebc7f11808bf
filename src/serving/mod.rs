//! Listeners, TLS, certificates, shutdown, the admin listener, metrics. It knows none of the other rooms: what is served comes in as a router.
//!
//! | file | holds |
//! |---|---|
//! | [`listeners`] | the two sockets |
//! | [`serve`](mod@serve) | both listeners from start to shutdown |
//! | `site` | one listener: connection cap, handshake, the tasks of its connections |
//! | `connection` | one connection: first request, idle time, age |
//! | `exchange` | one call: body limit, deadline, panics, `Connection: close` |
//! | [`shutdown`] | stop and abort, by signal or by hand |
//! | [`readiness`], [`admin`] | `/livez`, `/readyz`, `/metrics` |
//! | [`certificates`] | where the serving certificate comes from, and how it is renewed |

pub mod admin;
pub mod certificates;
mod connection;
mod exchange;
pub mod listeners;
pub mod metrics;
pub mod readiness;
pub mod serve;
pub mod shutdown;
mod site;
mod unix_time;

pub use admin::Admin;
pub use certificates::{CertificateFolder, CertificateStore, SelfManaged};
pub use listeners::{ListenConfig, Listeners, ServingError};
pub use metrics::ServingMetrics;
pub use readiness::Readiness;
pub use serve::serve;
pub use shutdown::Shutdown;
pub use unix_time::UnixTime;
