//! The STACKIT client: keys and tokens, calls, limits.
//!
//! A call goes through [`Clouds`] (shared by all shoots: HTTP client, limiter of the seed) and a [`ProjectClient`] (one
//! project with one key: token, limiter of the project). What came of each try is judged without I/O (`judge`); lists
//! and objects are read by `list` and `wire`. Nothing here decides what is done to a server.
//!
//! Facts about the API: the IaaS v2 and service-account documents of `stackitcloud/stackit-api-specifications`, and the
//! key flow of `stackitcloud/stackit-sdk-go`.

mod budget;
mod check;
mod clouds;
mod config;
mod endpoint;
mod error;
mod exchange;
mod judge;
mod key;
mod labels;
mod limiter;
mod list;
mod message;
mod metrics;
mod operation;
mod parts;
mod project;
mod rate;
mod retry;
mod rsa_key;
mod token;
mod transport;
mod wire;

pub use check::Check;
pub use clouds::Clouds;
pub use config::{CloudConfig, ConfigError};
pub use endpoint::{Endpoint, InvalidEndpoint};
pub use error::{CloudError, Failure};
pub use key::{KeyError, ServiceAccountKey};
pub use metrics::CloudMetrics;
pub use operation::Operation;
pub use project::ProjectClient;
pub use rate::{InvalidRate, Rate};
pub use retry::RetrySchedule;
pub use wire::Volume;
