//! The optional owner record: a DNS TXT record outside the seed that names the seed that owns a shoot.
//!
//! Everything else that says who owns a shoot is read in the seed, and is stale while the gardenlet is cut off. Gardener
//! once wrote such a record (GEP-17, `owner.<internal domain of the shoot>`); whoever turns this on has to write it.
//! What cannot be looked up is not owned. An answer may be as old as the interval, plus what the resolvers on the way
//! keep it for.
#![allow(clippy::disallowed_methods, reason = "answers of DNS servers are kept in real time")]

mod dns;
mod error;
mod records;
mod template;
mod verdict;

pub use dns::DnsResolver;
pub use error::{OwnerConfigError, OwnerRecordError};
pub use records::{LookupError, OwnerRecords, TxtResolver};
pub use template::{NameTemplate, ShootNames};
