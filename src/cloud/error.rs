use std::fmt;
use std::time::Duration;

use mcm_migration_core::domain::{ProjectId, ServerId};

use super::Operation;

/// Why a call to STACKIT failed, sorted by what follows from it. No variant holds a credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CloudError {
    /// What the write relied on does not hold any more, so it was not sent, or not tried again.
    #[error("{0}; nothing more was sent")]
    CalledOff(Box<Failure>),
    /// The API itself says that the server does not exist: a 404 in the API's own error format to a call for this server.
    #[error("{0}; the server is gone")]
    Gone(Box<Failure>),
    /// 409: the object is in a state that forbids the change. Try later.
    #[error("{0}; the state of the object forbids it now, it is tried again later")]
    Conflict(Box<Failure>),
    /// A token that was just issued is refused as well.
    #[error("{0}; a fresh token is refused: check that the endpoints of tokens and of the IaaS API belong together")]
    Unauthorized(Box<Failure>),
    /// 403: the permission is missing, or the project is. Never a proof that anything is gone.
    #[error("{0}; check the project ID and the roles of the service account")]
    Forbidden(Box<Failure>),
    /// A 404 that proves nothing about the server: of a proxy, of another path, of a whole project.
    #[error("{0}; this does not prove that the server is gone: check the endpoint, the project ID and the region")]
    NotFound(Box<Failure>),
    /// 400 or 422, or a value that is refused before anything is sent.
    #[error("{failure}; {}", if *label_pattern {
        "the API refuses the label itself, so no server can be labelled until this is understood"
    } else {
        "the same request will be refused again"
    })]
    BadRequest {
        /// The API speaks of a label or of a regular expression: it will say so for each server.
        label_pattern: bool,
        /// What failed.
        failure: Box<Failure>,
    },
    /// 429, until the tries or the deadline ended.
    #[error("{failure}; it is tried again later")]
    RateLimited {
        /// What the API's `Retry-After` asked for last.
        retry_after: Option<Duration>,
        /// What failed.
        failure: Box<Failure>,
    },
    /// 408, 5xx, no connection, a broken one, no answer in time, until the tries or the deadline ended.
    #[error("{0}; it is tried again later")]
    Unavailable(Box<Failure>),
    /// The server's certificate is not trusted.
    #[error("{0}; give the certificate authority with --ca-bundle, and check that nobody stands in between")]
    Untrusted(Box<Failure>),
    /// The answer is only a part of the list, so nothing may be concluded from what it lacks.
    #[error("{0}; nothing is concluded from a part of a list: report this, a newer version has to read the pages")]
    Incomplete(Box<Failure>),
    /// The answer cannot be read, so nothing may be concluded from it.
    #[error("{0}; nothing is concluded from it")]
    Unreadable(Box<Failure>),
    /// The token endpoint refuses the service-account key.
    #[error(
        "{0}; check that the service-account key is active and not past its end, that it belongs to this token \
         endpoint, and that the clock is right"
    )]
    Key(Box<Failure>),
    /// An answer that the API's contract does not have: a redirection, another status.
    #[error("{0}; check the endpoint and the proxies")]
    Unexpected(Box<Failure>),
}

impl CloudError {
    /// What failed.
    #[must_use]
    pub fn failure(&self) -> &Failure {
        match self {
            Self::CalledOff(failure)
            | Self::Gone(failure)
            | Self::Conflict(failure)
            | Self::Unauthorized(failure)
            | Self::Forbidden(failure)
            | Self::NotFound(failure)
            | Self::BadRequest { failure, .. }
            | Self::RateLimited { failure, .. }
            | Self::Unavailable(failure)
            | Self::Untrusted(failure)
            | Self::Incomplete(failure)
            | Self::Unreadable(failure)
            | Self::Key(failure)
            | Self::Unexpected(failure) => failure,
        }
    }

    /// The class in a word, stable, for metrics and reasons.
    #[must_use]
    pub fn reason_class(&self) -> &'static str {
        match self {
            Self::CalledOff(_) => "called-off",
            Self::Gone(_) => "gone",
            Self::Conflict(_) => "conflict",
            Self::Unauthorized(_) => "unauthorized",
            Self::Forbidden(_) => "forbidden",
            Self::NotFound(_) => "not-found",
            Self::BadRequest { label_pattern: true, .. } => "label-refused",
            Self::BadRequest { .. } => "bad-request",
            Self::RateLimited { .. } => "rate-limited",
            Self::Unavailable(_) => "unavailable",
            Self::Untrusted(_) => "untrusted",
            Self::Incomplete(_) => "incomplete",
            Self::Unreadable(_) => "unreadable",
            Self::Key(_) => "key",
            Self::Unexpected(_) => "unexpected",
        }
    }
}

/// What a failed call was, and what was said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was to be done.
    pub operation: Operation,
    /// In which project.
    pub project: ProjectId,
    /// To which server; none when the call was not for one.
    pub server: Option<ServerId>,
    /// The HTTP status; none when no answer came or nothing was sent.
    pub status: Option<u16>,
    /// `X-Request-Id` of the answer: what STACKIT's support asks for.
    pub request_id: Option<Box<str>>,
    /// `x-trace-id` of the answer.
    pub trace_id: Option<Box<str>>,
    /// How often it was tried; 0 when nothing was sent.
    pub attempts: u32,
    /// What the other side said, or what was wrong with it: at most 500 bytes, without what looks like a token.
    pub message: Box<str>,
}

/// One sentence: what failed, on what, and why.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, project, server, status, request_id, trace_id, attempts, message } = self;
        write!(f, "cannot {operation} (project {project}")?;
        if let Some(server) = server {
            write!(f, ", server {server}")?;
        }
        write!(f, "): {message}")?;
        let mut separator = " (";
        let mut note = |text: fmt::Arguments<'_>| {
            f.write_str(std::mem::replace(&mut separator, ", "))?;
            f.write_fmt(text)
        };
        if let Some(status) = status {
            note(format_args!("HTTP {status}"))?;
        }
        if let Some(id) = request_id {
            note(format_args!("request {id}"))?;
        }
        if let Some(id) = trace_id {
            note(format_args!("trace {id}"))?;
        }
        if *attempts > 1 {
            note(format_args!("tried {attempts} times"))?;
        }
        if separator == ", " { f.write_str(")") } else { Ok(()) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_failed_on_what_and_what_to_do() {
        let failure = Failure {
            operation: Operation::PatchServerLabels,
            project: ProjectId::parse("3b0f8c0e-0000-4000-8000-000000000001").unwrap(),
            server: Some(ServerId::parse("3b0f8c0e-0000-4000-8000-000000000002").unwrap()),
            status: Some(503),
            request_id: Some("req-1".into()),
            trace_id: None,
            attempts: 6,
            message: "upstream connect error".into(),
        };
        let none = Failure { server: None, status: None, request_id: None, attempts: 0, ..failure.clone() };
        assert_eq!(
            CloudError::Unavailable(Box::new(failure)).to_string(),
            "cannot label the server (project 3b0f8c0e-0000-4000-8000-000000000001, server \
             3b0f8c0e-0000-4000-8000-000000000002): upstream connect error (HTTP 503, request req-1, tried 6 times); it is \
             tried again later"
        );
        assert_eq!(
            none.to_string(),
            "cannot label the server (project 3b0f8c0e-0000-4000-8000-000000000001): upstream connect error"
        );
    }
}
