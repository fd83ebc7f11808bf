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
    /// It is neither JSON nor YAML.
    #[error("{file} is neither JSON nor YAML: {message}")]
    Syntax {
        /// The file, or `-`.
        file: PathBuf,
        /// What was wrong, with the line.
        message: String,
    },
    /// It is something else.
    #[error(
        "{file} holds a `{kind}` of `{api_version}`; name one with an AdmissionReview of admission.k8s.io/v1, a Machine or a Worker"
    )]
    Kind {
        /// The file, or `-`.
        file: PathBuf,
        /// Its `kind`.
        kind: String,
        /// Its `apiVersion`.
        api_version: String,
    },
}

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
        let value: Value = serde_yaml_ng::from_str(&text)
            .map_err(|error| InputError::Syntax { file: file.to_owned(), message: error.to_string() })?;
        Self::of(value).map_err(|(kind, api_version)| InputError::Kind { file: file.to_owned(), kind, api_version })
    }

    fn of(value: Value) -> Result<Self, (String, String)> {
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, api_version) = (text("/kind"), text("/apiVersion"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let path = match (kind.as_str(), group) {
            (KIND, _) if api_version == API_VERSION => path_of(&text("/request/resource/resource")),
            ("Machine", "machine.sapcloud.io") => Some(admission::Path::Machine),
            ("Worker", "extensions.gardener.cloud") => Some(admission::Path::Worker),
            _ => None,
        };
        let Some(path) = path else { return Err((kind, api_version)) };
        if kind == KIND {
            return Ok(Self { path, review: value });
        }
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
