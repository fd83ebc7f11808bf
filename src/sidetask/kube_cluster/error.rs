use super::ClusterError;
use crate::seed::CallError;
use crate::world::WorldError;

impl From<CallError> for ClusterError {
    fn from(error: CallError) -> Self {
        match error.code() {
            Some(code) => by_code(code, error.to_string()),
            None => Self::NoAnswer(error.to_string()),
        }
    }
}

/// What a failed read of `what` means.
pub(super) fn not_read(what: &str, error: &WorldError) -> ClusterError {
    let text = format!("cannot read {what}: {error}");
    match error {
        WorldError::Refused { code, .. } => by_code(*code, text),
        WorldError::Unreadable { .. } => ClusterError::Refused(text),
        WorldError::Unreachable { .. } | WorldError::Silent { .. } | WorldError::Ended(_) => {
            ClusterError::NoAnswer(text)
        }
    }
}

fn by_code(code: u16, text: String) -> ClusterError {
    match code {
        404 => ClusterError::Gone(text),
        409 => ClusterError::Conflict(text),
        _ => ClusterError::Refused(text),
    }
}

/// An answer that is not what it should be. Its own words are not told: they would quote the object.
pub(super) fn unreadable(what: &str) -> ClusterError {
    ClusterError::Refused(format!("cannot read {what}: the API server's answer has an unexpected shape"))
}
