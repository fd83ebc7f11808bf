//! What goes wrong on demand: plans, and the book of how often each fired.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::journal::Call;
use crate::operation::Operation;

/// One way in which a call can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fault {
    /// 429 `{"code":429,"msg":"Too Many Requests"}`
    TooManyRequests,
    /// The same with `Retry-After` in seconds ([`FaultPlan::retry_after`], 1 s if not said).
    TooManyRequestsRetryAfter,
    /// 500 with the API's error body
    InternalServerError,
    /// 502 with the plain text of the gateway (Envoy)
    BadGateway,
    /// 503 with the plain text of the gateway (Envoy)
    ServiceUnavailable,
    /// 504 with the plain text of the gateway (Envoy)
    GatewayTimeout,
    /// 401 with the JSON of the gateway, `{"status":401,"message":"Unauthenticated token"}`
    UnauthorizedJson,
    /// 401 with plain text, as when token and API belong to different environments
    UnauthorizedText,
    /// 403 with the API's error body
    Forbidden,
    /// 404 with the API's error body
    NotFoundJson,
    /// 404 with a page of HTML
    NotFoundHtml,
    /// 409 with the API's error body
    Conflict,
    /// 307 to another path of the same host
    Redirect,
    /// The connection is reset before anything is sent; the call is not carried out.
    ResetBeforeHeaders,
    /// The call is carried out; headers and half of the body arrive, then the connection is reset. Before the headers if there
    /// is no body.
    ResetMidBody,
    /// The call is carried out; the body trickles for [`FaultPlan::lasting`] (3 s if not said). Where there is no body, the headers
    /// come that late.
    SlowBody,
    /// The call is not carried out and no answer comes, for [`FaultPlan::lasting`], or until the caller goes away.
    Hang,
    /// The call is carried out and the connection reset instead of an answer.
    AppliedReplyLost,
    /// 200 with a body that is not JSON although the header says so; the call is not carried out.
    NotJson,
    /// The list ends half-way, beside `items` stands the unknown member `nextPageToken`.
    ListCutShort,
    /// Lists show what was true before. On a list: changes of the last [`FaultPlan::lasting`] (10 s if not said) are left out of
    /// this answer. On a write: its effect is left out of all lists for that long.
    DelayedVisibility,
    /// Somebody else writes [`FaultPlan::foreign_labels`] to the object: after a read of it, before a write to it.
    ForeignLabelWriter,
    /// Somebody else deletes the server: after a read of it, before a write to it.
    ServerDeleted,
    /// Somebody else attaches the network interface or the volume to [`FaultPlan::server`], or to any server: after a read of it, before it is deleted.
    Attached,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 24] = [
        Self::TooManyRequests,
        Self::TooManyRequestsRetryAfter,
        Self::InternalServerError,
        Self::BadGateway,
        Self::ServiceUnavailable,
        Self::GatewayTimeout,
        Self::UnauthorizedJson,
        Self::UnauthorizedText,
        Self::Forbidden,
        Self::NotFoundJson,
        Self::NotFoundHtml,
        Self::Conflict,
        Self::Redirect,
        Self::ResetBeforeHeaders,
        Self::ResetMidBody,
        Self::SlowBody,
        Self::Hang,
        Self::AppliedReplyLost,
        Self::NotJson,
        Self::ListCutShort,
        Self::DelayedVisibility,
        Self::ForeignLabelWriter,
        Self::ServerDeleted,
        Self::Attached,
    ];

    /// Whether the pair has a meaning. A plan with another pair never fires.
    #[must_use]
    pub fn applies_to(self, operation: Operation) -> bool {
        match self {
            Self::ListCutShort => operation.is_list(),
            Self::DelayedVisibility => {
                matches!(operation, Operation::CreateServer | Operation::PatchServer | Operation::DeleteServer)
                    || matches!(operation, Operation::ListServers | Operation::ListServersBySelector)
            }
            Self::ForeignLabelWriter => matches!(
                operation,
                Operation::ListServers
                    | Operation::ListServersBySelector
                    | Operation::GetServer
                    | Operation::PatchServer
                    | Operation::GetNic
                    | Operation::PatchNic
                    | Operation::GetVolume
                    | Operation::PatchVolume
            ),
            Self::ServerDeleted => matches!(
                operation,
                Operation::ListServers
                    | Operation::ListServersBySelector
                    | Operation::GetServer
                    | Operation::PatchServer
                    | Operation::DeleteServer
                    | Operation::ListServerNics
                    | Operation::ListAttachments
                    | Operation::GetAttachment
                    | Operation::PatchAttachment
            ),
            Self::Attached => matches!(
                operation,
                Operation::GetNic | Operation::DeleteNic | Operation::GetVolume | Operation::DeleteVolume
            ),
            _ => operation != Operation::Unknown,
        }
    }
}

