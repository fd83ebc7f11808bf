//! What a write changed in a Machine.

use serde_json::Value;

/// One member of the object that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Such as `spec.providerID`.
    pub(crate) path: String,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

/// What the API server itself keeps.
const BOOKKEEPING: [&str; 5] = [
    "metadata.creationTimestamp",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
    "metadata.uid",
];

/// All changes, by path.
pub(crate) fn changes(before: &Value, after: &Value) -> Vec<Change> {
    let mut found = Vec::new();
    compare("", Some(before), Some(after), &mut found);
    found
}

fn compare(path: &str, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<Change>) {
    if before == after || BOOKKEEPING.contains(&path) {
        return;
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (before, after) {
        let gone = old.keys().filter(|key| !new.contains_key(*key));
        for key in new.keys().chain(gone) {
            let dot = if path.is_empty() { "" } else { "." };
            compare(&format!("{path}{dot}{key}"), old.get(key), new.get(key), found);
        }
        return;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
    found.push(Change { path: path.to_owned(), before: before.map(text), after: after.map(text) });
}
