//! What API servers share that speak for the same cluster: etcd, the CA, the key of the service accounts, a folder.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::assets::Assets;
use crate::certs::Ca;
use crate::etcd::Etcd;
use crate::ports::Port;
use crate::process::{Process, tail};
use crate::{kubeconfig, undertaker, wait};

/// How long etcd may take to listen.
const START: Duration = Duration::from_secs(30);

/// Dropped after the last API server over it.
#[derive(Debug)]
pub(crate) struct Store {
    // In the order in which they have to go.
    etcd: Mutex<Process>,
    port: Port,
    pub(crate) assets: Assets,
    pub(crate) ca: Ca,
    files: AtomicU32,
    folder: TempDir,
}

impl Store {
    /// Starts etcd on loopback, without fsync: what a test loses in a crash of the machine it does not miss.
    pub(crate) async fn start(assets: Assets) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("mcm-migration-rig-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        undertaker::watch_folder(folder.path());
        let ca = Ca::new("rig-ca")?;
        std::fs::write(folder.path().join("ca.crt"), ca.pem()).context("cannot write the CA")?;
        let key = rcgen::KeyPair::generate().context("cannot make the key of the service accounts")?;
        kubeconfig::write_private(&folder.path().join("service-account.key"), &key.serialize_pem())?;
        std::fs::write(folder.path().join("service-account.pub"), key.public_key_pem())
            .context("cannot write a public key")?;

        let port = Port::reserve()?;
        let url = format!("http://127.0.0.1:{}", port.number());
        let log = folder.path().join("etcd.log");
        let mut command = Command::new(&assets.etcd);
        command
            .arg("--data-dir")
            .arg(folder.path().join("etcd"))
            .args(["--unsafe-no-fsync", "--log-level=warn", "--listen-peer-urls=http://127.0.0.1:0"])
            .arg(format!("--listen-client-urls={url}"))
            .arg(format!("--advertise-client-urls={url}"));
        let mut etcd = Process::spawn_logged("etcd", &mut command, &log)?;
        let number = port.number();
        let listening =
            wait::until("etcd listens", START, || async { Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, number)).ok()) });
        listening.await.with_context(|| format!("the end of its log:\n{}", tail(&log, 10)))?;
        if let Some(status) = etcd.try_wait()? {
            bail!("etcd ended with {status}:\n{}", tail(&log, 10));
        }
        Ok(Self { etcd: Mutex::new(etcd), port, assets, ca, files: AtomicU32::new(0), folder })
    }

    /// Where etcd listens.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port.number())
    }

    /// etcd itself, beside the API server.
    pub(crate) fn etcd(&self) -> Result<Etcd> {
        Etcd::new(self.url())
    }

    /// The folder of everything; gone with the store.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path that nobody has used yet, ending in `name`.
    pub(crate) fn new_path(&self, name: &str) -> PathBuf {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        self.folder.path().join(format!("{number}-{name}"))
    }

    /// The process ID of etcd.
    pub(crate) fn etcd_id(&self) -> u32 {
        self.etcd.lock().unwrap_or_else(std::sync::PoisonError::into_inner).id()
    }
}
