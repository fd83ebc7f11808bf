use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::certificate::Pair;
use super::{CertificateStore, PairError, ServingMetrics};

/// A folder with `tls.crt` and `tls.key`, for example a mounted Secret.
#[derive(Debug)]
pub struct CertificateFolder {
    folder: PathBuf,
    seen: Option<Texts>,
    failed: Option<String>,
}

/// The two files as they were. Compared, never shown.
#[derive(PartialEq, Eq)]
struct Texts {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl std::fmt::Debug for Texts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Texts")
    }
}

/// Why the certificate cannot be taken from a folder.
#[derive(Debug, thiserror::Error)]
pub enum FolderCertificateError {
    /// A file cannot be read.
    #[error("cannot read {file}: {source}; --tls-cert-dir needs a folder with tls.crt and tls.key")]
    Read {
        /// The file.
        file: PathBuf,
        /// What was wrong.
        source: std::io::Error,
    },
    /// The files are no pair.
    #[error(
        "cannot use tls.crt and tls.key in {folder}: {source}; put a certificate chain in PEM and its private key there"
    )]
    Pair {
        /// The folder.
        folder: PathBuf,
        /// What was wrong.
        source: PairError,
    },
}

impl CertificateFolder {
    /// Takes the certificate from `folder` for the first time.
    ///
    /// # Errors
    /// When there is no usable pair.
    pub fn open(folder: PathBuf, store: &CertificateStore) -> Result<Self, FolderCertificateError> {
        let mut this = Self { folder, seen: None, failed: None };
        this.look(store)?;
        Ok(this)
    }

    /// Looks again every `every`, for ever, and takes up a pair whose content has changed. By content and not by events: after
    /// kubelet's second swap of the links a watch on the files sees nothing. A broken pair is named once and the last good one kept.
    pub async fn follow(
        mut self,
        store: Arc<CertificateStore>,
        metrics: ServingMetrics,
        every: Duration,
    ) -> Infallible {
        loop {
            tokio::time::sleep(every).await;
            match self.look(&store) {
                Ok(false) => {}
                Ok(true) => {
                    self.failed = None;
                    tracing::info!(folder = %self.folder.display(), "took up a new certificate");
                }
                Err(error) => {
                    let error = error.to_string();
                    metrics.reload_failed();
                    if self.failed.as_ref() != Some(&error) {
                        tracing::warn!(error, "the certificate is kept as it is");
                        self.failed = Some(error);
                    }
                }
            }
        }
    }

    /// Whether a new pair was taken up.
    fn look(&mut self, store: &CertificateStore) -> Result<bool, FolderCertificateError> {
        let read = |name: &str| {
            let file = self.folder.join(name);
            std::fs::read(&file).map_err(|source| FolderCertificateError::Read { file, source })
        };
        let texts = Texts { certificate: read("tls.crt")?, key: read("tls.key")? };
        if self.seen.as_ref() == Some(&texts) {
            return Ok(false);
        }
        let pair = Pair::from_pem(&texts.certificate, &texts.key)
            .map_err(|source| FolderCertificateError::Pair { folder: self.folder.clone(), source })?;
        store.set(pair);
        self.seen = Some(texts);
        Ok(true)
    }
}
