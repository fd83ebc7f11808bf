//! Makes CAs and serving certificates: ECDSA P-256, because its handshakes cost less than half of RSA's.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use secrecy::{ExposeSecret, SecretString};
use time::OffsetDateTime;

/// A certificate and its key, in PEM. The key never shows in a log.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its private key (PKCS #8).
    pub key: SecretString,
}

/// Why no certificate could be made.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// A name cannot stand in a certificate, or the CA's text is broken.
    #[error("cannot make the certificate: {0}; check the names that it should have and the CA's certificate and key")]
    Certificate(#[from] rcgen::Error),
    /// A moment is out of the calendar.
    #[error("cannot make a certificate that ends {0} s after the epoch; ask for a shorter life")]
    Moment(i64),
}

/// From when to when a certificate holds, in seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub not_before: i64,
    /// The last second.
    pub not_after: i64,
}

impl Validity {
    /// From a little before `now`, so that a clock that is behind takes it too, until `seconds` after it.
    #[must_use]
    pub fn starting(now: i64, seconds: i64) -> Self {
        Self { not_before: now - 300, not_after: now + seconds }
    }
}

/// Makes a CA. Its name holds `serial`, because two CAs in one bundle, and a CA and its leaf, need different names.
///
/// # Errors
/// When no key can be made.
pub fn ca(serial: i64, validity: Validity) -> Result<Issued, IssueError> {
    let mut params = params(&[], &format!("mcm-migration-webhook CA {serial}"), validity)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = params.self_signed(&key)?.pem();
    Ok(Issued { certificate, key: SecretString::from(key.serialize_pem()) })
}

/// Makes a serving certificate for `names` (DNS names and IP addresses), signed by `ca`.
///
/// # Errors
/// When a name cannot stand in a certificate or the CA cannot be read.
pub fn leaf(ca: &Issued, names: &[String], validity: Validity) -> Result<Issued, IssueError> {
    let mut params = params(names, "mcm-migration-webhook", validity)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let issuer = Issuer::from_ca_cert_pem(&ca.certificate, KeyPair::from_pem(ca.key.expose_secret())?)?;
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let certificate = params.signed_by(&key, &issuer)?.pem();
    Ok(Issued { certificate, key: SecretString::from(key.serialize_pem()) })
}

fn params(names: &[String], common_name: &str, validity: Validity) -> Result<CertificateParams, IssueError> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    let moment = |seconds| OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| IssueError::Moment(seconds));
    params.not_before = moment(validity.not_before)?;
    params.not_after = moment(validity.not_after)?;
    Ok(params)
}
