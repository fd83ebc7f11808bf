//! The admission path: routes, the wire form of answers, the audit record. It asks [`crate::world`] and waits for nothing.

mod answer;
mod audit;
mod evaluate;
mod held;
mod judge;
mod metrics;
mod routes;
mod verify;
mod warning;

pub use answer::Answer;
pub use audit::{Decided, Record};
pub use evaluate::{Path, evaluate, reasons};
pub use judge::{GATE_FORWARD, judge};
pub use metrics::AdmissionMetrics;
pub use routes::{Admission, BODY_LIMIT, Switches, router};
