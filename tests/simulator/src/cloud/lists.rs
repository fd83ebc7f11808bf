//! What all lists have in common.

use std::sync::Arc;

use rand::seq::SliceRandom as _;
use serde_json::Value;

use crate::cloud::answer::{Context, Outcome};
use crate::labels::{LabelMode, Labels};
use crate::reply::Reply;
use crate::selector::Selector;

/// An item's ID and its JSON.
pub(crate) type Item = (String, Arc<str>);

pub(crate) fn item(id: &str, json: &Value) -> Item {
    (id.to_owned(), json.to_string().into())
}

impl Context<'_> {
    /// The selector, if there is one. An empty one selects everything.
    pub(crate) fn selector(&self, mode: LabelMode) -> Result<Option<Selector>, Reply> {
        match self.request.query.get("label_selector").map(String::as_str) {
            None | Some("") => Ok(None),
            Some(text) => Selector::parse(mode, text).map(Some).map_err(|problem| Reply::error(400, &problem)),
        }
    }

    /// `details`, false if not said.
    pub(crate) fn details(&self) -> Result<bool, Reply> {
        match self.request.query.get("details").map(String::as_str) {
            None | Some("false" | "False") => Ok(false),
            Some("true" | "True") => Ok(true),
            Some(other) => {
                Err(Reply::error(400, &format!("parameter \"details\" in query has an error: value {other}")))
            }
        }
    }

    /// The order of the items differs from call to call, as callers must not rely on it.
    pub(crate) fn list(&self, mut items: Vec<Item>) -> Outcome {
        items.shuffle(&mut rand::rng());
        if self.cut_short {
            items.truncate(items.len() / 2);
        }
        let mut body = String::with_capacity(32 + items.iter().map(|(_, json)| json.len() + 1).sum::<usize>());
        body.push_str("{\"items\":[");
        for (number, (_, json)) in items.iter().enumerate() {
            if number > 0 {
                body.push(',');
            }
            body.push_str(json);
        }
        body.push(']');
        if self.cut_short {
            body.push_str(",\"nextPageToken\":\"eyJvZmZzZXQiOjEwMH0\"");
        }
        body.push('}');
        Outcome { reply: Reply::rendered(200, body), server: items.into_iter().next().map(|(id, _)| id) }
    }
}

pub(crate) fn selects(selector: Option<&Selector>, labels: &Labels) -> bool {
    selector.is_none_or(|selector| selector.matches(labels))
}
