use std::io::Write;
use std::path::{Path, PathBuf};

use crate::commands::sha256::sha256;

/// Why an export is not where it should be.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    /// Standard output is closed or full.
    #[error("cannot write to standard output: {0}")]
    Out(std::io::Error),
    /// The file, or the one beside it that takes its place, cannot be written.
    #[error("cannot write {file}: {source}; what was there before is as it was")]
    File {
        /// The file.
        file: String,
        /// What was wrong.
        source: std::io::Error,
    },
}

/// Writes an export, as a whole or not at all. Says into which file, if it is one.
///
/// In a folder it is named after its content, so that each state is there once however often it is exported.
pub(super) fn write(output: &Path, bytes: &[u8]) -> Result<Option<String>, OutputError> {
    if output == Path::new("-") {
        let mut out = std::io::stdout().lock();
        out.write_all(bytes).and_then(|()| out.flush()).map_err(OutputError::Out)?;
        return Ok(None);
    }
    let file = if output.is_dir() { output.join(named_after(bytes)) } else { output.to_owned() };
    let told = file.display().to_string();
    replace(&file, bytes).map_err(|source| OutputError::File { file: told.clone(), source })?;
    Ok(Some(told))
}

fn named_after(bytes: &[u8]) -> String {
    let digest = sha256(bytes).map(|byte| format!("{byte:02x}")).concat();
    // So much of it tells any two states apart.
    format!("export-{digest:.16}.jsonl")
}

/// Writes beside the file first, so that a crash leaves what was there.
fn replace(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = (|| {
        let mut out = std::fs::File::create(&beside)?;
        out.write_all(bytes)?;
        out.sync_all()?;
        std::fs::rename(&beside, file)
    })();
    if written.is_err() {
        // It may not even be there.
        drop(std::fs::remove_file(&beside));
    }
    written
}
