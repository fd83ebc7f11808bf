use std::fmt::Display;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeSeed;

use super::document::{Document, Header};
use super::{FolderError, Objects, is_json};

/// Reads the objects of one file: one document, several, or Lists of them, in YAML or JSON.
pub(super) fn read(path: &Path, text: &str) -> Result<Objects, FolderError> {
    let mut objects = Objects::new();
    if path.extension().is_some_and(is_json) {
        read_json(path, text, &mut objects)?;
    } else {
        read_yaml(path, text, &mut objects)?;
    }
    Ok(objects)
}

fn read_yaml(path: &Path, text: &str, objects: &mut Objects) -> Result<(), FolderError> {
    let again = serde_yaml_ng::Deserializer::from_str(text);
    for (index, (first, second)) in serde_yaml_ng::Deserializer::from_str(text).zip(again).enumerate() {
        let header = Header::deserialize(first).map_err(|error| broken(path, &error))?;
        if let Some(header) = checked(path, index, header)? {
            Document { header: &header, objects }.deserialize(second).map_err(|error| broken(path, &error))?;
        }
    }
    Ok(())
}

fn read_json(path: &Path, text: &str, objects: &mut Objects) -> Result<(), FolderError> {
    let mut second = serde_json::Deserializer::from_str(text);
    for (index, header) in serde_json::Deserializer::from_str(text).into_iter().enumerate() {
        let header = header.map_err(|error| broken(path, &error))?;
        match checked(path, index, header)? {
            Some(header) => Document { header: &header, objects }.deserialize(&mut second),
            None => serde::de::IgnoredAny::deserialize(&mut second).map(drop),
        }
        .map_err(|error| broken(path, &error))?;
    }
    Ok(())
}

/// None for an empty document.
fn checked(path: &Path, index: usize, header: Header) -> Result<Option<Header>, FolderError> {
    if header.is_empty {
        return Ok(None);
    }
    let header = header.inherited();
    if header.has_no_kind() {
        let message = format!("in its document {} an object has no kind", index + 1);
        return Err(FolderError::Broken { path: path.to_owned(), message });
    }
    Ok(Some(header))
}

fn broken(path: &Path, error: &dyn Display) -> FolderError {
    FolderError::Broken { path: path.to_owned(), message: error.to_string() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn names(file: &str, text: &str) -> Vec<String> {
        let objects = read(Path::new(file), text).unwrap();
        objects.into_iter().map(|(resource, seen)| format!("{resource} {}/{}", seen.namespace, seen.name)).collect()
    }

    fn error(file: &str, text: &str) -> String {
        read(Path::new(file), text).unwrap_err().to_string()
    }

    const MACHINE: &str =
        "apiVersion: machine.sapcloud.io/v1alpha1\nkind: Machine\nmetadata: {name: m, namespace: n}\n";

    #[test]
    fn single_and_several_documents_are_read() {
        assert_eq!(names("a.yaml", MACHINE), ["machines n/m"]);
        let several =
            format!("---\n{MACHINE}---\n# nothing\n---\nkind: Namespace\nmetadata: {{name: n}}\napiVersion: v1\n---\n");
        assert_eq!(names("a.yaml", &several), ["machines n/m", "namespaces n/n"]);
        assert_eq!(names("a.yaml", ""), [""; 0]);
        assert_eq!(names("a.json", ""), [""; 0]);
        let json = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}"#;
        assert_eq!(names("a.json", &format!("{json}\n{json}")), ["namespaces a/a", "namespaces a/a"]);
        assert_eq!(names("a.yaml", json), ["namespaces a/a"]);
    }

    #[test]
    fn lists_are_read_wherever_they_name_their_kind() {
        let yaml = "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata:\n    name: a\n\
                    - kind: Pod\n  metadata:\n    name: p\n    namespace: n\n  apiVersion: v1\n- kind: Unknown\n  items: [1, 2]\n\
                    kind: List\nmetadata:\n  resourceVersion: \"\"\n";
        assert_eq!(names("a.yaml", yaml), ["namespaces a/a", "pods n/p"]);
        let typed = r#"{"kind": "MachineList", "apiVersion": "machine.sapcloud.io/v1alpha1", "metadata": {},
            "items": [{"metadata": {"name": "a", "namespace": "n"}}, {"metadata": {"name": "b", "namespace": "n"}}]}"#;
        assert_eq!(names("a.json", typed), ["machines n/a", "machines n/b"]);
        let nested = format!("{{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [{typed}]}}");
        assert_eq!(names("a.json", &nested), ["machines n/a", "machines n/b"]);
    }

    #[test]
    fn unknown_kinds_are_ignored_whatever_they_hold() {
        let text = "apiVersion: x/v1\nkind: Machine\nmetadata: 7\nspec: [a]\nitems: {a: b}\n";
        assert_eq!(names("a.yaml", text), [""; 0]);
    }

    #[test]
    fn a_broken_file_is_named_with_the_line() {
        for (text, line) in [
            ("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n nope: [\n", "line 5"),
            (&*format!("{MACHINE}spec:\n  providerID: {{a: b}}\n"), "line 5"),
            (&*format!("{MACHINE}---\n{MACHINE}spec:\n  class: wrong\n"), "line 9"),
        ] {
            let error = error("a/b.yaml", text);
            assert!(error.contains("a/b.yaml") && error.contains(line), "{error}");
        }
        let error = error("b.json", "{\n\"apiVersion\": \"v1\",\n\"kind\": \"Pod\", \"metadata\": {\"name\": 7}\n}");
        assert!(error.contains("b.json") && error.contains("line 3"), "{error}");
    }

    #[test]
    fn a_document_that_is_no_object_is_broken_and_not_quoted() {
        for (file, text) in [("a.yaml", "hush"), ("a.json", "\"hush\""), ("a.yaml", "- hush"), ("a.yaml", "a: hush")] {
            let error = error(file, text);
            assert!(error.contains("has no kind") && !error.contains("hush"), "{error}");
        }
        let error = error("a.yaml", "kind: List\napiVersion: v1\nitems: [{metadata: {name: a}, kind: null}]\n");
        assert!(error.contains("has no kind") || error.is_empty(), "{error}");
    }
}
