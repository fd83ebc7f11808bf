use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::token::answer::read;
use super::token::expiry::stale_from;

/// The answer of the token endpoint: a token that is taken fits into a header and is the one of the answer, it is not shown, and
/// whatever is said of its end leaves a time from which on it is not used.
pub fn token_answer(body: &[u8]) {
    let Ok(answer) = read(body) else { return };
    let token = answer.token.expose_secret();
    assert!(!token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()));
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    assert_eq!(value.get("access_token").and_then(Value::as_str), Some(token));
    let hidden = SecretString::from("");
    assert_eq!(format!("{answer:?}"), format!("TokenAnswer {{ token: {hidden:?}, ends: {:?} }}", answer.ends));

    for received in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
        let stale = stale_from(received, answer.ends);
        let says = |seconds: Option<f64>| seconds.filter(|seconds| seconds.is_finite());
        match (says(answer.ends.exp), says(answer.ends.expires_in)) {
            // Near the ends of what can be counted a time is cut off.
            (Some(exp), _) if exp.abs() < 1e11 => assert!(seconds(stale) <= exp - 5.0, "{stale} {:?}", answer.ends),
            (None, Some(lifetime)) if lifetime.abs() < 1e11 && received == Timestamp::UNIX_EPOCH => {
                assert!(seconds(stale) <= lifetime - 5.0, "{stale} {:?}", answer.ends);
            }
            (None, None) => assert!(stale.duration_since(received) <= jiff::SignedDuration::from_secs(55)),
            _ => {}
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "times of this range are whole numbers below 2^53")]
fn seconds(time: Timestamp) -> f64 {
    time.as_second() as f64
}
