//! The pure part of `mcm-migration-webhook`: the words of the domain, the parser of admission reviews,
//! the decisions and the patches that carry them.
//!
//! Everything here takes values and returns values. There is no I/O, no clock and no Kubernetes client:
//! the library does not depend on any, so the compiler keeps them out.
//!
//! The rooms, in the order in which they know each other:
//!
//! | room | holds |
//! |---|---|
//! | [`domain`] | provider IDs, keys, providers, reasons |
//! | [`review`] | the narrow view of an `AdmissionReview`, parsed in one pass |
//! | [`decide`] | what is known of a namespace, the gate, the decisions, the patch |
//! | [`plan`] | whether a shoot qualifies for the guard and for arming, and what the answers of the guard's probe prove |
//! | [`archive`] | exports of a shoot, and what may be restored from them |

pub mod archive;
pub mod decide;
pub mod domain;
pub mod plan;
pub mod review;
