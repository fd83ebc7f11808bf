use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use jsonwebtoken::EncodingKey;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::rsa_key;

/// A service-account key, as `serviceaccount.json` of a shoot's `cloudprovider` Secret holds it. Clones share it.
///
/// Two are equal when everything that is used of them is: a Secret that was written again with the same key changes nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct ServiceAccountKey(Arc<Inner>);

struct Inner {
    key_id: Box<str>,
    issuer: Box<str>,
    subject: Box<str>,
    audience: Box<str>,
    token_endpoint: Option<Box<str>>,
    valid_until: Option<Timestamp>,
    private_key: SecretString,
    signing_key: EncodingKey,
}

/// Why a text is no service-account key. It quotes nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No JSON.
    #[error(
        "the service-account key is no JSON (line {line}, column {column}); store the file again as STACKIT gave it"
    )]
    NotJson {
        /// Where, from 1.
        line: usize,
        /// Where, from 1.
        column: usize,
    },
    /// JSON, but no object.
    #[error("the service-account key is no JSON object; store the file again as STACKIT gave it")]
    NotAnObject,
    /// A member is absent, or of another type.
    #[error("{0} of the service-account key is missing, empty or no string; store the file again as STACKIT gave it")]
    Member(&'static str),
    /// The private key is with somebody else.
    #[error(
        "the service-account key has no credentials.privateKey: its key pair was not made by STACKIT; add the private key \
         to the file, as PEM"
    )]
    NoPrivateKey,
    /// The private key cannot be used.
    #[error(
        "credentials.privateKey of the service-account key is no RSA key in PEM; store the file again as STACKIT gave it"
    )]
    PrivateKey,
    /// No date.
    #[error("validUntil of the service-account key is no RFC 3339 date; store the file again as STACKIT gave it")]
    ValidUntil,
}

impl ServiceAccountKey {
    /// Reads the JSON that STACKIT gives when a key is made. Unknown members are ignored.
    ///
    /// # Errors
    /// [`KeyError`] when something that is needed is missing or cannot be used.
    pub fn parse(json: &[u8]) -> Result<Self, KeyError> {
        // The error's own words can quote a value.
        let value = serde_json::from_slice(json)
            .map_err(|error| KeyError::NotJson { line: error.line(), column: error.column() })?;
        let Value::Object(mut key) = value else { return Err(KeyError::NotAnObject) };
        let Some(Value::Object(mut credentials)) = key.remove("credentials") else {
            return Err(KeyError::Member("credentials"));
        };
        let private_key = match credentials.remove("privateKey") {
            Some(Value::String(pem)) if !pem.trim().is_empty() => SecretString::from(pem),
            Some(Value::String(_) | Value::Null) | None => return Err(KeyError::NoPrivateKey),
            Some(_) => return Err(KeyError::PrivateKey),
        };
        let signing_key =
            EncodingKey::from_rsa_der(&rsa_key::pkcs1_of(private_key.expose_secret()).ok_or(KeyError::PrivateKey)?);
        let token_endpoint = match credentials.remove("tokenEndpoint") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => Some(text.into()),
            Some(_) => return Err(KeyError::Member("credentials.tokenEndpoint")),
        };
        let valid_until = match key.remove("validUntil") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.is_empty() => None,
            Some(Value::String(text)) => Some(text.parse().map_err(|_| KeyError::ValidUntil)?),
            Some(_) => return Err(KeyError::ValidUntil),
        };
        Ok(Self(Arc::new(Inner {
            key_id: take(&mut credentials, "kid", "credentials.kid")?,
            issuer: take(&mut credentials, "iss", "credentials.iss")?,
            subject: take(&mut credentials, "sub", "credentials.sub")?,
            audience: take(&mut credentials, "aud", "credentials.aud")?,
            token_endpoint,
            valid_until,
            private_key,
            signing_key,
        })))
    }

    /// `validUntil`: when the key ends. None: it does not end by itself.
    #[must_use]
    pub fn valid_until(&self) -> Option<Timestamp> {
        self.0.valid_until
    }

    /// `credentials.kid`: which key it is. No secret.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.0.key_id
    }

    /// `credentials.iss`: the service account's e-mail address. No secret.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.0.issuer
    }

    pub(super) fn subject(&self) -> &str {
        &self.0.subject
    }

    pub(super) fn audience(&self) -> &str {
        &self.0.audience
    }

    pub(super) fn token_endpoint(&self) -> Option<&str> {
        self.0.token_endpoint.as_deref()
    }

    pub(super) fn signing_key(&self) -> &EncodingKey {
        &self.0.signing_key
    }
}

