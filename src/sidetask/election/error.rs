use std::time::Duration;

/// Why the election ended. After any of these the process has to end: what follows from it cannot be told from here.
#[derive(Debug, thiserror::Error)]
pub enum ElectionError {
    /// The work panicked. The Lease is left to expire, so that work that always panics does not rush through all replicas.
    #[error("the work of the leader panicked: {0}")]
    Panicked(String),
    /// The work ended though nothing told it to.
    #[error("the work of the leader ended by itself")]
    Ended,
    /// The term was lost and its work goes on, or something that it started: only the end of the process ends it in time.
    #[error("the leadership was lost ({lost}) and the work has not ended within {waited:?}; this process must end")]
    StillRunning {
        /// How the term ended.
        lost: String,
        /// For how long its end was awaited.
        waited: Duration,
    },
}
