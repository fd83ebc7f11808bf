//! Calls to the API server, each with a deadline: the client itself tries some answers again up to 15 times.

use std::future::Future;
use std::time::Duration;

use kube::Client;
use kube::api::ListParams;
use kube::core::{ObjectList, Request};

use super::reduce::{Observation, View};
use super::{Resource, WorldError};

/// The longest that one call may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// How many objects one page of a list holds.
const PAGE: u32 = 500;

/// Awaits a call, for [`DEADLINE`] at most.
pub(super) async fn within_deadline<T>(
    verb: &'static str,
    resource: Resource,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Failed> {
    match tokio::time::timeout(DEADLINE, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            Err(Failed { code: status.code, error: WorldError::Call { verb, resource, message: status.message } })
        }
        Ok(Err(error)) => Err(Failed { code: 0, error: WorldError::Call { verb, resource, message: chain(&error) } }),
        Err(_) => Err(Failed { code: 0, error: WorldError::Silent { verb, resource, seconds: DEADLINE.as_secs() } }),
    }
}

/// A call that failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// The HTTP status; 0 where there was none.
    pub(super) code: u16,
    pub(super) error: WorldError,
}

/// An error and its causes in one line: the outermost alone often says only that something failed.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}

/// Which objects of a resource.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'a> {
    /// All of the cluster.
    All,
    /// Those in one namespace.
    In(&'a str),
    /// The one with this name, of a resource without namespaces.
    Named(&'a str),
}

/// All objects of a resource, reduced, and the version that a watch goes on from.
pub(super) async fn list<V: View>(client: &Client, which: Which<'_>) -> Result<(Vec<Observation>, String), Failed> {
    let resource = V::RESOURCE;
    let (namespace, field_selector) = match which {
        Which::All => (None, resource.field_selector().map(str::to_owned)),
        Which::In(namespace) => (Some(namespace), resource.field_selector().map(str::to_owned)),
        Which::Named(name) => (None, Some(format!("metadata.name={name}"))),
    };
    let mut params = ListParams {
        field_selector,
        label_selector: resource.label_selector(),
        limit: Some(PAGE),
        ..ListParams::default()
    };
    let request = Request::new(resource.url(namespace));
    let mut seen = Vec::new();
    loop {
        let page: ObjectList<V> = within_deadline("list", resource, async {
            client.request(request.list(&params).map_err(kube::Error::BuildRequest)?).await
        })
        .await?;
        seen.extend(page.items.into_iter().filter_map(View::observe));
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok((seen, page.metadata.resource_version.unwrap_or_default()));
        }
    }
}