/// Which calls go wrong, how and how often.
#[derive(Clone, Debug)]
#[must_use = "a plan does nothing until it is given to Cloud::inject"]
pub struct FaultPlan {
    pub(crate) operation: Option<Operation>,
    pub(crate) fault: Fault,
    pub(crate) project: Option<String>,
    pub(crate) server: Option<String>,
    pub(crate) times: Option<usize>,
    pub(crate) after: usize,
    pub(crate) every: usize,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) lasting: Option<Duration>,
    pub(crate) foreign_labels: BTreeMap<String, Value>,
}

impl FaultPlan {
    /// The next call of that kind goes wrong, once.
    pub fn once(operation: Operation, fault: Fault) -> Self {
        Self {
            operation: Some(operation),
            fault,
            project: None,
            server: None,
            times: Some(1),
            after: 0,
            every: 1,
            retry_after: None,
            lasting: None,
            foreign_labels: BTreeMap::new(),
        }
    }

    /// Every call of that kind goes wrong, until [`crate::Cloud::clear_faults`].
    pub fn always(operation: Operation, fault: Fault) -> Self {
        Self { times: None, ..Self::once(operation, fault) }
    }

    /// Every call that the fault applies to goes wrong.
    pub fn everywhere(fault: Fault) -> Self {
        Self { operation: None, times: None, ..Self::once(Operation::Unknown, fault) }
    }

    /// Only calls to this project; for tokens, calls with a key of this project.
    pub fn project(self, project: impl Into<String>) -> Self {
        Self { project: Some(project.into()), ..self }
    }

    /// Only calls that name this server. A list of servers names none: there, this is the server that
    /// [`Fault::ForeignLabelWriter`] and [`Fault::ServerDeleted`] act on (otherwise the first of the answer).
    pub fn server(self, server: impl Into<String>) -> Self {
        Self { server: Some(server.into()), ..self }
    }

    /// How many calls go wrong in all.
    pub fn times(self, times: usize) -> Self {
        Self { times: Some(times), ..self }
    }

    /// How many of the calls go well first.
    pub fn after(self, calls: usize) -> Self {
        Self { after: calls, ..self }
    }

    /// Only each n-th of the calls goes wrong (the first, the n+1st, …). 0 means 1.
    pub fn every(self, n: usize) -> Self {
        Self { every: n.max(1), ..self }
    }

    /// What [`Fault::TooManyRequestsRetryAfter`] sends, in whole seconds. Other faults with an error status send it too if it is
    /// set.
    pub fn retry_after(self, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..self }
    }

    /// How long [`Fault::SlowBody`], [`Fault::Hang`] and [`Fault::DelayedVisibility`] last.
    pub fn lasting(self, duration: Duration) -> Self {
        Self { lasting: Some(duration), ..self }
    }

    /// What [`Fault::ForeignLabelWriter`] writes; otherwise `foreign-writer` with a number.
    pub fn foreign_labels<K: Into<String>, V: Into<Value>>(self, labels: impl IntoIterator<Item = (K, V)>) -> Self {
        Self { foreign_labels: labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect(), ..self }
    }

    fn selects(&self, call: &Call) -> bool {
        let fits = |wanted: Option<&String>, found: Option<&String>| wanted.is_none_or(|wanted| found == Some(wanted));
        self.operation.is_none_or(|operation| operation == call.operation)
            && self.fault.applies_to(call.operation)
            && fits(self.project.as_ref(), call.project.as_ref())
            && (call.operation.is_list() && call.server.is_none() || fits(self.server.as_ref(), call.server.as_ref()))
    }
}

/// Names an injected plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(u64);

/// A fault that fires now.
#[derive(Clone, Debug)]
pub(crate) struct Fired {
    pub(crate) plan: FaultPlan,
    /// How often this plan has fired, this time included.
    pub(crate) count: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Faults {
    next: u64,
    active: Vec<(FaultId, FaultPlan, usize)>,
    fired: BTreeMap<FaultId, usize>,
}

impl Faults {
    pub(crate) fn inject(&mut self, plan: FaultPlan) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.active.push((id, plan, 0));
        id
    }

    pub(crate) fn fired(&self, id: FaultId) -> usize {
        self.fired.get(&id).copied().unwrap_or(0)
    }

    pub(crate) fn end(&mut self, id: FaultId) {
        self.active.retain(|(active, ..)| *active != id);
    }

    /// Ends all plans; what they did stays in the book.
    pub(crate) fn clear(&mut self) {
        self.active.clear();
    }

    /// The first plan, in the order of injection, that fires for this call. Plans behind it do not see the call.
    pub(crate) fn fire(&mut self, call: &Call) -> Option<Fired> {
        for (id, plan, seen) in &mut self.active {
            let fired = self.fired.get(id).copied().unwrap_or(0);
            if !plan.selects(call) || plan.times.is_some_and(|times| fired >= times) {
                continue;
            }
            let number = *seen;
            *seen += 1;
            if number < plan.after || !(number - plan.after).is_multiple_of(plan.every) {
                continue;
            }
            self.fired.insert(*id, fired + 1);
            return Some(Fired { plan: plan.clone(), count: fired + 1 });
        }
        None
    }
}
