use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};

use super::super::certificate::Pair;
use super::super::issue::{Issued, Validity};
use super::rotation::State;

/// What stands in the Secret that all replicas share.
#[derive(Debug, Clone)]
pub(super) struct Material {
    /// PEM certificates of the CAs, oldest first: what the configurations carry as `caBundle`.
    pub(super) bundle: Vec<String>,
    /// Key of the last CA.
    pub(super) ca_key: SecretString,
    pub(super) leaf: Issued,
    pub(super) state: State,
}

/// Why the Secret cannot be used. Nothing of its content is named.
#[derive(Debug, thiserror::Error)]
pub(super) enum MaterialError {
    #[error("it has no {0}")]
    Absent(&'static str),
    #[error("its {0} is broken")]
    Broken(&'static str),
    #[error("its tls.key is not the key of its tls.crt")]
    Mismatch,
}

const KEYS: [&str; 4] = ["ca.crt", "ca.key", "tls.crt", "tls.key"];

impl Material {
    pub(super) fn new(bundle: Vec<String>, ca_key: SecretString, leaf: Issued) -> Result<Self, MaterialError> {
        let parsed: Vec<CertificateDer<'static>> = bundle
            .iter()
            .map(|pem| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| MaterialError::Broken("ca.crt")))
            .collect::<Result<_, _>>()?;
        if parsed.is_empty() {
            return Err(MaterialError::Absent("ca.crt"));
        }
        let cas = parsed.iter().map(|ca| Ok(read(ca, "ca.crt")?.0)).collect::<Result<Vec<_>, MaterialError>>()?;
        let leaf_der = CertificateDer::from_pem_slice(leaf.certificate.as_bytes())
            .map_err(|_| MaterialError::Broken("tls.crt"))?;
        let (validity, issuer, _) = read(&leaf_der, "tls.crt")?;
        let mut leaf_signed_by = None;
        for (place, ca) in parsed.iter().enumerate() {
            if read(ca, "ca.crt")?.2 == issuer {
                leaf_signed_by = Some(place);
            }
        }
        let state = State { cas, leaf: validity, leaf_signed_by };
        Ok(Self { bundle, ca_key, leaf, state })
    }

    pub(super) fn read(secret: &Secret) -> Result<Self, MaterialError> {
        let text = |key: &'static str| {
            let bytes = secret.data.as_ref().and_then(|data| data.get(key)).ok_or(MaterialError::Absent(key))?;
            std::str::from_utf8(&bytes.0).map_err(|_| MaterialError::Broken(key))
        };
        let [ca, ca_key, certificate, key] = KEYS;
        let leaf = Issued { certificate: text(certificate)?.to_owned(), key: SecretString::from(text(key)?) };
        let material = Self::new(split(text(ca)?), SecretString::from(text(ca_key)?), leaf)?;
        material.pair()?;
        Ok(material)
    }

    pub(super) fn data(&self) -> BTreeMap<String, ByteString> {
        let values = [
            self.ca_bundle(),
            self.ca_key.expose_secret().to_owned(),
            self.leaf.certificate.clone(),
            self.leaf.key.expose_secret().to_owned(),
        ];
        KEYS.into_iter().zip(values).map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes()))).collect()
    }

    pub(super) fn ca_bundle(&self) -> String {
        self.bundle.concat()
    }

    pub(super) fn pair(&self) -> Result<Pair, MaterialError> {
        Pair::from_pem(self.leaf.certificate.as_bytes(), self.leaf.key.expose_secret().as_bytes())
            .map_err(|_| MaterialError::Mismatch)
    }

    /// The last CA with its key: the one that signs.
    pub(super) fn signing_ca(&self) -> Option<(Issued, Validity)> {
        let certificate = self.bundle.last()?.clone();
        Some((Issued { certificate, key: self.ca_key.clone() }, *self.state.cas.last()?))
    }
}

/// Validity, issuer and subject of a certificate.
type Names = (Validity, Vec<u8>, Vec<u8>);

fn read(certificate: &CertificateDer<'_>, key: &'static str) -> Result<Names, MaterialError> {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).map_err(|_| MaterialError::Broken(key))?;
    let validity = Validity {
        not_before: parsed.validity().not_before.timestamp(),
        not_after: parsed.validity().not_after.timestamp(),
    };
    Ok((validity, parsed.issuer().as_raw().to_vec(), parsed.subject().as_raw().to_vec()))
}

/// The certificates of a bundle, each with its own PEM armour.
fn split(bundle: &str) -> Vec<String> {
    const END: &str = "-----END CERTIFICATE-----";
    bundle
        .split_inclusive(END)
        .filter(|part| part.ends_with(END))
        .map(|part| format!("{}\n", part.trim_start()))
        .collect()
}
