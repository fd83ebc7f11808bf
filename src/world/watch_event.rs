use serde::Deserialize;
use serde_json::value::RawValue;

use super::call::{read, unreadable};
use super::reduce::Seen;
use super::{Resource, WorldError};

/// What a line of a watch says.
#[derive(Debug)]
pub(super) enum WatchEvent {
    /// The object is as it was read now.
    Put(Seen),
    /// The object is gone.
    Gone(Seen),
    /// Everything up to this version has been sent.
    Bookmark(Box<str>),
    /// The watch cannot go on from its version: the API server's words.
    Error(String),
}

#[derive(Deserialize)]
struct Line<'a> {
    r#type: Type,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum Type {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Error,
}

#[derive(Deserialize)]
struct Bookmark {
    metadata: Version,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    resource_version: Box<str>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    message: String,
}

impl WatchEvent {
    /// Reads a line of a watch of `resource`.
    pub(super) fn read(resource: Resource, line: &[u8]) -> Result<Self, WorldError> {
        let broken = |error| unreadable(resource, "an event".to_owned(), &error);
        let Line { r#type, object } = serde_json::from_slice(line).map_err(broken)?;
        Ok(match r#type {
            Type::Added | Type::Modified => Self::Put(read(resource, object)?),
            Type::Deleted => Self::Gone(read(resource, object)?),
            Type::Bookmark => Self::Bookmark(
                serde_json::from_str::<Bookmark>(object.get()).map_err(broken)?.metadata.resource_version,
            ),
            Type::Error => Self::Error(serde_json::from_str::<Status>(object.get()).map_err(broken)?.message),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn event(line: &str) -> Result<WatchEvent, WorldError> {
        WatchEvent::read(Resource::MachineClasses, line.as_bytes())
    }

    #[test]
    fn each_type_of_event_is_told_apart() {
        let object = r#"{"provider":"stackit","metadata":{"name":"a","namespace":"n","resourceVersion":"7"}}"#;
        for type_ in ["ADDED", "MODIFIED"] {
            let line = format!(r#"{{"type":"{type_}","object":{object}}}"#);
            assert!(matches!(event(&line), Ok(WatchEvent::Put(seen)) if &*seen.version == "7" && &*seen.name == "a"));
        }
        assert!(matches!(event(&format!(r#"{{"object":{object},"type":"DELETED"}}"#)), Ok(WatchEvent::Gone(_))));
        let bookmark = r#"{"type":"BOOKMARK","object":{"kind":"MachineClass","metadata":{"resourceVersion":"9"}}}"#;
        assert!(matches!(event(bookmark), Ok(WatchEvent::Bookmark(version)) if &*version == "9"));
        let error = r#"{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}}"#;
        assert!(matches!(event(error), Ok(WatchEvent::Error(message)) if message == "too old"));
    }

    #[test]
    fn what_is_unknown_or_breaks_off_is_an_error() {
        for line in [
            "",
            "{",
            r#"{"type":"OTHER","object":{}}"#,
            r#"{"type":"ADDED","object":{}}"#,
            r#"{"type":"BOOKMARK","object":{}}"#,
        ] {
            assert!(matches!(event(line), Err(WorldError::Unreadable { .. })), "{line}");
        }
    }
}
