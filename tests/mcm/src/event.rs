//! What a stand-in did.

/// One thing that happened, besides what is in the objects and in the cloud's journal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// It took the Lease and began to work, with an empty copy.
    Leads,
    /// It lost the Lease, or could not renew it, and ended itself.
    Ended,
    /// It deleted a server: an orphan, or that of a Machine that goes away.
    Deleted {
        /// The cloud's ID.
        server: String,
        /// What it believed.
        why: String,
    },
    /// It took its finalizer off a Machine.
    Finished {
        /// The Machine's name.
        machine: String,
    },
    /// It took its finalizer off a Machine whose server it left behind.
    Leaked {
        /// The Machine's name.
        machine: String,
        /// The server that its ID names, or that has its name.
        server: String,
    },
    /// A terminating Machine stays, because the provider refuses to delete its server.
    Hangs {
        /// The Machine's name.
        machine: String,
        /// What the provider says.
        why: String,
    },
    /// It made a server for a Machine.
    Created {
        /// The Machine's name.
        machine: String,
        /// The cloud's ID.
        server: String,
        /// Whether the project had a server of that name already.
        second: bool,
    },
}
