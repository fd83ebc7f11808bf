use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::{FolderError, Seen};
use crate::world::reduce;

/// Reads the objects of one file: YAML (which JSON is part of), one document, several, or Lists of them.
pub(super) fn read(path: &Path, text: &str) -> Result<Seen, FolderError> {
    let mut seen = Seen::new();
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        let object = Value::deserialize(document)
            .map_err(|error| FolderError::Syntax { path: path.to_owned(), message: error.to_string() })?;
        read_object(path, object, &mut seen)?;
    }
    Ok(seen)
}

fn read_object(path: &Path, mut object: Value, seen: &mut Seen) -> Result<(), FolderError> {
    if object.is_null() {
        return Ok(()); // an empty document, as after a last `---`
    }
    let text =
        |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = text(&object, "/kind");
    if kind.is_empty() {
        return Err(FolderError::Syntax { path: path.to_owned(), message: "a document has no kind".to_owned() });
    }
    if kind.ends_with("List")
        && let Some(Value::Array(items)) = object.get_mut("items").map(Value::take)
    {
        let item_kind = kind.trim_end_matches("List");
        let api_version = text(&object, "/apiVersion");
        return items.into_iter().try_for_each(|mut item| {
            // Items of a typed list (as the API itself answers) name neither.
            if let Some(item) = item.as_object_mut().filter(|item| !item.contains_key("kind")) {
                item.insert("kind".to_owned(), item_kind.into());
                item.insert("apiVersion".to_owned(), api_version.clone().into());
            }
            read_object(path, item, seen)
        });
    }
    let name = text(&object, "/metadata/name");
    let reduced = reduce::reduce(object).map_err(|error| FolderError::Object {
        path: path.to_owned(),
        kind,
        name,
        message: error.to_string(),
    })?;
    seen.extend(reduced);
    Ok(())
}
