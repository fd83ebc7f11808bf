use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::ByteString;
use rcgen::{KeyPair, PublicKeyData};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::authority::Issued;
use super::pair::Validity;
use super::{PairError, ServingPair};
use crate::serving::UnixTime;

/// All CAs that clients are to trust; the signing one comes first.
const BUNDLE: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";
const NEXT_AUTHORITY: &str = "next-ca.crt";
const NEXT_AUTHORITY_KEY: &str = "next-ca.key";
const LEAF: &str = "tls.crt";
const LEAF_KEY: &str = "tls.key";
/// Since when the next CA has been seen in every webhook configuration. Not secret, but it stands and falls with the rest.
const NEXT_PUBLISHED: &str = "next-ca-published-since";

/// Why a Secret is not one of ours. Never with what stands in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SharedTlsError {
    /// A key of the Secret is missing or cannot be read.
    #[error("its key {0} is missing or holds something else")]
    Content(&'static str),
    /// Key and certificate do not belong together.
    #[error("{0} does not belong to its certificate")]
    Foreign(&'static str),
    /// Certificate and key are no pair to serve with.
    #[error("tls.crt and tls.key: {0}")]
    Pair(#[from] PairError),
}

/// A CA's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ca {
    pub(super) pem: String,
    pub(super) validity: Validity,
    /// The subject key identifier, which the certificates under it name.
    pub(super) key_id: Vec<u8>,
}

/// A CA that can sign.
#[derive(Debug, Clone)]
pub(super) struct SigningCa {
    pub(super) ca: Ca,
    pub(super) key: SecretString,
}

/// The CA that will sign once everybody trusts it.
#[derive(Debug, Clone)]
pub(super) struct NextCa {
    pub(super) signing: SigningCa,
    pub(super) published_since: Option<UnixTime>,
}

/// The serving certificate.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) issued: Issued,
    pub(super) pair: ServingPair,
    pub(super) names: BTreeSet<String>,
    pub(super) authority_key_id: Vec<u8>,
}

/// What the Secret holds that all replicas share: the CA, the serving certificate, and how far a change of CA has come.
#[derive(Clone)]
pub struct SharedTls {
    pub(super) authority: SigningCa,
    pub(super) next: Option<NextCa>,
    /// CAs that sign nothing more, kept while a replica could still serve a certificate of theirs.
    pub(super) retired: Vec<Ca>,
    pub(super) leaf: Leaf,
}

impl SharedTls {
    /// The CAs that clients are to trust, as PEM: the caBundle.
    #[must_use]
    pub fn bundle(&self) -> String {
        let next = self.next.iter().map(|next| &next.signing.ca);
        [&self.authority.ca].into_iter().chain(next).chain(&self.retired).map(|ca| ca.pem.as_str()).collect()
    }

    /// The pair to serve with.
    #[must_use]
    pub fn pair(&self) -> &ServingPair {
        &self.leaf.pair
    }

    /// The content of the Secret.
    #[must_use]
    pub fn data(&self) -> BTreeMap<String, ByteString> {
        let mut data = vec![
            (BUNDLE, self.bundle()),
            (AUTHORITY_KEY, self.authority.key.expose_secret().to_owned()),
            (LEAF, self.leaf.issued.certificate.clone()),
            (LEAF_KEY, self.leaf.issued.key.expose_secret().to_owned()),
        ];
        if let Some(next) = &self.next {
            data.push((NEXT_AUTHORITY, next.signing.ca.pem.clone()));
            data.push((NEXT_AUTHORITY_KEY, next.signing.key.expose_secret().to_owned()));
            data.extend(next.published_since.map(|since| (NEXT_PUBLISHED, since.to_string())));
        }
        data.into_iter().map(|(key, text)| (key.to_owned(), ByteString(text.into_bytes()))).collect()
    }

    /// Parses the content of the Secret; `None` when it holds nothing yet.
    ///
    /// # Errors
    /// [`SharedTlsError`] for a Secret that somebody else filled.
    pub fn parse(data: &BTreeMap<String, ByteString>) -> Result<Option<Self>, SharedTlsError> {
        if data.is_empty() {
            return Ok(None);
        }
        let mut bundle = Ca::all(text(data, BUNDLE)?).ok_or(SharedTlsError::Content(BUNDLE))?;
        if bundle.is_empty() {
            return Err(SharedTlsError::Content(BUNDLE));
        }
        let authority = SigningCa::new(bundle.remove(0), text(data, AUTHORITY_KEY)?, AUTHORITY_KEY)?;
        let next = if data.contains_key(NEXT_AUTHORITY) {
            let next = text(data, NEXT_AUTHORITY)?;
            let position = bundle.iter().position(|ca| ca.pem == next);
            let ca = bundle.remove(position.ok_or(SharedTlsError::Content(NEXT_AUTHORITY))?);
            let signing = SigningCa::new(ca, text(data, NEXT_AUTHORITY_KEY)?, NEXT_AUTHORITY_KEY)?;
            let published_since = text(data, NEXT_PUBLISHED).ok().and_then(UnixTime::parse);
            Some(NextCa { signing, published_since })
        } else {
            None
        };
        let issued = Issued { certificate: text(data, LEAF)?.to_owned(), key: text(data, LEAF_KEY)?.into() };
        let leaf = Leaf::new(issued, &authority.ca)?;
        Ok(Some(Self { authority, next, retired: bundle, leaf }))
    }
}

