use serde_json::Value;

use super::key::ServiceAccountKey;

/// Stands where the private key stood. No text of the product holds it.
const HUSH: &str = "hush-5d3e0fd2-1f0e";

/// The key file of a service account: what is taken is complete, and neither a key nor an error shows the private key.
pub fn key_file(json: &[u8]) {
    let parsed = ServiceAccountKey::parse(json);
    assert!(parsed == ServiceAccountKey::parse(json), "the same text gives the same key");
    if let Ok(key) = &parsed {
        let needed = [key.key_id(), key.issuer(), key.subject(), key.audience()];
        assert!(needed.iter().all(|text| !text.trim().is_empty()));
        assert_ne!(key.token_endpoint(), Some(""));
        assert_eq!(format!("{key:?}"), format!("ServiceAccountKey {{ key_id: {:?}, .. }}", key.key_id()));
    }
    let Ok(value) = serde_json::from_slice::<Value>(json) else {
        return assert!(parsed.is_err(), "what is no JSON is no key");
    };
    if value.pointer("/credentials/privateKey").is_some() && !value.to_string().contains(HUSH) {
        for private_key in [pem("PRIVATE KEY"), pem("RSA PRIVATE KEY"), pem(HUSH), HUSH.into(), Value::from(vec![HUSH])]
        {
            shows_nothing_of_it(value.clone(), private_key);
        }
    }
}

/// Text in the armour of PEM that is no key.
fn pem(label: &str) -> Value {
    format!("-----BEGIN {label}-----\n{HUSH}\n-----END {label}-----\n").into()
}

fn shows_nothing_of_it(mut file: Value, private_key: Value) {
    if let Some(member) = file.pointer_mut("/credentials/privateKey") {
        *member = private_key;
    }
    match ServiceAccountKey::parse(file.to_string().as_bytes()) {
        Ok(key) => panic!("{key:?} has no private key"),
        Err(error) => assert!(!format!("{error} {error:?}").contains(HUSH), "{error}"),
    }
}
