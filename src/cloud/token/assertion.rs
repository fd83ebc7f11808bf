use jiff::Timestamp;
use jsonwebtoken::{Algorithm, Header};
use secrecy::SecretString;
use serde::Serialize;

use crate::cloud::ServiceAccountKey;

/// How long an assertion can be redeemed, in seconds, as STACKIT's documentation of the key flow says.
const LIFETIME: i64 = 600;

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    jti: String,
    iat: i64,
    exp: i64,
}

/// Signs what the token endpoint gives an access token for (RFC 7523): RS512, with an ID that is never used twice.
///
/// `None` when the key cannot sign.
pub(in crate::cloud) fn sign(key: &ServiceAccountKey, now: Timestamp) -> Option<SecretString> {
    let mut header = Header::new(Algorithm::RS512);
    header.kid = Some(key.key_id().to_owned());
    let iat = now.as_second();
    let claims = Claims {
        iss: key.issuer(),
        sub: key.subject(),
        aud: key.audience(),
        jti: uuid::Uuid::new_v4().to_string(),
        iat,
        exp: iat.saturating_add(LIFETIME),
    };
    // The error is about the key, so it is not shown.
    jsonwebtoken::encode(&header, &claims, key.signing_key()).ok().map(SecretString::from)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
    use secrecy::ExposeSecret;
    use serde_json::Value;

    use super::*;
    use crate::cloud::key::tests::{PAIR, key_json};

    #[test]
    fn the_public_key_proves_the_assertion() {
        let key = ServiceAccountKey::parse(key_json().to_string().as_bytes()).unwrap();
        let now = Timestamp::now();
        let (one, two) = (sign(&key, now).unwrap(), sign(&key, now).unwrap());
        let read = |assertion: &SecretString| {
            let mut validation = Validation::new(Algorithm::RS512);
            validation.set_audience(&["https://audience.example"]);
            decode::<Value>(assertion.expose_secret(), &DecodingKey::from_rsa_der(&PAIR.1), &validation).unwrap().claims
        };
        let header = decode_header(one.expose_secret()).unwrap();
        assert_eq!(
            (header.alg, header.typ.as_deref(), header.kid.as_deref()),
            (Algorithm::RS512, Some("JWT"), Some("kid-1"))
        );
        let claims = read(&one);
        assert_eq!(claims["iss"], "robot@sa.stackit.cloud");
        assert_eq!(claims["sub"], "3b0f8c0e-0000-4000-8000-00000000000b");
        assert_eq!(claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap(), 600);
        assert_eq!(claims["iat"], now.as_second());
        assert_eq!(claims["jti"].as_str().unwrap().len(), 36);
        assert_ne!(claims["jti"], read(&two)["jti"]);
    }
}
