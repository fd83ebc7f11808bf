use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use mcm_migration_core::review;

use super::audit::Record;
use super::held::HeldLog;
use super::{AdmissionMetrics, Answer, Path, evaluate, verify, warning};
use crate::world::World;

/// The largest body, in bytes: two objects of 3 MiB, the most that an API server takes, and the envelope.
pub const BODY_LIMIT: usize = 7 * 1024 * 1024;

/// What the admission path needs.
#[derive(Debug)]
pub struct Admission {
    world: Arc<World>,
    metrics: AdmissionMetrics,
    dry_run: bool,
    held: HeldLog,
}

impl Admission {
    /// Answers by what `world` knows. With `dry_run` no answer carries a patch.
    #[must_use]
    pub fn new(world: Arc<World>, metrics: AdmissionMetrics, dry_run: bool) -> Self {
        Self { world, metrics, dry_run, held: HeldLog::default() }
    }

    /// The HTTP answer to one body.
    fn answer(&self, path: Path, body: &[u8]) -> Response {
        let start = Instant::now();
        let request = match review::parse(body) {
            Ok(request) => request,
            Err(error) => {
                self.metrics.refused("not-a-review");
                tracing::info!(target: "audit", path = path.route(), error = %error, "refused");
                return plain(StatusCode::BAD_REQUEST, error.to_string());
            }
        };
        let decision = evaluate(path, &request, &self.world, self.dry_run);
        debug_assert!(verify::applies(body, &decision), "the patch must apply to the object received");
        let record = Record { path, request: &request, decision: &decision, took: start.elapsed() };
        record.write(&self.held);
        self.metrics.decided(&record);
        let warnings = warning::warnings(&request, &decision);
        axum::Json(Answer::allow(&request.uid, &decision.patch, warnings, record.annotations())).into_response()
    }
}

/// The routes `POST /mutate/machine` and `POST /mutate/worker`.
pub fn router(admission: Arc<Admission>) -> Router {
    [Path::Machine, Path::Worker]
        .into_iter()
        .fold(Router::new(), |router, path| {
            router.route(
                path.route(),
                post(
                    move |State(admission): State<Arc<Admission>>,
                          headers: HeaderMap,
                          body: Result<Bytes, BytesRejection>| async move {
                        match read(&headers, body) {
                            Ok(body) => admission.answer(path, &body),
                            Err((status, why, message)) => {
                                admission.metrics.refused(why);
                                plain(status, message)
                            }
                        }
                    },
                ),
            )
        })
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(admission)
}

fn read(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Bytes, (StatusCode, &'static str, String)> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let message = "send an AdmissionReview as application/json".to_owned();
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", message));
    }
    body.map_err(|rejection| (rejection.status(), "body", rejection.body_text()))
}

fn plain(status: StatusCode, message: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], message).into_response()
}
