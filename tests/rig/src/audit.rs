//! The audit log of the API server.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// The policy the rig's API servers log by.
pub(crate) const POLICY: &str = include_str!("audit-policy.yaml");

/// The events (`audit.k8s.io/v1`) in the log from the byte `from` on in whose text `about` stands. A line that is being
/// written is left out.
pub(crate) fn read(log: &Path, from: u64, about: &str) -> Result<Vec<Value>> {
    let mut text = String::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.read_to_string(&mut text)
    });
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", log.display())),
    }
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let lines = whole.lines().filter(|line| line.contains(about));
    lines.map(|line| serde_json::from_str(line).context("a line of the audit log is no JSON")).collect()
}

/// The annotations of an event whose key begins with `prefix`, such as `failed-open.mutation.webhook.admission.k8s.io/`.
pub fn annotations<'a>(event: &'a Value, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    event
        .get("annotations")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(move |(key, _)| key.starts_with(prefix))
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// The events that say that a mutating or validating webhook was passed over because its call failed.
#[must_use]
pub fn failed_open(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| annotations(event, "failed-open.").next().is_some()).collect()
}
