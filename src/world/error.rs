use super::Resource;

/// Why the cluster cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// A resource cannot be listed or watched.
    #[error(
        "cannot {verb} {resource}: {message}; check that the API server is there and that the shipped RBAC is applied"
    )]
    Call {
        /// `list`, `watch` or `get`.
        verb: &'static str,
        /// What.
        resource: Resource,
        /// The API server's or the client's own words.
        message: String,
    },
    /// The API server did not answer in time.
    #[error("the API server gave no answer to {verb} {resource} within {seconds} s; it is tried again")]
    Silent {
        /// `list`, `watch` or `get`.
        verb: &'static str,
        /// What.
        resource: Resource,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A watch's task ended, which it never does by itself.
    #[error("the task that watches the cluster ended: {0}; start the program again")]
    Ended(String),
}
