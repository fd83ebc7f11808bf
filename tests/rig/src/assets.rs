//! Where the real kube-apiserver, etcd and kubectl are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, bail};

use crate::go_build;

/// The folder that users of envtest have already; honoured when set.
pub const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";
/// Chooses the Go module to build when [`ASSETS_VARIABLE`] is not set: a minor version that has a folder under `tests/apiserver`.
pub const VERSION_VARIABLE: &str = "MCM_TEST_KUBERNETES";
/// The minor version that is built by default.
pub const DEFAULT_VERSION: &str = "1.36";

/// Paths of the programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assets {
    /// kube-apiserver.
    pub kube_apiserver: PathBuf,
    /// etcd.
    pub etcd: PathBuf,
    /// kubectl of the same version. The rig never uses one from the path.
    pub kubectl: PathBuf,
}

impl Assets {
    /// The programs in `folder`.
    fn in_folder(folder: &Path) -> Result<Self> {
        let find = |name: &str| -> Result<PathBuf> {
            let path = folder.join(name);
            if !path.is_file() {
                bail!(
                    "{} is missing; {ASSETS_VARIABLE} must name a folder with kube-apiserver, etcd and kubectl, or be unset",
                    path.display()
                );
            }
            Ok(path)
        };
        Ok(Self { kube_apiserver: find("kube-apiserver")?, etcd: find("etcd")?, kubectl: find("kubectl")? })
    }
}

/// Finds the programs, building them once if there is no [`ASSETS_VARIABLE`] (minutes; it says so on stderr).
pub async fn ensure() -> Result<Assets> {
    static FOUND: OnceLock<Arc<Result<Assets, String>>> = OnceLock::new();
    let found = tokio::task::spawn_blocking(|| {
        FOUND.get_or_init(|| Arc::new(find().map_err(|error| format!("{error:#}")))).clone()
    })
    .await
    .context("the search for the API server's programs broke off")?;
    match &*found {
        Ok(assets) => Ok(assets.clone()),
        Err(message) => bail!("{message}"),
    }
}

fn find() -> Result<Assets> {
    if let Some(folder) = std::env::var_os(ASSETS_VARIABLE).filter(|folder| !folder.is_empty()) {
        return Assets::in_folder(Path::new(&folder));
    }
    let version = std::env::var(VERSION_VARIABLE).unwrap_or_else(|_| DEFAULT_VERSION.to_owned());
    Assets::in_folder(&go_build::ensure(version.trim_start_matches('v'))?)
}
