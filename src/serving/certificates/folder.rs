use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use super::{CertificateStore, PairError, ServingPair};
use crate::serving::{ServingMetrics, UnixTime};

/// How often a folder may change under the hands of whoever reads it before that counts as a failure.
const READS: u32 = 3;

/// Why a folder's certificate cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    /// A file cannot be read.
    #[error(
        "cannot read {file}: {reason}; --tls-cert-dir names a folder with tls.crt and tls.key that this process may read"
    )]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// It kept changing.
    #[error("{0} changes faster than it can be read")]
    Restless(PathBuf),
    /// The files are no pair to serve with.
    #[error(
        "cannot serve with tls.crt and tls.key of {dir}: {source}; renew them, or make a development pair with `certs`"
    )]
    Pair {
        /// The folder.
        dir: PathBuf,
        /// What is wrong.
        source: PairError,
    },
}

/// A folder with `tls.crt` and `tls.key` (and `ca.crt`, for its expiry alone), such as a mounted Secret.
///
/// It is read again and again, and compared by content: a watch on a file of a Secret volume sees only the first renewal,
/// because kubelet swaps a symbolic link above it.
#[derive(Debug)]
pub struct CertificateFolder {
    dir: PathBuf,
    /// The content that the store holds.
    served: u64,
}

struct Files {
    chain: Vec<u8>,
    key: Vec<u8>,
    authority: Option<Vec<u8>>,
}

impl CertificateFolder {
    /// Reads the folder's pair into a store.
    ///
    /// # Errors
    /// [`FolderError`]: at the start there is nothing else to serve with.
    pub async fn open(
        dir: impl Into<PathBuf>,
        metrics: ServingMetrics,
    ) -> Result<(Self, Arc<CertificateStore>), FolderError> {
        let dir = dir.into();
        let files = Files::read(&dir).await?;
        let pair = files.pair(&dir)?;
        let folder = Self { dir, served: files.content() };
        Ok((folder, CertificateStore::new(pair, metrics)))
    }

    /// Reads the folder every `pause` and puts each new pair that is valid into `store`; of any other it says once why not, and
    /// the last good one stays.
    pub async fn watch(mut self, store: Arc<CertificateStore>, pause: Duration) -> Infallible {
        let mut ticks = interval(pause);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut complaint = None;
        loop {
            ticks.tick().await;
            match self.reload(&store).await {
                Ok(()) => complaint = None,
                Err(error) if complaint.as_ref() == Some(&error) => {}
                Err((error, content)) => {
                    store.count_failure();
                    tracing::warn!(%error, "the serving certificate stays as it was");
                    complaint = Some((error, content));
                }
            }
        }
    }

    /// The error comes with the content it is about, so that the next broken content is news again.
    async fn reload(&mut self, store: &CertificateStore) -> Result<(), (FolderError, u64)> {
        let files = Files::read(&self.dir).await.map_err(|error| (error, 0))?;
        let content = files.content();
        if content != self.served {
            let pair = files.pair(&self.dir).map_err(|error| (error, content))?;
            tracing::info!(not_after = %pair.not_after(), "serving with a new certificate");
            store.replace(pair);
            self.served = content;
        }
        Ok(())
    }
}

impl Files {
    /// Reads until nothing changed in between: kubelet swaps all files at once.
    async fn read(dir: &Path) -> Result<Self, FolderError> {
        let mut last = Self::read_once(dir).await?;
        for _ in 0..READS {
            let again = Self::read_once(dir).await?;
            if again.content() == last.content() {
                return Ok(again);
            }
            last = again;
        }
        Err(FolderError::Restless(dir.to_owned()))
    }

    async fn read_once(dir: &Path) -> Result<Self, FolderError> {
        let read = async |name: &str| {
            let file = dir.join(name);
            tokio::fs::read(&file)
                .await
                .map_err(|error: io::Error| FolderError::Unreadable { file, reason: error.to_string() })
        };
        Ok(Self { chain: read("tls.crt").await?, key: read("tls.key").await?, authority: read("ca.crt").await.ok() })
    }

    fn content(&self) -> u64 {
        let Self { chain, key, authority } = self;
        let mut hasher = DefaultHasher::new();
        (chain, key, authority).hash(&mut hasher);
        hasher.finish()
    }

    fn pair(&self, dir: &Path) -> Result<ServingPair, FolderError> {
        let broken = |source| FolderError::Pair { dir: dir.to_owned(), source };
        let pair = ServingPair::from_pem(&self.chain, &self.key, self.authority.as_deref()).map_err(broken)?;
        pair.check(UnixTime::now()).map_err(broken)?;
        Ok(pair)
    }
}
