//! Exports: everything of a shoot that a migration touches, as lines of text that vouch for each other, and what may be restored from them.
//!
//! Values in, values out: the hash is handed in, files and the API server are somebody else's.

mod line;
mod read;
mod record;
mod restore;

pub use line::{Hash, write};
pub use read::{Refused, read};
pub use record::{
    ClassRecord, Export, FORMAT, Header, MachineRecord, MigrationRecord, NamespaceRecord, Place, Record, ServerRecord,
    Trailer, UnknownServers, WorkerRecord, kept_annotations,
};
pub use restore::{Change, Finding, Verdict, finding};
