//! Where the real kube-apiserver, etcd and kubectl are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, bail};

use crate::go_build;

/// The folder that users of envtest have already; honoured when set.
pub const ASSETS_VARIABLE: &str = "KUBEBUILDER_ASSETS";
/// Chooses the Go module to build: a minor version that has a folder under `tests/apiserver`. Beside [`ASSETS_VARIABLE`] it must
/// name the version that lies there.
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

    /// Fails unless the API server is of the minor version `wanted`: a test that passes must have passed with the one that was asked for.
    fn must_be(&self, wanted: &str) -> Result<()> {
        let program = self.kube_apiserver.display();
        let output = std::process::Command::new(&self.kube_apiserver)
            .arg("--version")
            .output()
            .with_context(|| format!("cannot run {program} --version"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said.trim().trim_start_matches("Kubernetes v");
        if !format!("{version}.").starts_with(&format!("{}.", wanted.trim_start_matches('v'))) {
            bail!(
                "{ASSETS_VARIABLE} and {VERSION_VARIABLE}={wanted} contradict each other: {program} is of version {version:?}; unset one of them"
            );
        }
        Ok(())
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
    let wanted = std::env::var(VERSION_VARIABLE).ok().filter(|version| !version.is_empty());
    if let Some(folder) = std::env::var_os(ASSETS_VARIABLE).filter(|folder| !folder.is_empty()) {
        let assets = Assets::in_folder(Path::new(&folder))?;
        if let Some(wanted) = wanted {
            assets.must_be(&wanted)?;
        }
        return Ok(assets);
    }
    let version = wanted.unwrap_or_else(|| DEFAULT_VERSION.to_owned());
    Assets::in_folder(&go_build::ensure(version.trim_start_matches('v'))?)
}
