//! SHA-256, handed to the pure format of exports.

use aws_lc_rs::digest::{SHA256, digest};

/// The digest of some bytes.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    let digest = digest(&SHA256, bytes);
    for (to, from) in out.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sha_256() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc").map(|byte| format!("{byte:02x}")).concat(), abc);
    }
}
