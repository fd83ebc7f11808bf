//! What follows from one answer. Pure.

use std::time::Duration;

use mcm_migration_core::domain::{ProjectId, ServerId};

use super::message::read_error;
use super::transport::{Answer, Broken};
use super::{CloudError, Failure, Operation};

/// What a call is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) operation: Operation,
    pub(super) project: ProjectId,
    pub(super) server: Option<ServerId>,
}

/// What follows from one try.
#[derive(Debug)]
pub(super) enum Verdict {
    Done(Answer),
    /// The token is refused.
    SignInAgain(CloudError),
    /// It may go better later.
    Again {
        error: CloudError,
        after: Option<Duration>,
    },
    /// It will not go better.
    Final(CloudError),
}

impl Target {
    /// A failure without an answer.
    pub(super) fn failure(self, attempts: u32, message: impl Into<Box<str>>) -> Box<Failure> {
        let Self { operation, project, server } = self;
        Box::new(Failure {
            operation,
            project,
            server,
            status: None,
            request_id: None,
            trace_id: None,
            attempts,
            message: message.into(),
        })
    }

    /// A failure that an answer tells of.
    pub(super) fn failure_of(self, attempts: u32, answer: &Answer, message: impl Into<Box<str>>) -> Box<Failure> {
        Box::new(Failure {
            status: Some(answer.status),
            request_id: answer.request_id.clone(),
            trace_id: answer.trace_id.clone(),
            ..*self.failure(attempts, message)
        })
    }

    /// Judges the `attempts`-th try, with which `secret` was sent.
    pub(super) fn judge(self, attempts: u32, outcome: Result<Answer, Broken>, secret: &str) -> Verdict {
        let answer = match outcome {
            Ok(answer) => answer,
            Err(Broken::Lost(message)) => {
                let error = CloudError::Unavailable(self.failure(attempts, message));
                return Verdict::Again { error, after: None };
            }
            Err(Broken::Untrusted(message)) => {
                return Verdict::Final(CloudError::Untrusted(self.failure(attempts, message)));
            }
            Err(Broken::TooLarge) => {
                let failure = self.failure(attempts, "the answer is larger than any real one");
                return Verdict::Final(CloudError::Unreadable(failure));
            }
        };
        if (200..300).contains(&answer.status) {
            return Verdict::Done(answer);
        }
        let body = read_error(&answer.body, Some(secret));
        let says_label = body.message.contains("regex") || body.message.to_ascii_lowercase().contains("label");
        let names_the_server = self.proves_gone() && body.own_code == Some(404) && !speaks_of_a_parent(&body.message);
        let failure = self.failure_of(attempts, &answer, body.message);
        let after = answer.retry_after;
        let of_token = self.operation == Operation::GetToken;
        match answer.status {
            400 | 401 | 403 if of_token => Verdict::Final(CloudError::Key(failure)),
            408 | 500 | 502 | 503 | 504 => Verdict::Again { error: CloudError::Unavailable(failure), after },
            429 => Verdict::Again { error: CloudError::RateLimited { retry_after: after, failure }, after },
            501 | 505..=599 => Verdict::Final(CloudError::Unavailable(failure)),
            _ if of_token => Verdict::Final(CloudError::Unexpected(failure)),
            400 | 422 => {
                Verdict::Final(CloudError::BadRequest { label_pattern: says_label && self.sends_labels(), failure })
            }
            401 => Verdict::SignInAgain(CloudError::Unauthorized(failure)),
            403 => Verdict::Final(CloudError::Forbidden(failure)),
            404 if names_the_server => Verdict::Final(CloudError::Gone(failure)),
            404 => Verdict::Final(CloudError::NotFound(failure)),
            409 => Verdict::Final(CloudError::Conflict(failure)),
            _ => Verdict::Final(CloudError::Unexpected(failure)),
        }
    }

    /// Whether a 404 can only mean the server: the last object that the path names is one.
    fn proves_gone(self) -> bool {
        self.server.is_some()
            && matches!(
                self.operation,
                Operation::GetServer
                    | Operation::PatchServerLabels
                    | Operation::ListServerNics
                    | Operation::ListAttachments
            )
    }

    fn sends_labels(self) -> bool {
        matches!(
            self.operation,
            Operation::PatchServerLabels
                | Operation::PatchNicLabels
                | Operation::PatchVolumeLabels
                | Operation::ListServers
        )
    }
}

