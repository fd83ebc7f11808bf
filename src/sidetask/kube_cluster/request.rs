//! Requests whose answers are taken as text: the client writes what it cannot read into the log.

use kube::Client;
use kube::api::{GetParams, Patch, PatchParams};
use kube::core::Request;
use kube::core::request::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ClusterError;
use super::error::unreadable;
use crate::seed::{CallError, call};

/// GET of an object at `path` (with its plural, without its name); none when it, or its kind, does not exist.
pub(super) async fn get(client: &Client, what: &str, path: String, name: &str) -> Result<Option<String>, ClusterError> {
    absent_is_none(send(client, what, Request::new(path).get(name, &GetParams::default())).await)
}

/// GET of an object's metadata alone.
pub(super) async fn get_metadata<T: DeserializeOwned>(
    client: &Client,
    what: &str,
    path: String,
    name: &str,
) -> Result<Option<T>, ClusterError> {
    let got = absent_is_none(send(client, what, Request::new(path).get_metadata(name, &GetParams::default())).await)?;
    got.map(|text| parse(what, &text)).transpose()
}

/// PATCH of an object; its text afterwards.
pub(super) async fn patch<P: Serialize>(
    client: &Client,
    doing: &str,
    path: String,
    name: &str,
    params: &PatchParams,
    body: &Patch<P>,
) -> Result<String, ClusterError> {
    Ok(call(doing, text(client, Request::new(path).patch(name, params, body))).await?)
}

/// Reads an answer. What is wrong with it is not told, since that would quote it.
pub(super) fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, ClusterError> {
    serde_json::from_str(text).map_err(|_| unreadable(what))
}

async fn send(
    client: &Client,
    what: &str,
    request: Result<http::Request<Vec<u8>>, Error>,
) -> Result<String, CallError> {
    call(format!("cannot read {what}"), text(client, request)).await
}

async fn text(client: &Client, request: Result<http::Request<Vec<u8>>, Error>) -> Result<String, kube::Error> {
    client.request_text(request.map_err(kube::Error::BuildRequest)?).await
}

fn absent_is_none(got: Result<String, CallError>) -> Result<Option<String>, ClusterError> {
    match got {
        Err(error) if error.code() == Some(404) => Ok(None),
        got => Ok(got.map(Some)?),
    }
}
