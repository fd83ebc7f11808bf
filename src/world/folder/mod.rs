//! The second source: a folder of manifests, as `kubectl get -o yaml` writes them. It needs no cluster.

mod file;
mod follow;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::reduce::Observation;
use super::{Resource, World};

pub use follow::follow;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder or a file in it cannot be read.
    #[error("cannot read {path}: {source}; name a readable folder of manifests with --objects")]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// What was wrong.
        source: std::io::Error,
    },
    /// A file is neither YAML nor JSON.
    #[error("{path} is broken: {message}; correct it, its last good state is kept meanwhile")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What was wrong, with line and column where they are known.
        message: String,
    },
    /// An object in a file does not have the shape of its kind.
    #[error(
        "{path}: the {kind} `{name}` cannot be read: {message}; correct it, the file's last good state is kept meanwhile"
    )]
    Object {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// What was wrong.
        message: String,
    },
}

/// What stands in one file or folder.
type Seen = Vec<(Resource, Observation)>;

/// Everything that stands in `folder`, for one decision: it never turns stale.
///
/// # Errors
/// The first file that cannot be read.
pub fn load(folder: &Path) -> Result<World, FolderError> {
    let mut seen = Seen::new();
    for path in files(folder)? {
        seen.extend(file::read(&path, &text_of(&path)?)?);
    }
    let world = World::new(Duration::MAX);
    fill(&world, seen);
    Ok(world)
}

/// Makes `seen` all that the world knows.
fn fill(world: &World, seen: Seen) {
    let mut sorted: BTreeMap<Resource, Vec<Observation>> =
        Resource::ALL.into_iter().map(|resource| (resource, Vec::new())).collect();
    for (resource, observation) in seen {
        sorted.entry(resource).or_default().push(observation);
    }
    for (resource, observations) in sorted {
        world.replace(resource, observations);
        world.sign_of_life(resource);
    }
}

/// The manifests in a folder and below it, in order; those whose name begins with a dot are left out, as the links of a mounted
/// `ConfigMap` are.
fn files(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let broken = |source| FolderError::Read { path: folder.to_owned(), source };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].map(AsRef::as_ref).contains(&extension))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn text_of(path: &Path) -> Result<String, FolderError> {
    std::fs::read_to_string(path).map_err(|source| FolderError::Read { path: path.to_owned(), source })
}