/// A 404 for the whole project or region says nothing of one server in it.
fn speaks_of_a_parent(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["project", "region", "organization", "organisation", "route"].iter().any(|word| message.contains(word))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GONE: &str = r#"{"code":404,"msg":"server not found"}"#;

    fn target(operation: Operation) -> Target {
        Target {
            operation,
            project: ProjectId::parse("3b0f8c0e-0000-4000-8000-000000000001").unwrap(),
            server: Some(ServerId::parse("3b0f8c0e-0000-4000-8000-000000000002").unwrap()),
        }
    }

    fn answer(status: u16, body: &str) -> Answer {
        Answer {
            status,
            request_id: Some("req-1".into()),
            trace_id: Some("trace-1".into()),
            retry_after: Some(Duration::from_secs(3)),
            has_next: false,
            body: body.into(),
        }
    }

    fn class(operation: Operation, status: u16, body: &str) -> &'static str {
        match target(operation).judge(1, Ok(answer(status, body)), "hush") {
            Verdict::Done(_) => "done",
            Verdict::SignInAgain(error) | Verdict::Again { error, .. } | Verdict::Final(error) => error.reason_class(),
        }
    }

    #[test]
    fn each_status_has_its_class() {
        for (status, expected) in [
            (200, "done"),
            (302, "unexpected"),
            (400, "bad-request"),
            (401, "unauthorized"),
            (403, "forbidden"),
            (405, "unexpected"),
            (408, "unavailable"),
            (409, "conflict"),
            (410, "unexpected"),
            (422, "bad-request"),
            (429, "rate-limited"),
            (500, "unavailable"),
            (501, "unavailable"),
            (503, "unavailable"),
            (504, "unavailable"),
        ] {
            assert_eq!(class(Operation::GetServer, status, "x"), expected, "{status}");
        }
        for (status, expected) in [
            (200, "done"),
            (307, "unexpected"),
            (400, "key"),
            (401, "key"),
            (403, "key"),
            (404, "unexpected"),
            (409, "unexpected"),
            (429, "rate-limited"),
            (503, "unavailable"),
        ] {
            assert_eq!(class(Operation::GetToken, status, GONE), expected, "{status} of the token endpoint");
        }
    }

    #[test]
    fn only_the_apis_own_word_on_this_very_server_means_gone() {
        for operation in
            [Operation::GetServer, Operation::PatchServerLabels, Operation::ListServerNics, Operation::ListAttachments]
        {
            assert_eq!(class(operation, 404, GONE), "gone");
            for body in [
                "",
                "server not found",
                "<html>404</html>",
                r#"{"code":403,"msg":"server not found"}"#,
                r#"{"status":404,"message":"server not found"}"#,
                r#"{"code":404,"msg":"project not found"}"#,
                r#"{"code":404,"msg":"Region not found"}"#,
            ] {
                assert_eq!(class(operation, 404, body), "not-found", "{body}");
            }
        }
        for operation in
            [Operation::ListServers, Operation::PatchNic, Operation::PatchAttachment, Operation::ListVolumes]
        {
            assert_eq!(class(operation, 404, GONE), "not-found");
        }
        let mut list = target(Operation::GetServer);
        list.server = None;
        let verdict = list.judge(1, Ok(answer(404, GONE)), "hush");
        assert!(matches!(verdict, Verdict::Final(CloudError::NotFound(_))), "{verdict:?}");
    }

    #[test]
    fn a_refused_label_is_told_from_another_bad_request() {
        for (operation, message, expected) in [
            (Operation::PatchServerLabels, "does not match regex ^a$: key x/y", "label-refused"),
            (Operation::ListServers, "invalid label_selector", "label-refused"),
            (Operation::PatchServerLabels, "invalid uuid", "bad-request"),
            (Operation::PatchNic, "Label", "bad-request"),
        ] {
            assert_eq!(class(operation, 400, &format!(r#"{{"code":400,"msg":"{message}"}}"#)), expected, "{message}");
        }
    }

    #[test]
    fn what_was_said_and_the_ids_stand_in_the_failure() {
        let Verdict::Again { error, after } =
            target(Operation::GetServer).judge(4, Ok(answer(503, "no hush today")), "hush")
        else {
            unreachable!("a 503 is tried again");
        };
        assert_eq!(after, Some(Duration::from_secs(3)));
        let failure = error.failure();
        assert_eq!((failure.status, failure.attempts, &*failure.message), (Some(503), 4, "no [left out] today"));
        assert_eq!((failure.request_id.as_deref(), failure.trace_id.as_deref()), (Some("req-1"), Some("trace-1")));
    }

    proptest! {
        #[test]
        fn nothing_but_a_404_of_its_own_is_gone(status in 100u16..600, body: Vec<u8>) {
            let mut answer = answer(status, "");
            answer.body = body;
            let verdict = target(Operation::GetServer).judge(1, Ok(answer), "hush");
            prop_assert!(!matches!(verdict, Verdict::Final(CloudError::Gone(_))));
        }
    }
}
