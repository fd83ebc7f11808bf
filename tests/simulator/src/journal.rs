//! What was asked of the simulator, in order.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::faults::Fault;
use crate::operation::Operation;
use crate::target::Target;

/// One call, as it was answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// Counts from 0 and goes on when the journal is cleared.
    pub sequence: u64,
    /// When the answer was decided, after the whole request had been read.
    pub at: Instant,
    /// The same, since the [`crate::Cloud`] was made.
    pub since_start: Duration,
    /// The kind of call.
    pub operation: Operation,
    /// `GET`, `PATCH`, …
    pub method: String,
    /// Path and query as they were sent.
    pub path: String,
    /// The project in the path; for [`Operation::Token`] that of the key.
    pub project: Option<String>,
    /// The region in the path.
    pub region: Option<String>,
    /// The server in the path; for [`Operation::CreateServer`] the new one.
    pub server: Option<String>,
    /// The network in the path.
    pub network: Option<String>,
    /// The network interface in the path.
    pub nic: Option<String>,
    /// The volume in the path.
    pub volume: Option<String>,
    /// The decoded `label_selector`.
    pub selector: Option<String>,
    /// The request's body if it was JSON. For [`Operation::Token`] the grant type and the assertion's claims, not the assertion.
    pub body: Option<Value>,
    /// The status that was sent; none if the caller got no answer.
    pub status: Option<u16>,
    /// Whether the call did what it asked for: also true if only the reply was lost.
    pub applied: bool,
    /// The fault that fired.
    pub fault: Option<Fault>,
    /// The `X-Request-Id` of the answer, `req-` and 32 hexadecimal digits.
    pub request_id: Option<String>,
    /// The ID of the key for which the token was issued, or that signed the assertion.
    pub kid: Option<String>,
    /// The `User-Agent` of the request.
    pub user_agent: Option<String>,
    /// Who did it, if it did not come over HTTP (see [`crate::Cloud::delete_server`]).
    pub by: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Journal {
    start: Instant,
    next: u64,
    calls: Vec<Call>,
}

impl Journal {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), next: 0, calls: Vec::new() }
    }

    /// A call that is about to be answered, without number and outcome.
    pub(crate) fn draft(&self, method: &str, path: &str, target: &Target) -> Call {
        let at = Instant::now();
        let target = target.clone();
        Call {
            sequence: 0,
            at,
            since_start: at.saturating_duration_since(self.start),
            operation: target.operation,
            method: method.to_owned(),
            path: path.to_owned(),
            project: target.project,
            region: target.region,
            server: target.server,
            network: target.network,
            nic: target.nic,
            volume: target.volume,
            selector: None,
            body: None,
            status: None,
            applied: false,
            fault: None,
            request_id: None,
            kid: None,
            user_agent: None,
            by: None,
        }
    }

    pub(crate) fn enter(&mut self, mut call: Call) {
        call.sequence = self.next;
        self.next += 1;
        self.calls.push(call);
    }

    pub(crate) fn calls(&self) -> &[Call] {
        &self.calls
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
    }
}
