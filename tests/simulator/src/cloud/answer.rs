//! The way of one call: journal, faults, token, operation.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::cloud::state::State;
use crate::faults::{Fault, Fired};
use crate::journal::Call;
use crate::labels::schema_error;
use crate::operation::Operation;
use crate::reply::Reply;
use crate::target::Target;
use crate::tokens::{Caller, Refused, TokenRequest};

/// A request that was read completely.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query as they were sent.
    pub(crate) path: String,
    pub(crate) target: Target,
    pub(crate) query: HashMap<String, String>,
    pub(crate) authorization: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) user_agent: Option<String>,
    pub(crate) body: Vec<u8>,
    /// The body, if it is a form.
    pub(crate) form: HashMap<String, String>,
}

/// What an operation does: the reply, and the server that it was about.
pub(crate) struct Outcome {
    pub(crate) reply: Reply,
    /// The new server, or the first of a list.
    pub(crate) server: Option<String>,
}

impl From<Reply> for Outcome {
    fn from(reply: Reply) -> Self {
        Self { reply, server: None }
    }
}

/// How an operation is to be carried out.
pub(crate) struct Context<'a> {
    pub(crate) request: &'a Request,
    pub(crate) caller: &'a Result<Caller, Refused>,
    /// Lists leave out changes of this long.
    pub(crate) stale: Option<Duration>,
    /// Lists do not show this write for this long.
    pub(crate) hidden: Option<Duration>,
    pub(crate) cut_short: bool,
}

impl Context<'_> {
    pub(crate) fn target(&self) -> &Target {
        &self.request.target
    }

    /// The server of the path; the operation says that there is one, as for the next two.
    pub(crate) fn server(&self) -> &str {
        self.request.target.server.as_deref().unwrap_or_default()
    }

    pub(crate) fn nic(&self) -> &str {
        self.request.target.nic.as_deref().unwrap_or_default()
    }

    pub(crate) fn volume(&self) -> &str {
        self.request.target.volume.as_deref().unwrap_or_default()
    }

    /// The body, which must be a JSON object.
    pub(crate) fn object(&self) -> Result<Map<String, Value>, Reply> {
        let json = self.request.content_type.as_deref().is_some_and(|kind| kind.starts_with("application/json"));
        if !json {
            return Err(Reply::error(400, "request body has an error: header Content-Type has unexpected value"));
        }
        match serde_json::from_slice(&self.request.body) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(_) => Err(Reply::error(400, &schema_error("/", "value must be an object"))),
            Err(_) => Err(Reply::error(400, "request body has an error: failed to decode request body")),
        }
    }
}

impl State {
    pub(crate) fn answer(&mut self, request: &Request) -> Reply {
        let mut call = self.journal.draft(&request.method, &request.path, &request.target);
        call.user_agent.clone_from(&request.user_agent);
        call.selector = request.query.get("label_selector").cloned();
        let token = (call.operation == Operation::Token).then(|| TokenRequest::read(&request.form));
        let caller = self.tokens.caller(request.authorization.as_deref());
        if let Some(token) = &token {
            call.body = Some(token.without_secrets());
            (call.kid, call.project) = self.tokens.claimed(token);
        } else {
            call.body = serde_json::from_slice(&request.body).ok();
            call.kid = match &caller {
                Ok(caller) => Some(caller.kid.clone()),
                Err(Refused::Expired(kid)) => Some(kid.clone()),
                Err(Refused::Missing | Refused::Unknown) => None,
            };
        }
        let fired = self.faults.fire(&call);
        call.fault = fired.as_ref().map(|fired| fired.plan.fault);

        let reply = match fired.as_ref().and_then(Fired::instead) {
            Some(reply) => reply,
            None => self.carry_out(request, token.as_ref(), &caller, fired.as_ref(), &mut call),
        };
        let id = Uuid::new_v4().simple().to_string();
        let request_id = format!("req-{id}");
        let reply = reply.with_header("x-request-id", request_id.as_str()).with_header("x-trace-id", id);
        call.status = reply.status_sent();
        call.request_id = call.status.map(|_| request_id);
        self.journal.enter(call);
        reply
    }

    fn carry_out(
        &mut self,
        request: &Request,
        token: Option<&TokenRequest>,
        caller: &Result<Caller, Refused>,
        fired: Option<&Fired>,
        call: &mut Call,
    ) -> Reply {
        if let Some(fired) = fired
            && call.operation.is_write()
        {
            self.meddle(fired, call, None);
        }
        let delayed = fired.filter(|fired| fired.plan.fault == Fault::DelayedVisibility).map(Fired::delay);
        let context = Context {
            request,
            caller,
            stale: delayed.filter(|_| call.operation.is_list()),
            hidden: delayed.filter(|_| call.operation.is_write()),
            cut_short: fired.is_some_and(|fired| fired.plan.fault == Fault::ListCutShort),
        };
        let outcome = match token {
            Some(token) => self.tokens.answer(token).into(),
            None => self.operate(&context).unwrap_or_else(Into::into),
        };
        call.applied = outcome.reply.is_success();
        if call.operation == Operation::CreateServer {
            call.server.clone_from(&outcome.server);
        }
        match fired {
            Some(fired) => {
                if !call.operation.is_write() && call.applied {
                    self.meddle(fired, call, outcome.server.as_deref());
                }
                fired.delivery(outcome.reply)
            }
            None => outcome.reply,
        }
    }

    fn operate(&mut self, context: &Context<'_>) -> Result<Outcome, Reply> {
        match context.target().operation {
            Operation::Token | Operation::Unknown => Err(Reply::error(404, "not found")),
            Operation::ListServers | Operation::ListServersBySelector => self.list_servers(context),
            Operation::GetServer => self.get_server(context),
            Operation::PatchServer => self.patch_server(context),
            Operation::CreateServer => self.create_server(context),
            Operation::DeleteServer => self.delete_server(context),
            Operation::ListServerNics => self.list_server_nics(context),
            Operation::ListProjectNics | Operation::ListNetworkNics => self.list_nics(context),
            Operation::GetNic => self.get_nic(context),
            Operation::PatchNic => self.patch_nic(context),
            Operation::DeleteNic => self.delete_nic(context),
            Operation::ListVolumes => self.list_volumes(context),
            Operation::GetVolume => self.get_volume(context),
            Operation::PatchVolume => self.patch_volume(context),
            Operation::DeleteVolume => self.delete_volume(context),
            Operation::ListAttachments => self.list_attachments(context),
            Operation::GetAttachment => self.get_attachment(context),
            Operation::PatchAttachment => self.patch_attachment(context),
        }
    }
}
