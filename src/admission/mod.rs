//! The admission path: routes, the wire form of answers, the audit record. It asks [`crate::world`] and waits for nothing.

mod answer;
mod audit;
mod evaluate;
mod held;
mod metrics;
mod routes;
mod verify;
mod warning;

pub use answer::Answer;
pub use audit::Record;
pub use evaluate::{Path, evaluate};
pub use metrics::AdmissionMetrics;
pub use routes::{Admission, BODY_LIMIT, router};
