//! The second source: a folder of manifests, as `kubectl get -o yaml` writes them. It needs no cluster.

mod document;
mod file;
mod follow;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::reduce::Seen;
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
    /// A file does not hold what it should.
    #[error("{path} is broken: {message}; correct it, its last good state counts until then")]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        message: String,
    },
}

/// What stands in a file or in the folder. Of an object that stands there twice the last one counts, in the order of the paths.
type Objects = Vec<(Resource, Seen)>;

/// Everything that stands in `folder`, for one decision: it never turns stale.
///
/// # Errors
/// The first file that cannot be read.
pub fn load(folder: &Path) -> Result<World, FolderError> {
    let mut objects = Objects::new();
    for path in files(folder)? {
        objects.extend(file::read(&path, &text_of(&path)?)?);
    }
    let world = World::new(Duration::MAX);
    fill(&world, objects, Instant::now());
    Ok(world)
}

/// Makes `objects` all that the world knows.
fn fill(world: &World, objects: Objects, at: Instant) {
    let mut sorted: BTreeMap<Resource, Vec<_>> =
        Resource::ALL.into_iter().map(|resource| (resource, Vec::new())).collect();
    for (resource, Seen { namespace, name, fact, .. }) in objects {
        // As kubectl does with a manifest that names none.
        let namespace = if namespace.is_empty() { "default".into() } else { namespace };
        if let Some(fact) = fact {
            sorted.entry(resource).or_default().push((namespace, name, fact));
        }
    }
    for (resource, objects) in sorted {
        world.replace(resource, objects, at);
    }
}

/// The manifests in a folder and below it, in order. Those whose name begins with a dot are left out: in a mounted `ConfigMap` they
/// are the folders that the links of the right names lead to.
fn files(folder: &Path) -> Result<BTreeSet<PathBuf>, FolderError> {
    let broken = |source| FolderError::Read { path: folder.to_owned(), source };
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
            continue;
        }
        if path.is_dir() {
            found.append(&mut files(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml" || is_json(extension))
        {
            found.insert(path);
        }
    }
    Ok(found)
}

fn is_json(extension: &std::ffi::OsStr) -> bool {
    extension == "json"
}

fn text_of(path: &Path) -> Result<String, FolderError> {
    std::fs::read_to_string(path).map_err(|source| FolderError::Read { path: path.to_owned(), source })
}
