use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use mcm_migration_core::review::{self, Request};

use super::audit::{Decided, Record};
use super::held::HeldLog;
use super::judge::{MACHINE_CLASSES, refusal};
use super::{AdmissionMetrics, Answer, GATE_FORWARD, Path, evaluate, judge, verify, warning};
use crate::world::World;

/// The largest body, in bytes: two objects of 3 MiB, the most that an API server takes, and the envelope.
pub const BODY_LIMIT: usize = 7 * 1024 * 1024;

/// What the admission path needs.
#[derive(Debug)]
pub struct Admission {
    world: Arc<World>,
    metrics: AdmissionMetrics,
    switches: Switches,
    held: HeldLog,
}

/// What the program was told at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    /// No answer carries a patch, and none refuses.
    pub dry_run: bool,
    /// This replica may run the side task; a refusal says so where it may not.
    pub side_task: bool,
}

impl Admission {
    /// Answers by what `world` knows.
    #[must_use]
    pub fn new(world: Arc<World>, metrics: AdmissionMetrics, switches: Switches) -> Self {
        Self { world, metrics, switches, held: HeldLog::default() }
    }

    /// The HTTP answer to one body.
    fn answer(&self, route: Route, body: &[u8]) -> Response {
        let start = Instant::now();
        let request = match review::parse(body) {
            Ok(request) => request,
            Err(error) => {
                self.metrics.refused("not-a-review");
                tracing::info!(target: "audit", path = route.path(), error = %error, "refused");
                return plain(StatusCode::BAD_REQUEST, error.to_string());
            }
        };
        match route {
            Route::Mutate(path) => self.mutate(path, &request, body, start),
            Route::GateForward => self.let_through(&request, start),
        }
    }

    fn mutate(&self, path: Path, request: &Request<'_>, body: &[u8], start: Instant) -> Response {
        let decision = evaluate(path, request, &self.world, self.switches.dry_run);
        debug_assert!(verify::applies(body, &decision), "the patch must apply to the object received");
        let decided = Decided::Change(&decision);
        let annotations = self.record(&Record { resource: path.resource().1, request, decided, took: start.elapsed() });
        let warnings = warning::not_migrated(request, &decision);
        axum::Json(Answer::allow(&request.uid, &decision.patch, warnings, annotations)).into_response()
    }

    fn let_through(&self, request: &Request<'_>, start: Instant) -> Response {
        let verdict = judge(request, &self.world, self.switches.dry_run);
        let decided = Decided::Entry(&verdict);
        let resource = MACHINE_CLASSES.1;
        let annotations = self.record(&Record { resource, request, decided, took: start.elapsed() });
        let refusal = refusal(request, &verdict, self.switches.side_task);
        axum::Json(Answer::judge(&request.uid, refusal, warning::waived(&verdict), annotations)).into_response()
    }

    fn record(&self, record: &Record<'_>) -> BTreeMap<&'static str, String> {
        record.write(&self.held);
        self.metrics.decided(record);
        record.annotations()
    }
}

#[derive(Debug, Clone, Copy)]
enum Route {
    Mutate(Path),
    GateForward,
}

impl Route {
    const ALL: [Self; 3] = [Self::Mutate(Path::Machine), Self::Mutate(Path::Worker), Self::GateForward];

    fn path(self) -> &'static str {
        match self {
            Self::Mutate(path) => path.route(),
            Self::GateForward => GATE_FORWARD,
        }
    }
}

/// The routes `POST /mutate/machine`, `POST /mutate/worker` and `POST /validate/machineclass`.
pub fn router(admission: Arc<Admission>) -> Router {
    Route::ALL
        .into_iter()
        .fold(Router::new(), |router, route| {
            router.route(
                route.path(),
                post(
                    move |State(admission): State<Arc<Admission>>,
                          headers: HeaderMap,
                          body: Result<Bytes, BytesRejection>| async move {
                        match read(&headers, body) {
                            Ok(body) => admission.answer(route, &body),
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
