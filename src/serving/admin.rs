use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::registry::Registry;

use super::Readiness;

/// `/livez` (200 while the process runs), `/readyz` (503 with a line for each failing check) and `/metrics` (`OpenMetrics`).
pub fn admin_router(
    registry: Arc<Registry>,
    readiness: Readiness,
    refresh: impl Fn() + Clone + Send + Sync + 'static,
) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(move || std::future::ready(readyz(&readiness))))
        .route(
            "/metrics",
            get(move || {
                refresh();
                std::future::ready(metrics(&registry))
            }),
        )
        .layer(DefaultBodyLimit::max(4096))
}

fn readyz(readiness: &Readiness) -> Response {
    let failing = readiness.failing();
    if failing.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, failing.join("\n") + "\n").into_response()
}

fn metrics(registry: &Registry) -> Response {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
