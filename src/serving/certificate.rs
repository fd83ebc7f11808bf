use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::ServingMetrics;

/// Why a certificate and a key are no pair. None of these holds a part of the key.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// There is no certificate in the PEM text.
    #[error("it holds no PEM certificate")]
    NoCertificate,
    /// A certificate in it is broken.
    #[error("a PEM certificate in it is broken: {0}")]
    BrokenCertificate(String),
    /// There is no usable key in the PEM text.
    #[error("it holds no PEM private key that can be used")]
    NoKey,
    /// The key is another certificate's.
    #[error("the private key is not the certificate's")]
    Mismatch,
}

/// A certificate chain with its key, checked against each other.
#[derive(Clone)]
pub(super) struct Pair {
    key: Arc<CertifiedKey>,
    not_after: i64,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pair").field("not_after", &self.not_after).finish_non_exhaustive()
    }
}

impl Pair {
    /// Reads a chain (leaf first) and a private key, and sees that they belong together.
    pub(super) fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, PairError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificate)
            .collect::<Result<_, _>>()
            .map_err(|error| PairError::BrokenCertificate(error.to_string()))?;
        let leaf = chain.first().ok_or(PairError::NoCertificate)?;
        let not_after = not_after(leaf)?;
        // Its error could quote what it read; the key's must not be quoted.
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| PairError::NoKey)?;
        let key = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider()).map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => PairError::Mismatch,
            rustls::Error::InvalidCertificate(error) => PairError::BrokenCertificate(format!("{error:?}")),
            _ => PairError::NoKey,
        })?;
        Ok(Self { key: Arc::new(key), not_after })
    }
}

/// When a certificate ends, in seconds since the epoch.
pub(super) fn not_after(certificate: &CertificateDer<'_>) -> Result<i64, PairError> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate)
        .map_err(|error| PairError::BrokenCertificate(error.to_string()))?;
    Ok(parsed.validity().not_after.timestamp())
}

/// The certificate that new connections get. It is swapped under a fixed TLS configuration; connections that are open keep theirs.
#[derive(Debug)]
pub struct CertificateStore {
    current: ArcSwapOption<Pair>,
    metrics: ServingMetrics,
}

impl CertificateStore {
    /// A store without a certificate: no connection gets through its handshake yet.
    #[must_use]
    pub fn empty(metrics: ServingMetrics) -> Arc<Self> {
        Arc::new(Self { current: ArcSwapOption::empty(), metrics })
    }

    /// Swaps the certificate.
    pub(super) fn set(&self, pair: Pair) {
        self.metrics.leaf_ends(pair.not_after);
        self.current.store(Some(Arc::new(pair)));
    }

    /// Whether there is a certificate that has not ended at `now` (seconds since the epoch).
    ///
    /// # Errors
    /// A sentence for `/readyz`.
    pub fn check(&self, now: i64) -> Result<(), String> {
        match self.current.load().as_deref() {
            None => Err("there is no serving certificate yet".to_owned()),
            Some(pair) if pair.not_after <= now => Err("the serving certificate has ended".to_owned()),
            Some(_) => Ok(()),
        }
    }
}

impl ResolvesServerCert for CertificateStore {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.load().as_deref().map(|pair| Arc::clone(&pair.key))
    }
}