impl Ca {
    /// Every certificate of a PEM file; `None` when it holds anything else.
    fn all(pem: &str) -> Option<Vec<Self>> {
        CertificateDer::pem_slice_iter(pem.as_bytes()).map(|der| Self::new(&der.ok()?)).collect()
    }

    fn new(der: &CertificateDer<'_>) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let key_id = certificate.iter_extensions().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
            _ => None,
        })?;
        Some(Self { pem: pem_of(der), validity: Validity::of(&certificate), key_id })
    }
}

impl SigningCa {
    fn new(ca: Ca, key: &str, name: &'static str) -> Result<Self, SharedTlsError> {
        let pair = KeyPair::from_pem(key).map_err(|_| SharedTlsError::Content(name))?;
        let der = CertificateDer::from_pem_slice(ca.pem.as_bytes()).map_err(|_| SharedTlsError::Content(name))?;
        let (_, certificate) = X509Certificate::from_der(&der).map_err(|_| SharedTlsError::Content(name))?;
        if certificate.public_key().raw != pair.subject_public_key_info() {
            return Err(SharedTlsError::Foreign(name));
        }
        Ok(Self { ca, key: key.into() })
    }

    /// What a new CA is to this program.
    pub(super) fn from_issued(issued: &Issued) -> Result<Self, SharedTlsError> {
        let mut cas = Ca::all(&issued.certificate).unwrap_or_default();
        let ca = cas.pop().ok_or(SharedTlsError::Content(BUNDLE))?;
        Self::new(ca, issued.key.expose_secret(), AUTHORITY_KEY)
    }

    pub(super) fn issued(&self) -> Issued {
        Issued { certificate: self.ca.pem.clone(), key: self.key.clone() }
    }
}

impl Leaf {
    /// What a certificate under `authority` is to this program.
    pub(super) fn new(issued: Issued, authority: &Ca) -> Result<Self, SharedTlsError> {
        let Issued { certificate, key } = &issued;
        let mut pair = ServingPair::from_pem(certificate.as_bytes(), key.expose_secret().as_bytes(), None)?;
        pair.authority_not_after = Some(authority.validity.not_after);
        let der = pair.certified.end_entity_cert().map_err(|_| PairError::Certificate)?;
        let (_, parsed) = X509Certificate::from_der(der).map_err(|_| PairError::Certificate)?;
        let authority_key_id = parsed.iter_extensions().find_map(|extension| match extension.parsed_extension() {
            ParsedExtension::AuthorityKeyIdentifier(id) => id.key_identifier.as_ref().map(|id| id.0.to_vec()),
            _ => None,
        });
        let names = parsed.subject_alternative_name().ok().flatten().map(|names| &names.value.general_names);
        let names = names.into_iter().flatten().filter_map(name_of).collect();
        Ok(Self { names, authority_key_id: authority_key_id.unwrap_or_default(), pair, issued })
    }
}

fn name_of(name: &GeneralName<'_>) -> Option<String> {
    match *name {
        GeneralName::DNSName(name) => Some(name.to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(bytes).ok().map(|octets| std::net::Ipv4Addr::from(octets).to_string()),
            _ => <[u8; 16]>::try_from(bytes).ok().map(|octets| std::net::Ipv6Addr::from(octets).to_string()),
        },
        _ => None,
    }
}

fn text<'a>(data: &'a BTreeMap<String, ByteString>, key: &'static str) -> Result<&'a str, SharedTlsError> {
    let bytes = data.get(key).ok_or(SharedTlsError::Content(key))?;
    std::str::from_utf8(&bytes.0).map_err(|_| SharedTlsError::Content(key))
}

/// One form for one certificate, so that bundles can be compared as texts.
fn pem_of(der: &CertificateDer<'_>) -> String {
    use base64::Engine;
    let text = base64::prelude::BASE64_STANDARD.encode(der);
    let lines = text.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line) + "\n");
    format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", lines.collect::<String>())
}

impl fmt::Debug for SharedTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTls")
            .field("authority", &self.authority.ca.validity)
            .field("next", &self.next.as_ref().map(|next| next.signing.ca.validity))
            .field("leaf", &self.leaf.pair)
            .finish_non_exhaustive()
    }
}
