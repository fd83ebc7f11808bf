use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::serving::UnixTime;

/// Why two files are no certificate to serve with. Never with what stands in them: one of them is a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// No PEM certificate, or a broken one.
    #[error("the certificate is no PEM file that begins with a certificate")]
    Certificate,
    /// No PEM key, a broken or an encrypted one.
    #[error("the key is no PEM file with an unencrypted private key (RSA or ECDSA)")]
    Key,
    /// The key belongs to another certificate.
    #[error("the key does not belong to the certificate")]
    Mismatch,
    /// Out of its time.
    #[error("the certificate is valid from {not_before} to {not_after} only")]
    Expired {
        /// First moment.
        not_before: UnixTime,
        /// Last moment.
        not_after: UnixTime,
    },
}

/// A certificate chain and the key that belongs to it.
#[derive(Clone)]
pub struct ServingPair {
    pub(super) certified: Arc<CertifiedKey>,
    pub(super) validity: Validity,
    /// When the CA of the certificate expires, where it is known.
    pub(super) authority_not_after: Option<UnixTime>,
}

/// From when to when a certificate holds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) not_before: UnixTime,
    pub(super) not_after: UnixTime,
}

impl Validity {
    pub(super) fn of(certificate: &X509Certificate<'_>) -> Self {
        let validity = certificate.validity();
        Self {
            not_before: UnixTime(validity.not_before.timestamp()),
            not_after: UnixTime(validity.not_after.timestamp()),
        }
    }

    pub(super) fn holds(&self, now: UnixTime) -> bool {
        (self.not_before..=self.not_after).contains(&now)
    }

    pub(super) fn is_over(&self, now: UnixTime) -> bool {
        now > self.not_after
    }

    /// Whether two thirds of it are over.
    pub(super) fn is_due(&self, now: UnixTime) -> bool {
        now.since(self.not_before) >= self.not_after.since(self.not_before) / 3 * 2
    }
}

impl ServingPair {
    /// Parses PEM files: the certificate followed by intermediate ones, its key, and the CA where there is one.
    ///
    /// # Errors
    /// [`PairError`]; a broken CA is none, because nothing is served from it.
    pub fn from_pem(chain: &[u8], key: &[u8], authority: Option<&[u8]>) -> Result<Self, PairError> {
        let chain: Vec<_> =
            CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>().map_err(|_| PairError::Certificate)?;
        let leaf = chain.first().ok_or(PairError::Certificate)?;
        let (_, leaf) = X509Certificate::from_der(leaf).map_err(|_| PairError::Certificate)?;
        let validity = Validity::of(&leaf);
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| PairError::Key)?;
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let key = provider.key_provider.load_private_key(key).map_err(|_| PairError::Key)?;
        let certified = CertifiedKey::new(chain, key);
        certified.keys_match().map_err(|_| PairError::Mismatch)?;
        let authority_not_after = authority.and_then(not_after);
        Ok(Self { certified: Arc::new(certified), validity, authority_not_after })
    }

    /// Whether clients accept it at `now`.
    ///
    /// # Errors
    /// [`PairError::Expired`], also when its time is yet to come.
    pub fn check(&self, now: UnixTime) -> Result<(), PairError> {
        let Validity { not_before, not_after } = self.validity;
        if self.validity.holds(now) { Ok(()) } else { Err(PairError::Expired { not_before, not_after }) }
    }

    /// When the certificate itself expires.
    #[must_use]
    pub fn not_after(&self) -> UnixTime {
        self.validity.not_after
    }
}

/// The earliest end among the certificates of a PEM file.
fn not_after(pem: &[u8]) -> Option<UnixTime> {
    let ends = CertificateDer::pem_slice_iter(pem).filter_map(|der| {
        let der = der.ok()?;
        let (_, certificate) = X509Certificate::from_der(&der).ok()?;
        Some(Validity::of(&certificate).not_after)
    });
    ends.min()
}

impl fmt::Debug for ServingPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServingPair").field("validity", &self.validity).finish_non_exhaustive()
    }
}
