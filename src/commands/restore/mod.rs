//! `restore`: writes back from an export what the gate of the way back lets through, and nothing else.

mod flags;
mod print;
mod shoot;
mod write;

use std::io::Read;
use std::path::Path;

use mcm_migration_core::archive::{Export, read};

use super::export::unread;
use super::reach::reach;
use super::sha256::sha256;
use super::{Exit, fail};
use crate::cloud::{CloudMetrics, Clouds};
use print::Counts;
use shoot::Shoot;

pub(super) use flags::RestoreFlags;

/// Whom the fields belong to that are written here.
const FIELD_MANAGER: &str = "mcm-migration-restore";
/// No export of a whole seed comes near it.
const LONGEST: u64 = 1 << 30;

pub(super) fn run(flags: &RestoreFlags) -> Exit {
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(restore(flags)).unwrap_or_else(|exit| exit),
        Err(error) => fail(Exit::Failed, &format_args!("cannot start the runtime: {error}")),
    }
}

async fn restore(flags: &RestoreFlags) -> Result<Exit, Exit> {
    let export = open(&flags.file)?;
    let mut namespaces: Vec<Box<str>> = export.namespaces.iter().cloned().collect();
    if !flags.namespace.is_empty() {
        if let Some(absent) = flags.namespace.iter().find(|name| !export.namespaces.contains(&***name)) {
            return Err(fail(Exit::No, &format_args!("the export has no shoot {absent}")));
        }
        namespaces.retain(|namespace| flags.namespace.iter().any(|wanted| **wanted == **namespace));
    }
    let clouds = flags.cloud.config().and_then(|config| Clouds::new(config, CloudMetrics::default()));
    let clouds = clouds.map_err(|error| fail(Exit::Usage, &error))?;
    let seed = reach(&flags.cluster, FIELD_MANAGER).await?;
    let (settings, mut counts) = (flags.settings(), Counts::default());
    for namespace in &namespaces {
        let shoot = Shoot::read(&seed, namespace, &settings, &clouds).await.map_err(|error| unread(&error))?;
        shoot.restore(export.of(namespace), flags.dry_run, &mut counts).await;
    }
    print::summary(&counts, flags.dry_run);
    Ok(counts.exit())
}

/// The export, as a whole.
fn open(file: &Path) -> Result<Export, Exit> {
    let told = file.display();
    let mut bytes = Vec::new();
    let got = if file == Path::new("-") {
        std::io::stdin().lock().take(LONGEST).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes))
    };
    got.map_err(|error| fail(Exit::Usage, &format_args!("cannot read {told}: {error}")))?;
    read(&bytes, sha256).map_err(|refused| fail(Exit::No, &format_args!("{told}: {refused}")))
}
