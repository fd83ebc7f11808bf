//! Service-account keys, in the form of the file that STACKIT hands out.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use uuid::Uuid;

/// What a caller must put into `aud` of its assertion; the value that the vendor's own keys carry.
pub const AUDIENCE: &str = "https://stackit-service-account-prod.apps.01.cf.eu01.stackit.cloud";

/// Fixed pairs, since making one takes seconds in a debug build. They open nothing but this simulator.
const PAIRS: [(&str, &str); 3] = [
    (include_str!("test_keys/test-only-key-1.private.pem"), include_str!("test_keys/test-only-key-1.public.pem")),
    (include_str!("test_keys/test-only-key-2.private.pem"), include_str!("test_keys/test-only-key-2.public.pem")),
    (include_str!("test_keys/test-only-key-3.private.pem"), include_str!("test_keys/test-only-key-3.public.pem")),
];

/// A key of a service account that may act in one project. Each has an ID of its own; the RSA pairs behind them repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccountKey {
    /// The key's ID, in the header of assertions.
    pub kid: String,
    /// The service account's e-mail address.
    pub issuer: String,
    /// The service account's ID.
    pub subject: String,
    /// The project in which it may act.
    pub project: String,
    /// Where the token endpoint is, if the file shall say so.
    pub token_endpoint: Option<String>,
    pair: usize,
}

impl ServiceAccountKey {
    pub(crate) fn new(project: &str, number: usize) -> Self {
        Self {
            kid: Uuid::new_v4().to_string(),
            issuer: format!("simulated-{number}@sa.stackit.cloud"),
            subject: Uuid::new_v4().to_string(),
            project: project.to_owned(),
            token_endpoint: None,
            pair: number % PAIRS.len(),
        }
    }

    /// The private half, PEM (PKCS #8).
    #[must_use]
    pub fn private_pem(&self) -> &'static str {
        PAIRS[self.pair].0
    }

    /// The public half, PEM.
    #[must_use]
    pub fn public_pem(&self) -> &'static str {
        PAIRS[self.pair].1
    }

    /// The content of `serviceaccount.json`.
    #[must_use]
    pub fn json(&self) -> String {
        self.value().to_string()
    }

    /// [`ServiceAccountKey::json`] with `credentials.tokenEndpoint`.
    #[must_use]
    pub fn json_with_token_endpoint(&self, url: &str) -> String {
        Self { token_endpoint: Some(url.to_owned()), ..self.clone() }.json()
    }

    fn value(&self) -> Value {
        let mut value = json!({
            "id": self.kid,
            "active": true,
            "createdAt": "2026-01-01T00:00:00.000Z",
            "keyType": "USER_MANAGED",
            "keyOrigin": "GENERATED",
            "keyAlgorithm": "RSA_2048",
            "publicKey": self.public_pem(),
            "credentials": {
                "kid": self.kid,
                "iss": self.issuer,
                "sub": self.subject,
                "aud": AUDIENCE,
                "privateKey": self.private_pem(),
            },
        });
        if let Some(url) = &self.token_endpoint {
            value["credentials"]["tokenEndpoint"] = Value::from(url.as_str());
        }
        value
    }

    /// An assertion as a client would sign it, with these claims instead of, or besides, the usual ones. A claim that is `null`
    /// is left out.
    pub fn assertion(&self, claims: &Value) -> Result<String> {
        self.assertion_signed_by(self, claims)
    }

    /// The same, signed with the private half of another key.
    pub fn assertion_signed_by(&self, signer: &Self, claims: &Value) -> Result<String> {
        let now = jsonwebtoken::get_current_timestamp();
        let mut all = json!({
            "iss": self.issuer,
            "sub": self.subject,
            "aud": AUDIENCE,
            "jti": Uuid::new_v4().to_string(),
            "iat": now,
            "exp": now + 600,
        });
        if let (Some(all), Some(claims)) = (all.as_object_mut(), claims.as_object()) {
            all.extend(claims.clone());
            all.retain(|_, value| !value.is_null());
        }
        let mut header = jsonwebtoken::Header::new(jsonwebtoken::Algorithm::RS512);
        header.kid = Some(self.kid.clone());
        let key = jsonwebtoken::EncodingKey::from_rsa_pem(signer.private_pem().as_bytes())
            .context("the private key cannot be read")?;
        jsonwebtoken::encode(&header, &all, &key).context("the assertion cannot be signed")
    }
}
