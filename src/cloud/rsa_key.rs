//! RSA private keys in PEM. Whoever may write a shoot's Secret chooses this text, so it is read in a bounded number of steps and
//! without recursion: a general ASN.1 reader follows nested values until the stack ends, and with it the program.

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// `AlgorithmIdentifier` begins with the OID `rsaEncryption`, 1.2.840.113549.1.1.1 (RFC 8017, appendix C).
const RSA_ENCRYPTION: [u8; 11] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// The `RSAPrivateKey` of PKCS #1 (RFC 8017), as DER, in `PRIVATE KEY` (PKCS #8, RFC 5958) or `RSA PRIVATE KEY`; none when it is
/// neither. Whether its numbers make a key shows when something is signed with it.
pub(super) fn pkcs1_of(text: &str) -> Option<Vec<u8>> {
    let pem = pem::parse(text).ok()?;
    let pkcs1 = match pem.tag() {
        "RSA PRIVATE KEY" => pem.contents(),
        "PRIVATE KEY" => within_pkcs8(pem.contents())?,
        _ => return None,
    };
    // `RSAPrivateKey` is a sequence of a version and eight numbers, and nothing follows it.
    let (numbers, []) = element(pkcs1, SEQUENCE)? else { return None };
    let mut rest = numbers;
    for _ in 0..9 {
        (_, rest) = element(rest, INTEGER)?;
    }
    Some(pkcs1.to_vec())
}

/// What stands in the `privateKey` of an `OneAsymmetricKey` whose algorithm is RSA.
fn within_pkcs8(der: &[u8]) -> Option<&[u8]> {
    let (key, []) = element(der, SEQUENCE)? else { return None };
    let (_version, rest) = element(key, INTEGER)?;
    let (algorithm, rest) = element(rest, SEQUENCE)?;
    let (private_key, _attributes) = element(rest, OCTET_STRING)?;
    algorithm.starts_with(&RSA_ENCRYPTION).then_some(private_key)
}

/// The content of the DER element of this tag at the beginning, and what follows it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = der.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // The number of bytes that hold the length; three are far more than any key needs.
        0x81..=0x83 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    if found == tag { rest.split_at_checked(length) } else { None }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;
    use crate::cloud::key::tests::PAIR;

    fn pem(label: &str, der: &[u8]) -> String {
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", STANDARD.encode(der))
    }

    #[test]
    fn both_frames_hold_the_same_key() {
        let pkcs8 = pem::parse(&PAIR.0).unwrap().into_contents();
        let pkcs1 = within_pkcs8(&pkcs8).unwrap();
        assert_eq!(pkcs1_of(&PAIR.0).unwrap(), pkcs1);
        assert_eq!(pkcs1_of(&pem("RSA PRIVATE KEY", pkcs1)).unwrap(), pkcs1);
    }

    #[test]
    fn what_is_near_a_key_is_none() {
        let pkcs8 = pem::parse(&PAIR.0).unwrap().into_contents();
        let pkcs1 = within_pkcs8(&pkcs8).unwrap();
        for (label, der) in [
            ("PUBLIC KEY", &*pkcs8),
            ("EC PRIVATE KEY", &*pkcs8),
            ("RSA PRIVATE KEY", &*pkcs8),
            ("PRIVATE KEY", pkcs1),
            ("PRIVATE KEY", &pkcs8[..pkcs8.len() - 1]),
            ("RSA PRIVATE KEY", &[pkcs1, &[0]].concat()),
            ("RSA PRIVATE KEY", &[SEQUENCE, 3, INTEGER, 1, 0]),
            ("RSA PRIVATE KEY", &[SEQUENCE, 0x84, 0, 0, 0, 0]),
            ("RSA PRIVATE KEY", &[]),
        ] {
            assert!(pkcs1_of(&pem(label, der)).is_none(), "{label}, {} bytes", der.len());
        }
        let elliptic = rcgen::KeyPair::generate().unwrap().serialize_pem();
        assert!(pkcs1_of(&elliptic).is_none());
    }

    #[test]
    fn a_key_of_sequences_within_sequences_is_refused_and_does_not_end_the_program() {
        let mut heads = Vec::new();
        let mut length = 0;
        // As large as a Secret may be.
        while length < 700_000 {
            let [.., high, middle, low] = usize::to_be_bytes(length);
            heads.push([SEQUENCE, 0x83, high, middle, low]);
            length += 5;
        }
        heads.reverse();
        for label in ["PRIVATE KEY", "RSA PRIVATE KEY"] {
            assert!(pkcs1_of(&pem(label, &heads.concat())).is_none());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(der: Vec<u8>, at in 0usize..1_300, byte: u8) {
            prop_assert!(pkcs1_of(&pem("PRIVATE KEY", &der)).is_none());
            let mut near = pem::parse(&PAIR.0).unwrap().into_contents();
            let at = at % near.len();
            near[at] = byte;
            let _ = pkcs1_of(&pem("PRIVATE KEY", &near));
        }
    }
}
