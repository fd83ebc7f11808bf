//! Operations on servers.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::cloud::answer::{Context, Outcome};
use crate::cloud::lists::{item, selects};
use crate::cloud::region::Region;
use crate::cloud::shelf::Entry;
use crate::cloud::state::State;
use crate::labels::{LabelMode, schema_error};
use crate::model::{Nic, Server, Volume, check_name};
use crate::reply::Reply;

/// A shelved server cannot be updated (Terraform provider, `server/resource.go`); which status the refusal has is not documented.
const UNCHANGEABLE: [&str; 4] = ["DEALLOCATED", "DEALLOCATING", "DELETING", "DELETED"];

pub(crate) fn not_found() -> Reply {
    Reply::error(404, "server not found")
}

impl State {
    pub(crate) fn list_servers(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let mode = self.label_mode;
        let region = self.enter(context.target(), context.caller)?;
        let (details, selector) = (context.details()?, context.selector(mode)?);
        let mut items = Vec::with_capacity(region.len());
        for entry in region.entries() {
            let current = entry.is_current(context.stale);
            let Some(server) = entry.listed(context.stale) else { continue };
            if !selects(selector.as_ref(), &server.labels) {
                continue;
            }
            items.push(if current && !details {
                (server.id.clone(), entry.rendered())
            } else {
                item(&server.id, &server.render(details))
            });
        }
        let gone = region.gone().iter().filter_map(|gone| gone.listed(context.stale));
        items.extend(
            gone.filter(|server| selects(selector.as_ref(), &server.labels))
                .map(|server| item(&server.id, &server.render(details))),
        );
        Ok(context.list(items))
    }

    pub(crate) fn get_server(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let region = self.enter(context.target(), context.caller)?;
        let details = context.details()?;
        let server = region.server(context.server()).ok_or_else(not_found)?;
        Ok(Reply::json(200, &server.render(details)).into())
    }

    pub(crate) fn patch_server(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let mode = self.label_mode;
        let region = self.enter(context.target(), context.caller)?;
        let change = context.object()?;
        let id = context.server();
        let server = region.server(id).ok_or_else(not_found)?;
        if UNCHANGEABLE.contains(&server.status.as_str()) {
            return Err(Reply::error(409, &format!("server is in status {} and cannot be updated", server.status)));
        }
        let mut next = server.clone();
        next.patch(mode, &change).map_err(|problem| Reply::error(400, &problem))?;
        let body = next.render(true);
        region.change(id, |server| *server = next);
        hide(region, id, context);
        Ok(Reply::json(200, &body).into())
    }

    pub(crate) fn create_server(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let (mode, boot) = (self.label_mode, self.boot);
        let region = self.enter(context.target(), context.caller)?;
        let body = context.object()?;
        let server = build(region, mode, &body)?;
        let id = server.id.clone();
        let reply = Reply::json(201, &server.render(true));
        region.insert(Entry::created(server, boot));
        hide(region, &id, context);
        if let (Some(project), Some(region)) = (&context.target().project, &context.target().region) {
            self.settle(&id, project, region);
        }
        Ok(Outcome { reply, server: Some(id) })
    }

    /// 204 means that the deletion was accepted; here it is done at once.
    pub(crate) fn delete_server(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let region = self.enter(context.target(), context.caller)?;
        let id = context.server();
        region.server(id).ok_or_else(not_found)?;
        self.delete(id, context.hidden);
        Ok(Reply::no_content().into())
    }
}

fn hide(region: &mut Region, id: &str, context: &Context<'_>) {
    if let (Some(lasting), Some(entry)) = (context.hidden, region.entry(id)) {
        entry.hide(lasting);
    }
}

/// Reads the payload and takes what it names out of the region.
fn build(region: &mut Region, mode: LabelMode, body: &Map<String, Value>) -> Result<Server, Reply> {
    let refuse = |problem: String| Reply::error(400, &problem);
    let required = |member: &str| {
        body.get(member).ok_or_else(|| refuse(schema_error(&format!("/{member}"), "property is missing")))
    };
    let text = |member: &str| body.get(member).and_then(Value::as_str);
    let mut server = Server::new(Uuid::new_v4(), check_name(required("name")?).map_err(refuse)?);
    "CREATING".clone_into(&mut server.status);
    server.power_status = None;
    required("machineType")?
        .as_str()
        .ok_or_else(|| refuse(schema_error("/machineType", "value must be a string")))?
        .clone_into(&mut server.machine_type);
    if let Some(zone) = text("availabilityZone") {
        zone.clone_into(&mut server.zone);
    }
    for member in ["imageId", "keypairName", "affinityGroup"] {
        if let Some(value) = text(member) {
            server.extra.insert(member.to_owned(), value.into());
        }
    }
    server.user_data = text("userData").map(str::to_owned);
    server.service_account_mails = strings(body.get("serviceAccountMails"));
    // Metadata and labels have the rules of a PATCH to nothing; the name is set already.
    let mut rest = body.clone();
    rest.retain(|member, _| matches!(member.as_str(), "labels" | "metadata"));
    server.patch(mode, &rest).map_err(refuse)?;

    let networking = required("networking")?;
    let (nics, volumes) = (strings(networking.get("nicIds")), strings(body.get("volumes")));
    if let Some(nic) = nics.iter().find(|id| region.nic(id).is_none()) {
        return Err(Reply::error(404, &format!("nic {nic} not found")));
    }
    if let Some(volume) = volumes.iter().find(|id| region.volume(id).is_none()) {
        return Err(Reply::error(404, &format!("volume {volume} not found")));
    }
    let taken = nics.iter().any(|id| region.nic(id).is_some_and(|(_, owner)| owner.is_some()))
        || volumes.iter().any(|id| region.volume(id).is_some_and(|(_, owner)| owner.is_some()));
    if taken {
        return Err(Reply::error(409, "a nic or volume is attached to another server"));
    }
    if let Some(network) = networking.get("networkId").and_then(Value::as_str) {
        server.nics.push(Nic { dies_with_server: true, ..Nic::new(network, server.name.clone()) });
    }
    server.nics.extend(nics.iter().filter_map(|id| region.take_nic(id)));
    if let Some(boot) = body.get("bootVolume") {
        let delete = boot.get("deleteOnTermination").and_then(Value::as_bool).unwrap_or(false);
        let size = boot.get("size").and_then(Value::as_u64).unwrap_or(50);
        let zone = server.zone.clone();
        server.volumes.push(Volume { delete_on_termination: delete, size, zone, ..Volume::boot("") });
    }
    server.volumes.extend(volumes.iter().filter_map(|id| region.take_volume(id)));
    Ok(server)
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let values = value.and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The attachments of a server.
pub(crate) fn attachments(server: &Server) -> Vec<(String, Value)> {
    server.volumes.iter().map(|volume| (volume.id.clone(), json!(volume.render_attachment(&server.id)))).collect()
}
