//! Operations on network interfaces.

use crate::cloud::answer::{Context, Outcome};
use crate::cloud::lists::{item, selects};
use crate::cloud::servers;
use crate::cloud::state::State;
use crate::reply::Reply;

fn not_found() -> Reply {
    Reply::error(404, "nic not found")
}

impl State {
    pub(crate) fn list_server_nics(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let mode = self.label_mode;
        let region = self.enter(context.target(), context.caller)?;
        let selector = context.selector(mode)?;
        let server = region.server(context.server()).ok_or_else(servers::not_found)?;
        let nics = server.nics.iter().filter(|nic| selects(selector.as_ref(), &nic.labels));
        Ok(context.list(nics.map(|nic| item(&nic.id, &nic.render(Some(&server.id)))).collect()))
    }

    /// Of the project, or of one network.
    pub(crate) fn list_nics(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let mode = self.label_mode;
        let region = self.enter(context.target(), context.caller)?;
        let selector = context.selector(mode)?;
        let network = context.target().network.as_ref();
        let nics = region.nics();
        let nics = nics.iter().filter(|(nic, _)| {
            network.is_none_or(|network| nic.network == *network) && selects(selector.as_ref(), &nic.labels)
        });
        let items = nics.map(|(nic, owner)| item(&nic.id, &nic.render(owner.as_deref()))).collect();
        // The first item is a network interface: nothing that happens to a server may take it for one.
        Ok(Outcome { server: None, ..context.list(items) })
    }

    pub(crate) fn get_nic(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let region = self.enter(context.target(), context.caller)?;
        let (nic, owner) = region.nic(context.nic()).ok_or_else(not_found)?;
        if context.target().network.as_ref() != Some(&nic.network) {
            return Err(not_found());
        }
        Ok(Reply::json(200, &nic.render(owner.as_deref())).into())
    }

    pub(crate) fn patch_nic(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let mode = self.label_mode;
        let region = self.enter(context.target(), context.caller)?;
        let change = context.object()?;
        let id = context.nic();
        let (mut nic, owner) = region.nic(id).ok_or_else(not_found)?;
        if context.target().network.as_ref() != Some(&nic.network) {
            return Err(not_found());
        }
        nic.patch(mode, &change).map_err(|problem| Reply::error(400, &problem))?;
        let reply = Reply::json(200, &nic.render(owner.as_deref()));
        region.change_nic(id, |kept| *kept = nic);
        Ok(reply.into())
    }

    pub(crate) fn delete_nic(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        let region = self.enter(context.target(), context.caller)?;
        let id = context.nic();
        let (nic, owner) = region.nic(id).ok_or_else(not_found)?;
        if context.target().network.as_ref() != Some(&nic.network) {
            return Err(not_found());
        }
        if owner.is_some() {
            return Err(Reply::error(409, "nic is in use"));
        }
        region.take_nic(id);
        Ok(Reply::no_content().into())
    }
}
