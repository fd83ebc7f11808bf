//! What must hold for every text that comes from outside. Each function takes one text and panics when a promise is broken.
//!
//! The fuzz targets call them with what libFuzzer makes up, and a plain test with the seeds in `fuzz/seeds` and everything near them.
// The rooms of the product that are included here have tests of their own, which run where the rooms are at home.
#![cfg(not(test))]
#![allow(clippy::panic, clippy::missing_panics_doc, reason = "a broken promise is told by panicking")]

mod cloud;
mod export_file;
mod provider_id;
mod review;

pub use cloud::error_answer::error_answer;
pub use cloud::key_file::key_file;
pub use cloud::list_answer::list_answer;
pub use cloud::token_answer::token_answer;
pub use export_file::export_file;
pub use provider_id::provider_id;
pub use review::review;

/// The name of a target and its property.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 7] = [
    ("error_answer", error_answer),
    ("export_file", export_file),
    ("key_file", key_file),
    ("list_answer", list_answer),
    ("provider_id", provider_id),
    ("review", review),
    ("token_answer", token_answer),
];
