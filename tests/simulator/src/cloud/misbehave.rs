//! What each fault does.

use std::time::Duration;

use serde_json::Value;

use crate::cloud::state::{State, unauthorized_json};
use crate::faults::{Fault, Fired};
use crate::journal::Call;
use crate::labels::Labels;
use crate::reply::{Delivery, Reply};

const ENVOY: &str = "upstream connect error or disconnect/reset before headers. reset reason: connection failure";
const PAGE: &str =
    "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body><h1>404 Not Found</h1></body>\r\n</html>\r\n";

impl Fired {
    /// The reply if the call is not carried out.
    pub(crate) fn instead(&self) -> Option<Reply> {
        let reply = match self.plan.fault {
            Fault::TooManyRequests | Fault::TooManyRequestsRetryAfter => Reply::error(429, "Too Many Requests"),
            Fault::InternalServerError => Reply::error(500, "Internal Server Error"),
            Fault::BadGateway => Reply::text(502, ENVOY),
            Fault::ServiceUnavailable => Reply::text(503, ENVOY),
            Fault::GatewayTimeout => Reply::text(504, "upstream request timeout"),
            Fault::UnauthorizedJson => unauthorized_json(),
            Fault::UnauthorizedText => Reply::text(401, "Jwks doesn't have key to match kid or alg from Jwt"),
            Fault::Forbidden => Reply::error(403, "Forbidden"),
            Fault::NotFoundJson => Reply::error(404, "not found"),
            Fault::NotFoundHtml => Reply::html(404, PAGE),
            Fault::Conflict => Reply::error(409, "conflict"),
            Fault::Redirect => Reply::text(307, "").with_header("location", "/elsewhere"),
            Fault::NotJson => Reply::rendered(200, "<html><body>Welcome</body></html>".to_owned()),
            Fault::ResetBeforeHeaders => Reply::text(500, "").delivered(Delivery::ResetBeforeHeaders),
            Fault::Hang => Reply::text(500, "").delivered(Delivery::Hang(self.plan.lasting)),
            Fault::ResetMidBody
            | Fault::SlowBody
            | Fault::AppliedReplyLost
            | Fault::ListCutShort
            | Fault::DelayedVisibility
            | Fault::ForeignLabelWriter
            | Fault::ServerDeleted
            | Fault::Attached => return None,
        };
        let wait = match self.plan.fault {
            Fault::TooManyRequestsRetryAfter => Some(self.plan.retry_after.unwrap_or(Duration::from_secs(1))),
            _ if reply.status >= 400 => self.plan.retry_after,
            _ => None,
        };
        Some(match wait {
            Some(wait) => reply.with_header("retry-after", wait.as_secs().to_string()),
            None => reply,
        })
    }

    /// How the reply of a call that was carried out reaches the caller.
    pub(crate) fn delivery(&self, reply: Reply) -> Reply {
        match self.plan.fault {
            // An answer without a body has no middle.
            Fault::ResetMidBody if reply.body.is_empty() => reply.delivered(Delivery::ResetBeforeHeaders),
            Fault::ResetMidBody => reply.delivered(Delivery::ResetMidBody),
            Fault::SlowBody => reply.delivered(Delivery::Slow(self.plan.lasting.unwrap_or(Duration::from_secs(3)))),
            Fault::AppliedReplyLost => reply.delivered(Delivery::ResetBeforeHeaders),
            _ => reply,
        }
    }

    pub(crate) fn delay(&self) -> Duration {
        self.plan.lasting.unwrap_or(Duration::from_secs(10))
    }

    fn write_foreign_labels(&self, labels: &mut Labels) {
        if self.plan.foreign_labels.is_empty() {
            labels.set("foreign-writer", self.count.to_string());
        }
        for (key, value) in &self.plan.foreign_labels {
            match value {
                Value::Null => drop(labels.remove(key)),
                value => labels.set(key.clone(), value.clone()),
            }
        }
    }
}

impl State {
    /// Somebody else acts on the object of the call; `listed` is the first server of a list.
    pub(crate) fn meddle(&mut self, fired: &Fired, call: &Call, listed: Option<&str>) {
        let server = call.server.as_deref().or(fired.plan.server.as_deref()).or(listed);
        match fired.plan.fault {
            Fault::ForeignLabelWriter => {
                let region = match (&call.project, &call.region) {
                    (Some(project), Some(region)) => {
                        self.projects.get_mut(project).and_then(|regions| regions.get_mut(region))
                    }
                    _ => None,
                };
                let Some(region) = region else { return };
                if let Some(nic) = &call.nic {
                    region.change_nic(nic, |nic| fired.write_foreign_labels(&mut nic.labels));
                } else if let Some(volume) = &call.volume {
                    region.change_volume(volume, |volume| fired.write_foreign_labels(&mut volume.labels));
                } else if let Some(server) = server {
                    region.change(server, |server| fired.write_foreign_labels(&mut server.labels));
                }
            }
            Fault::Attached => {
                let region = match (&call.project, &call.region) {
                    (Some(project), Some(region)) => {
                        self.projects.get_mut(project).and_then(|regions| regions.get_mut(region))
                    }
                    _ => None,
                };
                if let Some(region) = region {
                    region.attach(call.nic.as_deref(), call.volume.as_deref(), fired.plan.server.as_deref());
                }
            }
            Fault::ServerDeleted => {
                if let Some(server) = server {
                    self.delete(server, None);
                }
            }
            _ => {}
        }
    }
}
