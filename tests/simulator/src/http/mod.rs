//! The cloud over HTTP/1.1.

mod deliver;
mod listener;

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{ConnectInfo, Query, Request as HttpRequest, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse as _, Response};

pub(crate) use listener::{Line, Lines};

use crate::cloud::{Cloud, Request};
use crate::reply::Reply;
use crate::target::Target;

/// More than any body of the API.
const LARGEST_BODY: usize = 1 << 20;

/// What the path of a caller with a name of its own begins with.
pub(crate) const CALLER: &str = "/caller/";

pub(crate) fn router(cloud: Arc<Cloud>) -> Router {
    Router::new().fallback(answer).with_state(cloud)
}

async fn answer(
    State(cloud): State<Arc<Cloud>>,
    ConnectInfo(line): ConnectInfo<Line>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, LARGEST_BODY).await else {
        return Reply::error(413, "request body is too large or was not sent completely").into_response();
    };
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let query = parse(&parts.uri);
    let content_type = header(header::CONTENT_TYPE);
    let form = match &content_type {
        Some(kind) if kind.starts_with("application/x-www-form-urlencoded") => parse_form(&body),
        _ => HashMap::new(),
    };
    let selected = query.get("label_selector").is_some_and(|selector| !selector.is_empty());
    let request = Request {
        method: parts.method.as_str().to_owned(),
        path: parts.uri.path_and_query().map_or_else(String::new, |path| path.as_str().to_owned()),
        target: Target::of(parts.method.as_str(), without_caller(parts.uri.path()), selected),
        query,
        authorization: header(header::AUTHORIZATION),
        content_type,
        user_agent: header(header::USER_AGENT),
        body: body.to_vec(),
        form,
    };
    deliver::deliver(cloud.answer(&request), line).await
}

/// The path without the caller's own prefix, see [`crate::Simulator::iaas_url_for`].
fn without_caller(path: &str) -> &str {
    let rest = path.strip_prefix(CALLER).and_then(|rest| rest.find('/').map(|slash| &rest[slash..]));
    rest.unwrap_or(path)
}

fn parse(uri: &Uri) -> HashMap<String, String> {
    Query::try_from_uri(uri).map(|Query(query)| query).unwrap_or_default()
}

/// A form has the syntax of a query.
fn parse_form(body: &[u8]) -> HashMap<String, String> {
    let Ok(text) = std::str::from_utf8(body) else { return HashMap::new() };
    Uri::builder().path_and_query(format!("/?{text}")).build().map(|uri| parse(&uri)).unwrap_or_default()
}

impl axum::response::IntoResponse for Reply {
    fn into_response(self) -> Response {
        deliver::head(&self, self.body.clone().into())
    }
}
