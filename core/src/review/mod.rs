//! The narrow view of an `AdmissionReview` of `admission.k8s.io/v1`: only what decides, borrowed from the body, in one pass.
//!
//! No tree of the object is built, and of `oldObject` only a MachineClass's provider is kept. Members of an unexpected type never fail the parse, because then
//! the uid would be lost and with it the right answer ("allowed, unchanged"); they are kept as [`Text::Other`] or
//! [`Shape::Other`] and decided on. Of a member that stands twice the last one counts, as in Go's decoder.
//! Only text that is not JSON at all, or a review without a request or a uid, is an error.

mod error;
mod lenient;
mod object;
mod request;

pub use error::ReviewError;
pub use lenient::{Count, Shape, Text};
pub use object::{Annotations, ClassReference, LastOperation, Metadata, Object, OldObject, Spec, Status};
pub use request::{GroupResource, Operation, Request, parse, parse_object};

/// The only version of the review that is registered and answered.
pub const API_VERSION: &str = "admission.k8s.io/v1";

/// The kind of the review.
pub const KIND: &str = "AdmissionReview";
