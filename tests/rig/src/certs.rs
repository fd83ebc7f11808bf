//! Certificates of the rig's own: a CA, server certificates for loopback, client certificates for users.

use anyhow::{Context as _, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// A certificate authority (ECDSA P-256).
#[derive(Debug)]
pub struct Ca {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate and its key, both PEM.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate.
    pub cert: String,
    /// The private key, PKCS #8.
    pub key: String,
}

impl Ca {
    /// A new CA. Its subject differs from every leaf's, else OpenSSL refuses the chain.
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("cannot make the key of a CA")?;
        let pem = params.self_signed(&key).context("cannot sign a CA")?.pem();
        Ok(Self { issuer: Issuer::new(params, key), pem })
    }

    /// The certificate of the CA.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for a server; `names` are DNS names and IP addresses.
    pub fn server(&self, common_name: &str, names: &[&str]) -> Result<Pair> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let params = CertificateParams::new(names).context("a name that cannot stand in a certificate")?;
        self.sign(params, common_name, &[], ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate that the API server takes as the user `name` of `groups`.
    pub fn client(&self, name: &str, groups: &[&str]) -> Result<Pair> {
        self.sign(CertificateParams::default(), name, groups, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        name: &str,
        groups: &[&str],
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Pair> {
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        if groups.len() > 1 {
            // rcgen keeps one value per kind of name; Kubernetes would read each organization as a group.
            anyhow::bail!("a client certificate of the rig carries one group at most, not {groups:?}");
        }
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().context("cannot make a key")?;
        let cert =
            params.signed_by(&key, &self.issuer).with_context(|| format!("cannot sign the certificate of {name}"))?;
        Ok(Pair { cert: cert.pem(), key: key.serialize_pem() })
    }
}
