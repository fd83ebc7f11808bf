use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::SecretString;
use serde_json::Value;

use super::expiry::Ends;

/// What the token endpoint gave.
#[derive(Debug)]
pub(in crate::cloud) struct TokenAnswer {
    pub(in crate::cloud) token: SecretString,
    pub(in crate::cloud) ends: Ends,
}

/// Why the answer of the token endpoint brings no token. It quotes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(in crate::cloud) enum NoToken {
    #[error("the answer of the token endpoint is no JSON object")]
    NotJson,
    #[error("the answer of the token endpoint has no access_token that fits into a header")]
    Absent,
    #[error("the token endpoint gives a token of another type than Bearer")]
    OtherType,
}

/// Reads the answer of the token endpoint. The refresh token is left alone: a fresh assertion does the same without
/// anything to keep.
pub(in crate::cloud) fn read(body: &[u8]) -> Result<TokenAnswer, NoToken> {
    let Ok(Value::Object(mut answer)) = serde_json::from_slice(body) else { return Err(NoToken::NotJson) };
    let token = match answer.remove("access_token") {
        Some(Value::String(token)) if !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()) => token,
        _ => return Err(NoToken::Absent),
    };
    match answer.get("token_type") {
        None | Some(Value::Null) => {}
        Some(Value::String(kind)) if kind.eq_ignore_ascii_case("bearer") => {}
        Some(_) => return Err(NoToken::OtherType),
    }
    let ends = Ends { exp: exp(&token), expires_in: answer.get("expires_in").and_then(Value::as_f64) };
    Ok(TokenAnswer { token: token.into(), ends })
}

/// `exp` of a JWT whose signature is not ours to check.
fn exp(token: &str) -> Option<f64> {
    let payload = token.split('.').nth(1)?.trim_end_matches('=');
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    claims.get("exp")?.as_f64()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret;
    use serde_json::json;

    use super::*;

    fn jwt(claims: &str) -> String {
        format!("eyJhbGciOiJub25lIn0.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    fn read(answer: &Value) -> Result<TokenAnswer, NoToken> {
        super::read(answer.to_string().as_bytes())
    }

    #[test]
    fn the_end_is_read_from_the_token_and_the_answer() {
        let ends = |token: &str| {
            read(&json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600})).unwrap().ends
        };
        let expires_in = Some(3600.0);
        assert_eq!(ends(&jwt(r#"{"exp":1800000000}"#)), Ends { exp: Some(1_800_000_000.0), expires_in });
        assert_eq!(ends(&jwt(r#"{"exp":1800000000.5}"#)), Ends { exp: Some(1_800_000_000.5), expires_in });
        for token in [jwt("{}"), jwt("no"), jwt(r#"{"exp":"soon"}"#), "opaque".into(), "a.%.c".into(), "a.b".into()] {
            assert_eq!(ends(&token), Ends { exp: None, expires_in }, "{token}");
        }
    }

    #[test]
    fn an_answer_without_a_usable_token_is_none() {
        for (answer, error) in [
            (json!([]), NoToken::NotJson),
            (json!({}), NoToken::Absent),
            (json!({"access_token": ""}), NoToken::Absent),
            (json!({"access_token": "a\r\nb"}), NoToken::Absent),
            (json!({"access_token": 7}), NoToken::Absent),
            (json!({"access_token": "a", "token_type": "mac"}), NoToken::OtherType),
        ] {
            assert_eq!(read(&answer).unwrap_err(), error, "{answer}");
        }
        assert_eq!(super::read(b"<html>").unwrap_err(), NoToken::NotJson);
        let answer = read(&json!({"access_token": "hush", "token_type": "bearer"})).unwrap();
        assert_eq!(answer.token.expose_secret(), "hush");
        assert!(!format!("{answer:?}").contains("hush"));
    }

    proptest! {
        #[test]
        fn no_answer_panics(body: Vec<u8>, token in "[!-~]{0,40}") {
            let _ = super::read(&body);
            let _ = read(&json!({"access_token": token}));
        }
    }
}
