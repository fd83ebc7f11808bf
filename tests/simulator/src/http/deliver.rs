//! How a reply leaves, or does not.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures::stream;

use crate::http::Line;
use crate::reply::{Delivery, Reply};

/// In how many pieces a slow body comes.
const PIECES: usize = 10;
/// Time for the first half to be on its way before the connection is reset.
const BEFORE_RESET: Duration = Duration::from_millis(20);

pub(crate) async fn deliver(mut reply: Reply, line: Line) -> Response {
    let body = Bytes::from(std::mem::take(&mut reply.body));
    match reply.delivery {
        Delivery::Whole => head(&reply, body.into()),
        Delivery::ResetBeforeHeaders => {
            line.cut();
            head(&reply, Body::empty())
        }
        Delivery::Hang(lasting) => {
            match lasting {
                Some(lasting) => tokio::time::sleep(lasting).await,
                None => std::future::pending().await,
            }
            line.cut();
            head(&reply, Body::empty())
        }
        Delivery::ResetMidBody => {
            let length = body.len();
            with_length(head(&reply, half_then_reset(body.slice(..length / 2), line)), length)
        }
        Delivery::Slow(lasting) => {
            let length = body.len();
            with_length(head(&reply, trickle(body, lasting)), length)
        }
    }
}

/// Status, headers and this body.
pub(crate) fn head(reply: &Reply, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if reply.status != 204 {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(reply.content_type));
    }
    for (name, value) in &reply.headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// A streamed body says its length, as a whole one does.
fn with_length(mut response: Response, length: usize) -> Response {
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    response
}

fn half_then_reset(half: Bytes, line: Line) -> Body {
    Body::from_stream(stream::unfold((Some(half), line), |(half, line)| async move {
        if let Some(half) = half {
            return Some((Ok(half), (None, line)));
        }
        tokio::time::sleep(BEFORE_RESET).await;
        line.cut();
        Some((Err(io::Error::from(io::ErrorKind::ConnectionReset)), (None, line)))
    }))
}

fn trickle(body: Bytes, lasting: Duration) -> Body {
    let piece = body.len().div_ceil(PIECES).max(1);
    let pause = lasting / u32::try_from(PIECES).unwrap_or(1);
    Body::from_stream(stream::unfold(body, move |mut rest| async move {
        if rest.is_empty() {
            return None;
        }
        tokio::time::sleep(pause).await;
        let next = rest.split_to(piece.min(rest.len()));
        Some((Ok::<_, Infallible>(next), rest))
    }))
}
