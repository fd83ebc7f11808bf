//! Events of `v1`. They go by themselves after an hour, so none is looked for to be counted up: what is told is told once a leader.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::api::{Api, ListParams, PostParams};
use kube::core::Request;
use mcm_migration_core::domain::keys;
use mcm_migration_core::plan::Kind;
use serde::Deserialize;

use super::read::{identity, path};
use super::request::parse;
use super::{COMPONENT, ClusterError, Notice};
use crate::seed::{Seed, call};
use crate::world::Resource;

/// The longest message that an Event may have, in bytes (kubernetes `pkg/apis/core/validation/events.go`, `NoteLengthLimit`).
const LONGEST: usize = 1024;

/// Makes the Event, about the object that is there now.
pub(super) async fn make(seed: &Seed, namespace: &str, notice: &Notice) -> Result<(), ClusterError> {
    let involved = match notice.kind {
        Kind::Machine => of(seed, Resource::Machines, namespace, &notice.name).await?,
        Kind::MachineClass => of(seed, Resource::MachineClasses, namespace, &notice.name).await?,
        Kind::Shoot => match of(seed, Resource::MachineMigrations, namespace, keys::MACHINE_MIGRATION).await? {
            None => worker(seed, namespace).await?,
            migration => migration,
        },
    };
    let Some(involved) = involved else {
        return Err(ClusterError::Gone(format!("what an Event in {namespace} would be about is gone")));
    };
    let events: Api<Event> = Api::namespaced(seed.client(), namespace);
    let params = PostParams { field_manager: Some(seed.manager().to_owned()), ..PostParams::default() };
    let doing = format!("cannot make an Event in {namespace}");
    call(doing, events.create(&params, &event(namespace, notice, involved))).await?;
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "an Event shows wall-clock time; nothing is decided by it")]
fn event(namespace: &str, notice: &Notice, involved: ObjectReference) -> Event {
    let now = Some(Time(Timestamp::now()));
    Event {
        metadata: ObjectMeta {
            // The API server cuts off what is too long.
            generate_name: involved.name.as_ref().map(|name| format!("{name}.")),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        involved_object: involved,
        type_: Some(if notice.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(notice.reason.camel_case().to_owned()),
        message: Some(cut(&notice.message).to_owned()),
        count: Some(1),
        first_timestamp: now.clone(),
        last_timestamp: now,
        reporting_component: Some(COMPONENT.to_owned()),
        source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
        ..Event::default()
    }
}

fn cut(message: &str) -> &str {
    let end = (0..=LONGEST.min(message.len())).rev().find(|end| message.is_char_boundary(*end));
    &message[..end.unwrap_or_default()]
}

/// A reference to an object; none when it does not exist.
async fn of(
    seed: &Seed,
    resource: Resource,
    namespace: &str,
    name: &str,
) -> Result<Option<ObjectReference>, ClusterError> {
    let identity = identity(&seed.client(), resource, namespace, name).await?;
    Ok(identity.map(|identity| reference(resource, namespace, name, identity.uid)))
}

/// A reference to the shoot's Worker.
async fn worker(seed: &Seed, namespace: &str) -> Result<Option<ObjectReference>, ClusterError> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<Object>,
    }
    #[derive(Deserialize)]
    struct Object {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        name: String,
        uid: String,
    }
    let what = format!("the Worker of {namespace}");
    let params = ListParams { limit: Some(1), ..ListParams::default() };
    let request = Request::new(path(Resource::Workers, namespace)).list_metadata(&params);
    let client = seed.client();
    let text = call(format!("cannot read {what}"), async {
        client.request_text(request.map_err(kube::Error::BuildRequest)?).await
    })
    .await?;
    let found = parse::<List>(&what, &text)?.items.into_iter().next();
    Ok(found.map(|Object { metadata: Metadata { name, uid } }| reference(Resource::Workers, namespace, &name, uid)))
}

fn reference(resource: Resource, namespace: &str, name: &str, uid: String) -> ObjectReference {
    ObjectReference {
        api_version: Some(resource.api_version().to_owned()),
        kind: Some(resource.kind().to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = format!("{}ä", "x".repeat(LONGEST - 1));
        assert_eq!(cut(&long).len(), LONGEST - 1);
        assert_eq!(cut(&"x".repeat(LONGEST + 1)).len(), LONGEST);
    }
}
