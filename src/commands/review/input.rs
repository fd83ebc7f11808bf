use std::io::Read;
use std::path::{Path, PathBuf};

use mcm_migration_core::review::{API_VERSION, KIND};
use serde_json::{Value, json};

use crate::admission;

/// Why there is nothing to evaluate.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
    /// The file cannot be read.
    #[error(
        "cannot read {file}: {source}; name a file with one AdmissionReview, Machine or Worker, or - for standard input"
    )]
    Read {
        /// The file, or `-`.
        file: PathBuf,
        /// What was wrong.
        source: std::io::Error,
    },
    /// It is not one document of JSON or YAML.
    #[error("{file} is not one document of JSON or YAML: {message}")]
    Syntax {
        /// The file, or `-`.
        file: PathBuf,
        /// What was wrong, with the line.
        message: String,
    },
    /// It is too deep for a tree, which the object after the patch is made of. `serve` makes none.
    #[error(
        "{file} is nested deeper than {DEEPEST} levels, which review does not read, while serve does; take out what is so deep: it decides nothing"
    )]
    TooDeep {
        /// The file, or `-`.
        file: PathBuf,
    },
    /// It is something else.
    #[error("{file} holds {what}; name one with an AdmissionReview of admission.k8s.io/v1, a Machine or a Worker")]
    Kind {
        /// The file, or `-`.
        file: PathBuf,
        /// What it holds.
        what: String,
    },
}

/// How deep the parser goes.
const DEEPEST: u8 = 128;

/// One thing to evaluate: a review, and the path that it would have gone to.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) path: admission::Path,
    pub(super) review: Value,
}

impl Input {
    /// Reads an AdmissionReview, a Machine or a Worker, as JSON or YAML. A plain object is taken for an UPDATE of it.
    pub(super) fn read(file: &Path) -> Result<Self, InputError> {
        let text = read(file).map_err(|source| InputError::Read { file: file.to_owned(), source })?;
        let value: Value = serde_yaml_ng::from_str(&text).map_err(|error| unreadable(file, &error.to_string()))?;
        Self::of(value).map_err(|what| InputError::Kind { file: file.to_owned(), what })
    }

    fn of(value: Value) -> Result<Self, String> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, api_version) = (text("/kind"), text("/apiVersion"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if kind == KIND && api_version == API_VERSION {
            let resource = text("/request/resource/resource");
            let path = path_of(&resource).ok_or_else(|| format!("an AdmissionReview about `{resource}`"))?;
            return Ok(Self { path, review: value });
        }
        let path = match (kind.as_str(), group) {
            ("Machine", "machine.sapcloud.io") => admission::Path::Machine,
            ("Worker", "extensions.gardener.cloud") => admission::Path::Worker,
            ("", _) => return Err("nothing that has a kind".to_owned()),
            _ => return Err(format!("a `{kind}` of `{api_version}`")),
        };
        let (group, resource) = path.resource();
        let request = json!({
            "uid": "offline",
            "resource": {"group": group, "resource": resource},
            "name": text("/metadata/name"),
            "namespace": text("/metadata/namespace"),
            "operation": "UPDATE",
            "userInfo": {"username": "offline"},
            "object": value,
        });
        Ok(Self { path, review: json!({"apiVersion": API_VERSION, "kind": KIND, "request": request}) })
    }
}

/// The parser says how deep it goes only in words.
fn unreadable(file: &Path, message: &str) -> InputError {
    let file = file.to_owned();
    if message.contains("recursion limit exceeded") {
        InputError::TooDeep { file }
    } else {
        InputError::Syntax { file, message: message.to_owned() }
    }
}

fn path_of(resource: &str) -> Option<admission::Path> {
    [admission::Path::Machine, admission::Path::Worker].into_iter().find(|path| path.resource().1 == resource)
}

fn read(file: &Path) -> std::io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(file)
}
