//! The Nodes of the seed.

use kube::Client;
use kube::api::ListParams;
use kube::core::{ListMeta, Request};
use mcm_migration_core::plan::NodeSighting;
use serde::Deserialize;

use super::{CallError, call};

/// A list of Nodes of which only what decides is read: a Node also names every image that it holds.
#[derive(Deserialize)]
struct NodeList {
    metadata: ListMeta,
    items: Vec<NodeView>,
}

#[derive(Deserialize)]
struct NodeView {
    metadata: NodeMeta,
    #[serde(default)]
    status: NodeStatus,
}

#[derive(Deserialize)]
struct NodeMeta {
    name: String,
    #[serde(default)]
    uid: String,
}

#[derive(Default, Deserialize)]
struct NodeStatus {
    #[serde(default)]
    conditions: Vec<NodeCondition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    #[serde(default)]
    last_transition_time: Option<String>,
}

/// All Nodes, past every cache.
///
/// # Errors
/// When they could not be listed.
pub(crate) async fn nodes(client: &Client) -> Result<Vec<NodeSighting>, CallError> {
    let mut params = ListParams { limit: Some(500), ..ListParams::default() };
    let mut nodes = Vec::new();
    loop {
        let page: NodeList = call("cannot list Nodes", async {
            let request = Request::new("/api/v1/nodes").list(&params).map_err(kube::Error::BuildRequest)?;
            client.request(request).await
        })
        .await?;
        nodes.extend(page.items.into_iter().map(sighting));
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(nodes);
        }
    }
}

fn sighting(node: NodeView) -> NodeSighting {
    let ready = node.status.conditions.into_iter().find(|condition| condition.type_ == "Ready");
    NodeSighting {
        name: node.metadata.name,
        uid: node.metadata.uid,
        ready: ready.as_ref().is_some_and(|ready| ready.status == "True"),
        ready_changed: ready.and_then(|ready| ready.last_transition_time).unwrap_or_default(),
    }
}
