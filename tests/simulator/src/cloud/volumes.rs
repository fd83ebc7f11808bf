//! Operations on volumes and their attachments.

use serde_json::Value;

use crate::cloud::answer::{Context, Outcome};
use crate::cloud::lists::{item, selects};
use crate::cloud::servers::{self, attachments};
use crate::cloud::state::State;
use crate::labels::schema_error;
use crate::model::Volume;
use crate::reply::Reply;

fn not_found() -> Reply {
    Reply::error(404, "volume not found")
}

fn not_attached() -> Reply {
    Reply::error(404, "volume attachment not found")
}

impl State {
    pub(crate) fn list_volumes(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let mode = self.label_mode;
        let region = self.enter(context.target(), context.caller)?;
        let selector = context.selector(mode)?;
        let volumes = region.volumes();
        let volumes = volumes.iter().filter(|(volume, _)| selects(selector.as_ref(), &volume.labels));
        let items = volumes.map(|(volume, owner)| item(&volume.id, &volume.render(owner.as_deref()))).collect();
        Ok(Outcome { server: None, ..context.list(items) })
    }

    pub(crate) fn get_volume(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let region = self.enter(context.target(), context.caller)?;
        let (volume, owner) = region.volume(context.volume()).ok_or_else(not_found)?;
        Ok(Reply::json(200, &volume.render(owner.as_deref())).into())
    }

    pub(crate) fn patch_volume(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let mode = self.label_mode;
        let region = self.enter(context.target(), context.caller)?;
        let change = context.object()?;
        let id = context.volume();
        let (mut volume, owner) = region.volume(id).ok_or_else(not_found)?;
        volume.patch(mode, &change).map_err(|problem| Reply::error(400, &problem))?;
        let reply = Reply::json(200, &volume.render(owner.as_deref()));
        region.change_volume(id, |kept| *kept = volume);
        Ok(reply.into())
    }

    pub(crate) fn delete_volume(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let region = self.enter(context.target(), context.caller)?;
        let id = context.volume();
        let (_, owner) = region.volume(id).ok_or_else(not_found)?;
        if owner.is_some() {
            return Err(Reply::error(409, "volume is in use"));
        }
        region.take_volume(id);
        Ok(Reply::no_content().into())
    }

    pub(crate) fn list_attachments(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let region = self.enter(context.target(), context.caller)?;
        let server = region.server(context.server()).ok_or_else(servers::not_found)?;
        let items = attachments(server).iter().map(|(id, json)| item(id, json)).collect();
        Ok(Outcome { server: None, ..context.list(items) })
    }

    pub(crate) fn get_attachment(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let (server, volume) = self.attached(context)?;
        Ok(Reply::json(200, &volume.render_attachment(&server)).into())
    }

    pub(crate) fn patch_attachment(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let (server, mut volume) = self.attached(context)?;
        let change = context.object()?;
        match change.get("deleteOnTermination") {
            None => {}
            Some(Value::Bool(delete)) => volume.delete_on_termination = *delete,
            Some(_) => return Err(Reply::error(400, &schema_error("/deleteOnTermination", "value must be a boolean"))),
        }
        let reply = Reply::json(200, &volume.render_attachment(&server));
        if let Some(region) = self.region_of(&server) {
            let id = volume.id.clone();
            region.change_volume(&id, |kept| *kept = volume);
        }
        Ok(reply.into())
    }

    /// The server and the volume of an attachment.
    fn attached(&mut self, context: &Context<'_>) -> Result<(String, Volume), Reply> {
        let region = self.enter(context.target(), context.caller)?;
        let server = context.server();
        region.server(server).ok_or_else(servers::not_found)?;
        match region.volume(context.volume()) {
            Some((volume, Some(owner))) if owner == server => Ok((owner, volume)),
            _ => Err(not_attached()),
        }
    }
}
