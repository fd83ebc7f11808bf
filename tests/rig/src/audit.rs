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
    // From the byte before: if no line ends there, `from` stands in the middle of one, which is not of this test.
    let mut bytes = Vec::new();
    let read = File::open(log).and_then(|mut file| {
        file.seek(SeekFrom::Start(from.saturating_sub(1)))?;
        file.read_to_end(&mut bytes)
    });
    match read {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", log.display())),
    }
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    lines.pop();
    let lines = lines.into_iter().skip(usize::from(from > 0));
    let lines = lines.map(|line| std::str::from_utf8(line).context("a line of the audit log is no UTF-8"));
    let about = lines.filter(|line| line.as_ref().map_or(true, |line| line.contains(about)));
    about.map(|line| serde_json::from_str(line?).context("a line of the audit log is no JSON")).collect()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::read;

    #[test]
    fn lines_that_began_earlier_or_have_no_end_are_left_out() {
        let log = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(log.path(), "{\"n\":1}\n{\"n\":\"ä\"}\n{\"n\":3}\n{\"n\":").unwrap();
        let all = read(log.path(), 0, "").unwrap();
        assert_eq!(all.len(), 3);
        // At the beginning of the second line, at its second byte, and within its last letter.
        assert_eq!(read(log.path(), 8, "").unwrap(), all[1..]);
        assert_eq!(read(log.path(), 9, "").unwrap(), all[2..]);
        assert_eq!(read(log.path(), 15, "").unwrap(), all[2..]);
        assert_eq!(read(log.path(), 0, "3").unwrap(), all[2..]);
    }
}