fn take(members: &mut Map<String, Value>, name: &str, path: &'static str) -> Result<Box<str>, KeyError> {
    match members.remove(name) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.into()),
        _ => Err(KeyError::Member(path)),
    }
}

impl Inner {
    /// Everything that decides. The signing key is made of the private key.
    fn content(&self) -> [Option<&str>; 6] {
        let Self { key_id, issuer, subject, audience, token_endpoint, valid_until: _, private_key, signing_key: _ } =
            self;
        [
            Some(key_id),
            Some(issuer),
            Some(subject),
            Some(audience),
            token_endpoint.as_deref(),
            Some(private_key.expose_secret()),
        ]
    }
}

impl PartialEq for Inner {
    fn eq(&self, other: &Self) -> bool {
        self.valid_until == other.valid_until && self.content() == other.content()
    }
}

impl Eq for Inner {}

impl fmt::Debug for ServiceAccountKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceAccountKey").field("key_id", &self.key_id()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub(super) mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// An RSA key pair: the private key as PEM, the public one as DER.
    pub(in crate::cloud) static PAIR: LazyLock<(String, Vec<u8>)> = LazyLock::new(|| {
        let pair = rcgen::KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA512, rcgen::RsaKeySize::_2048).unwrap();
        (pair.serialize_pem(), pair.public_key_raw().to_vec())
    });

    pub(in crate::cloud) fn key_json() -> Value {
        json!({
            "id": "3b0f8c0e-0000-4000-8000-00000000000a", "active": true, "createdAt": "2026-01-01T00:00:00Z",
            "keyType": "USER_MANAGED", "validUntil": "2027-01-01T00:00:00Z",
            "credentials": {
                "kid": "kid-1", "iss": "robot@sa.stackit.cloud", "sub": "3b0f8c0e-0000-4000-8000-00000000000b",
                "aud": "https://audience.example", "privateKey": PAIR.0,
            },
        })
    }

    fn parse(json: &Value) -> Result<ServiceAccountKey, KeyError> {
        ServiceAccountKey::parse(json.to_string().as_bytes())
    }

    #[test]
    fn a_key_is_read_and_shows_no_secret() {
        let key = parse(&key_json()).unwrap();
        assert_eq!(key.valid_until(), Some("2027-01-01T00:00:00Z".parse().unwrap()));
        assert_eq!(format!("{key:?}"), r#"ServiceAccountKey { key_id: "kid-1", .. }"#);
        let mut endless = key_json();
        endless["validUntil"] = Value::Null;
        assert_eq!(parse(&endless).unwrap().valid_until(), None);
    }

    #[test]
    fn keys_are_equal_by_what_is_used_of_them() {
        let key = parse(&key_json()).unwrap();
        let mut other = key_json();
        other["active"] = false.into();
        assert_eq!(parse(&other).unwrap(), key);
        for member in ["kid", "iss", "sub", "aud", "tokenEndpoint"] {
            let mut other = key_json();
            other["credentials"][member] = "https://another.example".into();
            assert_ne!(parse(&other).unwrap(), key, "{member}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_nothing_is_quoted() {
        for (member, value, error) in [
            ("kid", json!(""), KeyError::Member("credentials.kid")),
            ("iss", json!(7), KeyError::Member("credentials.iss")),
            ("sub", json!(null), KeyError::Member("credentials.sub")),
            ("aud", json!(["hush"]), KeyError::Member("credentials.aud")),
            ("privateKey", json!(null), KeyError::NoPrivateKey),
            ("privateKey", json!("hush"), KeyError::PrivateKey),
            ("privateKey", json!(["hush"]), KeyError::PrivateKey),
            ("tokenEndpoint", json!(1), KeyError::Member("credentials.tokenEndpoint")),
        ] {
            let mut json = key_json();
            json["credentials"][member] = value;
            let found = parse(&json).unwrap_err();
            assert_eq!(found, error);
            assert!(!format!("{found} {found:?}").contains("hush"));
        }
        let mut json = key_json();
        json["validUntil"] = "hush".into();
        assert_eq!(parse(&json).unwrap_err(), KeyError::ValidUntil);
        assert_eq!(parse(&json!({"credentials": "hush"})).unwrap_err(), KeyError::Member("credentials"));
        assert_eq!(parse(&json!(["hush"])).unwrap_err(), KeyError::NotAnObject);
        assert_eq!(ServiceAccountKey::parse(b"{\"a\": hush}").unwrap_err(), KeyError::NotJson { line: 1, column: 7 });
    }

    proptest! {
        #[test]
        fn no_text_panics(text: Vec<u8>) {
            prop_assert!(ServiceAccountKey::parse(&text).is_err());
        }
    }
}
