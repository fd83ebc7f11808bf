use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{FolderError, Objects, file, files, fill, text_of};
use crate::world::{Resource, World};

/// How often the folder is looked at. By content, not by events: the links of a mounted `ConfigMap` swap below a file's name.
const EVERY: Duration = Duration::from_secs(1);

/// Keeps the world as the folder is. A broken file is named once and its last good state counts; while the folder itself cannot be
/// read, the world turns stale.
///
/// # Errors
/// When the folder or a file in it cannot be read at the start. Later on only the log tells.
pub async fn follow(folder: &Path, world: &World) -> Result<Infallible, FolderError> {
    let mut state = State::default();
    let (mut first, mut said) = (true, false);
    loop {
        let (at, path) = (Instant::now(), folder.to_owned());
        let look = tokio::task::spawn_blocking(move || {
            let outcome = state.look(&path);
            (state, outcome)
        });
        let outcome;
        (state, outcome) = look
            .await
            .map_err(|error| FolderError::Read { path: folder.to_owned(), source: std::io::Error::other(error) })?;
        match outcome {
            Ok(outcome) => {
                said = false;
                if first && let Some(error) = outcome.errors.into_iter().next() {
                    return Err(error);
                }
                if first || outcome.changed {
                    fill(world, state.objects(), at);
                }
                for resource in Resource::ALL {
                    world.sign_of_life(resource, at);
                }
            }
            Err(error) if first => return Err(error),
            Err(error) if !said => {
                said = true;
                tracing::warn!(%error, "the folder cannot be read; what is known of it turns stale");
            }
            Err(_) => {}
        }
        first = false;
        tokio::time::sleep(EVERY).await;
    }
}

/// What is known of the folder.
#[derive(Debug, Default)]
struct State(BTreeMap<PathBuf, File>);

/// What is known of one file.
#[derive(Debug, Default)]
struct File {
    /// A digest of it as it was when it was last looked at, or of the error when it could not be read. Not its text: that may hold a
    /// Secret.
    digest: Option<u64>,
    /// Its last good state.
    good: Objects,
}

/// What a look at the folder brought.
#[derive(Debug, Default)]
struct Looked {
    changed: bool,
    /// Of files that were not broken in the same way at the last look.
    errors: Vec<FolderError>,
}

impl State {
    fn objects(&self) -> Objects {
        self.0.values().flat_map(|file| file.good.iter().cloned()).collect()
    }

    /// Takes up what changed.
    fn look(&mut self, folder: &Path) -> Result<Looked, FolderError> {
        let paths: BTreeSet<PathBuf> = files(folder)?;
        let mut looked = Looked::default();
        self.0.retain(|path, _| {
            let there = paths.contains(path);
            if !there {
                tracing::info!(file = %path.display(), "is gone");
            }
            looked.changed |= !there;
            there
        });
        for path in paths {
            let file = self.0.entry(path.clone()).or_default();
            match file.look(&path) {
                Ok(changed) => looked.changed |= changed,
                Err(error) => {
                    tracing::warn!(%error, "a manifest cannot be taken up");
                    looked.errors.push(error);
                }
            }
        }
        Ok(looked)
    }
}

impl File {
    /// Whether it has another good state than before.
    fn look(&mut self, path: &Path) -> Result<bool, FolderError> {
        let text = text_of(path);
        let mut hasher = DefaultHasher::new();
        text.as_ref().map_err(ToString::to_string).hash(&mut hasher);
        let digest = Some(hasher.finish());
        if std::mem::replace(&mut self.digest, digest) == digest {
            return Ok(false);
        }
        self.good = file::read(path, &text?)?;
        tracing::info!(file = %path.display(), objects = self.good.len(), "took up");
        Ok(true)
    }
}
