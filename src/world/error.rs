use super::Resource;

/// Why the cluster cannot be looked at. No variant carries anything of an object but its name.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The API server answered with an error.
    #[error("the API server refuses to {verb} {resource}: {message} (HTTP {code}); {}", what_to_do(*code))]
    Refused {
        /// `get`, `list` or `watch`.
        verb: &'static str,
        /// What.
        resource: Resource,
        /// The HTTP status.
        code: u16,
        /// The API server's own words.
        message: String,
    },
    /// There was no answer, or it broke off.
    #[error(
        "cannot {verb} {resource}: {message}; check that the API server is there and that the credentials are right, it is tried again"
    )]
    Unreachable {
        /// `get`, `list` or `watch`.
        verb: &'static str,
        /// What.
        resource: Resource,
        /// The client's own words.
        message: String,
    },
    /// The API server did not answer in time, or a watch is silent.
    #[error(
        "the API server says nothing to {verb} {resource} within {seconds} s; look for what holds its connections up, it is tried again"
    )]
    Silent {
        /// `get`, `list` or `watch`.
        verb: &'static str,
        /// What.
        resource: Resource,
        /// How long it was waited for.
        seconds: u64,
    },
    /// What came cannot be read, so nothing may be concluded from the rest.
    #[error("cannot read {what} among the {resource}: {message}; nothing is concluded from them until it is corrected")]
    Unreadable {
        /// What.
        resource: Resource,
        /// Namespace and name of the object, or what else it was.
        what: String,
        /// What was wrong, without a value.
        message: String,
    },
    /// A task ended, which it never does by itself.
    #[error("the task that watches the cluster ended: {0}; start the program again")]
    Ended(String),
}

impl WorldError {
    /// The HTTP status of a refusal; 0 where there was none.
    pub(crate) fn code(&self) -> u16 {
        if let Self::Refused { code, .. } = self { *code } else { 0 }
    }
}

fn what_to_do(code: u16) -> &'static str {
    match code {
        401 => "check that the credentials are still valid",
        403 => "apply the shipped RBAC, and check that it is bound to who asks",
        404 => {
            "install the CRDs of Gardener and of the machine-controller-manager in this cluster, or name the right one"
        }
        _ => "it is tried again",
    }
}
