//! What is sent back, and how.

use std::time::Duration;

use serde_json::{Value, json};

/// How the bytes of a reply reach the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// The connection is reset instead of an answer.
    ResetBeforeHeaders,
    /// Headers and half of the body, then a reset.
    ResetMidBody,
    /// The body trickles for this long.
    Slow(Duration),
    /// Nothing is sent: for this long (then the connection is reset), or until the caller goes away.
    Hang(Option<Duration>),
}

#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// Headers besides Content-Type and the IDs of the request.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) delivery: Delivery,
}

impl Reply {
    fn of(status: u16, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status, content_type, body, headers: Vec::new(), delivery: Delivery::Whole }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::of(status, "application/json", body.to_string().into_bytes())
    }

    /// JSON that was rendered before.
    pub(crate) fn rendered(status: u16, body: String) -> Self {
        Self::of(status, "application/json", body.into_bytes())
    }

    pub(crate) fn text(status: u16, body: &str) -> Self {
        Self::of(status, "text/plain", body.as_bytes().to_vec())
    }

    pub(crate) fn html(status: u16, body: &str) -> Self {
        Self::of(status, "text/html", body.as_bytes().to_vec())
    }

    pub(crate) fn no_content() -> Self {
        Self::of(204, "application/json", Vec::new())
    }

    /// The error body of the IaaS API: both members are required there.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self::json(status, &json!({ "code": status, "msg": message }))
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn delivered(mut self, delivery: Delivery) -> Self {
        self.delivery = delivery;
        self
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The status that the caller sees, if it sees any.
    pub(crate) fn status_sent(&self) -> Option<u16> {
        match self.delivery {
            Delivery::Whole | Delivery::ResetMidBody | Delivery::Slow(_) => Some(self.status),
            Delivery::ResetBeforeHeaders | Delivery::Hang(_) => None,
        }
    }
}
