//! The admin listener's routes.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::Readiness;

/// What the admin listener shows.
pub struct Admin {
    /// What `/readyz` answers.
    pub readiness: Readiness,
    /// What `/metrics` shows, as `OpenMetrics` text.
    pub registry: Registry,
    /// Called before each look at the registry, for gauges that are read off something.
    pub refresh: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("readiness", &self.readiness).finish_non_exhaustive()
    }
}

/// `/livez` (200 while the process answers at all), `/readyz` (200, or 503 with a line for each failing check), `/metrics`.
pub(super) fn router(admin: Admin) -> Router {
    Router::new()
        .route("/livez", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(admin))
}

async fn readyz(State(admin): State<Arc<Admin>>) -> Response {
    let failing = admin.readiness.failing();
    if failing.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, failing.join("\n") + "\n").into_response()
}

async fn metrics(State(admin): State<Arc<Admin>>) -> Response {
    (admin.refresh)();
    let mut text = String::new();
    match encode(&mut text, &admin.registry) {
        Ok(()) => {
            let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, content_type)], text).into_response()
        }
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write the metrics: {error}\n")).into_response()
        }
    }
}
