//! `label_selector`: `key=value` and `key`, joined by commas, all of which must hold.

use serde_json::Value;

use crate::label_mode::LabelMode;
use crate::labels::Labels;

/// A parsed `label_selector`. Other operators are not documented and refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector(Vec<(String, Option<String>)>);

impl Selector {
    /// A trailing comma, which is a term without a key, is an error: clients had to stop sending one
    /// (machine-controller-manager-provider-stackit, pull request 88).
    pub(crate) fn parse(mode: LabelMode, text: &str) -> Result<Self, String> {
        let mut terms = Vec::new();
        for term in text.split(',') {
            let (key, value) = match term.split_once('=') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (term, None),
            };
            mode.check_key(key).map_err(|problem| format!("invalid label_selector: {problem}"))?;
            if let Some(value) = &value {
                LabelMode::check_value(value).map_err(|problem| format!("invalid label_selector: {problem}"))?;
            }
            terms.push((key.to_owned(), value));
        }
        Ok(Self(terms))
    }

    pub(crate) fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|(key, wanted)| match (labels.get(key), wanted) {
            (Some(_), None) => true,
            (Some(Value::String(found)), Some(wanted)) => found == wanted,
            // The API takes strings only; what else a test put there is equal to nothing.
            _ => false,
        })
    }
}
