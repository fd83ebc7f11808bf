//! Making a CA and certificates under it: ECDSA P-256, which costs a server less than half of what RSA-2048 does.

use std::collections::BTreeSet;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use secrecy::{ExposeSecret, SecretString};

use crate::serving::UnixTime;

/// Why no certificate could be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a certificate for {names}: {source}; names are DNS names or IP addresses")]
pub struct IssueError {
    names: String,
    source: rcgen::Error,
}

/// A certificate and its key, both as PEM.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// Its key, PKCS #8.
    pub key: SecretString,
}

/// A new CA, valid from `from` for `lifetime`. Its name carries its beginning, so that no two have the same one, and none has
/// that of a certificate under it: OpenSSL takes such a certificate for self-signed.
///
/// # Errors
/// [`IssueError`] where the cryptographic library fails.
pub fn new_authority(from: UnixTime, lifetime: Duration) -> Result<Issued, IssueError> {
    let name = format!("mcm-migration-webhook CA {}", from.0);
    let failed = |source| IssueError { names: name.clone(), source };
    let mut params = params(Vec::new(), &name, from, from.plus(lifetime)).map_err(failed)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.self_signed(&key).map_err(failed)?;
    Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem().into() })
}

/// A new serving certificate for `names` (DNS names and IP addresses) under `authority`, valid from `from` to `until`.
///
/// # Errors
/// [`IssueError`] for a name that is none, and where the authority is no certificate with its key.
pub fn issue(
    authority: &Issued,
    names: &BTreeSet<String>,
    from: UnixTime,
    until: UnixTime,
) -> Result<Issued, IssueError> {
    let names: Vec<_> = names.iter().cloned().collect();
    let failed = |source| IssueError { names: names.join(", "), source };
    let signing_key = KeyPair::from_pem(authority.key.expose_secret()).map_err(failed)?;
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate, signing_key).map_err(failed)?;
    let mut params = params(names.clone(), "mcm-migration-webhook", from, until).map_err(failed)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
    Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem().into() })
}

fn params(
    names: Vec<String>,
    common_name: &str,
    from: UnixTime,
    until: UnixTime,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    params.distinguished_name = name;
    let at = |time: UnixTime| date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(time.0).unwrap_or(0));
    params.not_before = at(from);
    params.not_after = at(until);
    Ok(params)
}
