use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{FolderError, Seen, file, files, fill, text_of};
use crate::world::{Resource, World};

/// How often the folder is looked at. By content, not by events: the links of a mounted `ConfigMap` swap below a file's name.
const EVERY: Duration = Duration::from_secs(1);

/// What is known of one file.
#[derive(Debug)]
struct Known {
    /// As it was when it was last looked at; none when that did not succeed.
    text: Option<String>,
    /// Its last good state.
    good: Seen,
}

/// Keeps the world as the folder is. A broken file is named once and its last good state is kept; while the folder itself cannot
/// be read, the world turns stale.
///
/// # Errors
/// When the folder cannot be read at the start. Later on only the log tells.
pub async fn follow(folder: &Path, world: &World) -> Result<Infallible, FolderError> {
    let mut known = BTreeMap::new();
    look(folder, &mut known, world)?;
    let mut readable = true;
    loop {
        tokio::time::sleep(EVERY).await;
        match look(folder, &mut known, world) {
            Ok(()) => readable = true,
            Err(error) if readable => {
                readable = false;
                tracing::warn!(%error, "the folder cannot be read");
            }
            Err(_) => {}
        }
    }
}

/// Takes up what changed.
fn look(folder: &Path, known: &mut BTreeMap<PathBuf, Known>, world: &World) -> Result<(), FolderError> {
    let paths = files(folder)?;
    let before = known.len();
    known.retain(|path, _| paths.contains(path));
    let mut changed = known.len() != before;
    for path in paths {
        changed |= look_at(&path, known);
    }
    if changed || world.silent_for(Resource::Machines).is_none() {
        fill(world, known.values().flat_map(|file| file.good.iter().cloned()).collect());
    }
    for resource in Resource::ALL {
        world.sign_of_life(resource);
    }
    Ok(())
}

/// Whether the file has another good state than before.
fn look_at(path: &Path, known: &mut BTreeMap<PathBuf, Known>) -> bool {
    let file = known.entry(path.to_owned()).or_insert(Known { text: None, good: Seen::new() });
    let read = text_of(path).and_then(|text| {
        if file.text.as_ref() == Some(&text) {
            return Ok(None);
        }
        let seen = file::read(path, &text);
        file.text = Some(text);
        seen.map(Some)
    });
    match read {
        Ok(None) => false,
        Ok(Some(seen)) => {
            tracing::info!(file = %path.display(), objects = seen.len(), "took up");
            file.good = seen;
            true
        }
        Err(error) => {
            tracing::warn!(%error, "a manifest is broken");
            false
        }
    }
}
