//! Calls to the API server, each with a deadline: the client itself tries some answers again up to 15 times.
//!
//! Answers are read here and not by the client, which writes what it cannot read into the log.

use std::future::Future;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{GetParams, ListParams};
use kube::core::Request;
use serde::Deserialize;
use serde::de::DeserializeSeed;
use serde_json::value::RawValue;

use super::reduce::{ObjectOf, Seen};
use super::{Resource, WorldError};
use crate::error_chain::chain;

/// The longest that one call may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// Awaits a call, for [`DEADLINE`] at most.
pub(super) async fn within_deadline<T>(
    verb: &'static str,
    resource: Resource,
    call: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, WorldError> {
    match tokio::time::timeout(DEADLINE, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => {
            Err(WorldError::Refused { verb, resource, code: status.code, message: status.message })
        }
        Ok(Err(error)) => Err(WorldError::Unreachable { verb, resource, message: chain(&error) }),
        Err(_) => Err(WorldError::Silent { verb, resource, seconds: DEADLINE.as_secs() }),
    }
}

/// Which objects of a resource.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which<'a> {
    /// All of the cluster.
    All,
    /// Those that belong to one namespace: in it, or of its name.
    Of(&'a str),
}

/// All objects of a resource, as they were at one moment.
#[derive(Debug)]
pub(super) struct Listed<T = Seen> {
    pub(super) objects: Vec<T>,
    /// What a watch goes on from.
    pub(super) version: String,
    /// No later than that moment.
    pub(super) at: Instant,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct PageMetadata {
    resource_version: Option<String>,
    r#continue: Option<String>,
}

/// Lists the objects of a resource, page by page, from no cache.
pub(super) async fn list(client: &Client, resource: Resource, which: Which<'_>) -> Result<Listed, WorldError> {
    list_as(client, resource, which, |object| read(resource, object)).await
}

/// As [`list`], with another view of each object.
pub(super) async fn list_as<T>(
    client: &Client,
    resource: Resource,
    which: Which<'_>,
    view: impl Fn(&RawValue) -> Result<T, WorldError>,
) -> Result<Listed<T>, WorldError> {
    let (namespace, name) = match which {
        Which::Of(name) if resource.is_cluster_scoped() => (None, Some(format!("metadata.name={name}"))),
        Which::Of(namespace) => (Some(namespace), None),
        Which::All => (None, None),
    };
    let mut params = ListParams {
        field_selector: name.or_else(|| resource.field_selector().map(str::to_owned)),
        label_selector: resource.label_selector(),
        limit: Some(resource.page()),
        ..ListParams::default()
    };
    let request = Request::new(resource.url(namespace));
    let mut listed = Listed { objects: Vec::new(), version: String::new(), at: Instant::now() };
    loop {
        let text = within_deadline("list", resource, async {
            client.request_text(request.list(&params).map_err(kube::Error::BuildRequest)?).await
        })
        .await?;
        let page: Page<'_> =
            serde_json::from_str(&text).map_err(|error| unreadable(resource, "the list".to_owned(), &error))?;
        for item in page.items.unwrap_or_default() {
            listed.objects.push(view(item)?);
        }
        listed.version = page.metadata.resource_version.unwrap_or_default();
        params.continue_token = page.metadata.r#continue.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(listed);
        }
    }
}

/// Gets one object as text, from no cache; none when it, or its kind, does not exist.
pub(super) async fn get(
    client: &Client,
    resource: Resource,
    namespace: &str,
    name: &str,
) -> Result<Option<String>, WorldError> {
    let request = Request::new(resource.url((!resource.is_cluster_scoped()).then_some(namespace)));
    let got = within_deadline("get", resource, async {
        client.request_text(request.get(name, &GetParams::default()).map_err(kube::Error::BuildRequest)?).await
    })
    .await;
    match got {
        Err(error) if error.code() == 404 => Ok(None),
        got => got.map(Some),
    }
}

/// Reads one object.
pub(super) fn read(resource: Resource, object: &RawValue) -> Result<Seen, WorldError> {
    let read = ObjectOf(resource).deserialize(&mut serde_json::Deserializer::from_str(object.get()));
    read.map_err(|error| unreadable(resource, name_of(object), &error))
}

/// What an object that cannot be read is called.
pub(super) fn name_of(object: &RawValue) -> String {
    #[derive(Deserialize)]
    struct Named {
        metadata: Name,
    }
    #[derive(Deserialize)]
    struct Name {
        name: String,
        #[serde(default)]
        namespace: String,
    }
    match serde_json::from_str(object.get()) {
        Ok(Named { metadata: Name { name, namespace } }) if namespace.is_empty() => name,
        Ok(Named { metadata: Name { name, namespace } }) => format!("{namespace}/{name}"),
        Err(_) => "an object without a name".to_owned(),
    }
}

/// The error's own words quote the value that was not expected, which can be a secret; so they are left out.
pub(super) fn unreadable(resource: Resource, what: String, error: &serde_json::Error) -> WorldError {
    let message = match error.classify() {
        serde_json::error::Category::Data => "a member has an unexpected type",
        _ => "it is not JSON, or breaks off",
    };
    WorldError::Unreadable { resource, what, message: format!("{message} (at byte {})", error.column()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn an_unreadable_object_is_named_and_never_quoted() {
        let text = r#"{"metadata": {"name": "a", "namespace": "n", "labels": "hush"}, "data": {}}"#;
        let error = read(Resource::Secrets, serde_json::from_str(text).unwrap()).unwrap_err();
        let error = format!("{error} {error:?}");
        assert!(error.contains("n/a") && error.contains("unexpected type") && !error.contains("hush"), "{error}");
    }
}
