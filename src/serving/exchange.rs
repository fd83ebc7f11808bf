//! One call: what it may take and what its answer carries.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use http::header::{CONNECTION, RETRY_AFTER};
use http::{HeaderValue, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};
use tower::ServiceExt;

use super::ServingMetrics;

/// What one call may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallLimits {
    /// Bytes of the body.
    pub(super) body: usize,
    /// For body and handler together.
    pub(super) deadline: Duration,
}

/// Why a call did not reach the router, or was taken from it.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    TooLarge,
    SlowBody,
    BrokenBody,
    SlowHandler,
    Panic,
}

impl Refusal {
    /// The label of the metric, the status and the text. Never with `Retry-After`: the API server would repeat the call
    /// within the user's own deadline.
    fn parts(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::TooLarge => ("too-large", StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than any review\n"),
            Self::SlowBody => ("slow-body", StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time\n"),
            Self::BrokenBody => ("broken-body", StatusCode::BAD_REQUEST, "the body broke off\n"),
            Self::SlowHandler => ("slow-handler", StatusCode::SERVICE_UNAVAILABLE, "the answer took too long\n"),
            Self::Panic => ("panic", StatusCode::INTERNAL_SERVER_ERROR, "a defect of this program, see its log\n"),
        }
    }
}

/// Answers `request` by `router` within `limits`, whatever happens. `last` says, once the answer is known, whether it is to be
/// the last one of its connection.
pub(super) async fn answer(
    router: Router,
    request: Request<Incoming>,
    limits: CallLimits,
    metrics: &ServingMetrics,
    last: impl FnOnce() -> bool,
) -> Response {
    let deadline = Instant::now() + limits.deadline;
    let answered = match read(request, limits.body, deadline).await {
        Ok(request) => {
            // The router is this call's own clone: nothing that a panic could leave half-done is used again.
            let call = AssertUnwindSafe(router.oneshot(request)).catch_unwind();
            match timeout_at(deadline, call).await {
                Ok(Ok(Ok(response))) => Ok(response),
                Ok(Err(panic)) => {
                    tracing::error!(panic = panic_message(panic.as_ref()), "the handler of a call panicked");
                    Err(Refusal::Panic)
                }
                Err(_) => Err(Refusal::SlowHandler),
            }
        }
        Err(refusal) => Err(refusal),
    };
    let mut response = answered.unwrap_or_else(|refusal| {
        let (reason, status, text) = refusal.parts();
        metrics.refuse(reason);
        tracing::debug!(reason, "call refused");
        (status, text).into_response()
    });
    response.headers_mut().remove(RETRY_AFTER);
    // The API server gets no such answer in ordinary use; whoever does gets no place to wait in.
    if !response.status().is_success() || last() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Takes in the whole body. One that is too large is read on to its end or the deadline and thrown away: answering earlier
/// would reset the connection under the client's hands, and the answer would be lost.
async fn read(request: Request<Incoming>, limit: usize, deadline: Instant) -> Result<Request<Body>, Refusal> {
    let (parts, mut body) = request.into_parts();
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut too_large = announced > limit;
    // Pages that never arrive are never touched, so an announcement alone costs no memory.
    let mut kept = Vec::with_capacity(if too_large { 0 } else { announced });
    while !body.is_end_stream() {
        let frame = match timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => return Err(Refusal::BrokenBody),
            Ok(None) => break,
            Err(_) if too_large => return Err(Refusal::TooLarge),
            Err(_) => return Err(Refusal::SlowBody),
        };
        let Ok(data) = frame.into_data() else { continue };
        too_large |= kept.len().saturating_add(data.len()) > limit;
        if too_large {
            kept = Vec::new();
        } else if kept.is_empty() && body.is_end_stream() {
            return Ok(Request::from_parts(parts, Body::from(data)));
        } else {
            kept.extend_from_slice(&data);
        }
    }
    if too_large { Err(Refusal::TooLarge) } else { Ok(Request::from_parts(parts, Body::from(Bytes::from(kept)))) }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("(no text)")
}
