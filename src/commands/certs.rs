use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use secrecy::ExposeSecret;

use super::{Exit, fail};
use crate::serving::UnixTime;
use crate::serving::certificates::authority::{IssueError, issue, new_authority};

/// Clocks of client and server may differ by this much.
const BACKDATED: Duration = Duration::from_secs(300);

/// Flags of `certs`.
#[derive(Debug, Args)]
pub(super) struct CertsFlags {
    /// The folder to write ca.crt, tls.crt and tls.key into; it is made where it is not there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// A DNS name or IP address that the certificate is for
    #[arg(long = "name", value_name = "NAME", default_values = ["localhost", "127.0.0.1", "::1"])]
    names: Vec<String>,

    /// How long CA and certificate hold
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=825))]
    days: u16,

    /// Overwrite what is there
    #[arg(long)]
    force: bool,
}

/// Why the certificates could not be made.
#[derive(Debug, thiserror::Error)]
enum CertsError {
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error("cannot write {file}: {source}")]
    Write { file: PathBuf, source: std::io::Error },
    #[error("{0} is there already; name another folder, or say --force")]
    There(PathBuf),
}

pub(super) fn run(flags: &CertsFlags) -> Exit {
    let written = match make(flags) {
        Ok(written) => written,
        Err(error @ CertsError::Write { .. }) => return fail(Exit::Failed, &error),
        Err(error) => return fail(Exit::Usage, &error),
    };
    match std::io::stdout().write_all(written.as_bytes()) {
        Ok(()) => Exit::Done,
        Err(error) => fail(Exit::Failed, &format_args!("cannot write to standard output: {error}")),
    }
}

/// Makes a CA, whose key is thrown away, and one certificate signed by it; says what it wrote and how it is used.
fn make(flags: &CertsFlags) -> Result<String, CertsError> {
    let from = UnixTime::now().minus(BACKDATED);
    let lifetime = Duration::from_secs(u64::from(flags.days) * 86_400) + BACKDATED;
    let ca = new_authority(from, lifetime)?;
    let leaf = issue(&ca, &flags.names.iter().cloned().collect(), from, from.plus(lifetime))?;
    let file = |name: &str| flags.out.join(name);
    let files = [
        (file("ca.crt"), ca.certificate.as_str(), 0o644),
        (file("tls.crt"), leaf.certificate.as_str(), 0o644),
        (file("tls.key"), leaf.key.expose_secret(), 0o600),
    ];
    std::fs::create_dir_all(&flags.out).map_err(|source| CertsError::Write { file: flags.out.clone(), source })?;
    if let Some((there, ..)) = files.iter().find(|(file, ..)| file.exists())
        && !flags.force
    {
        return Err(CertsError::There(there.clone()));
    }
    for (file, text, mode) in files {
        write(&file, text, mode)?;
    }
    let out = flags.out.display();
    let bundle = BASE64_STANDARD.encode(&ca.certificate);
    Ok(format!(
        "wrote ca.crt, tls.crt and tls.key to {out}\nserve with: --tls-cert-dir {out}\ntrust with: curl --cacert {out}/ca.crt\ncaBundle: {bundle}\n"
    ))
}

fn write(file: &Path, text: &str, mode: u32) -> Result<(), CertsError> {
    let broken = |source| CertsError::Write { file: file.to_owned(), source };
    // Made anew, so that a key never stands in a file that others may read.
    drop(std::fs::remove_file(file));
    let mut opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(file).map_err(broken)?;
    opened.write_all(text.as_bytes()).map_err(broken)
}
