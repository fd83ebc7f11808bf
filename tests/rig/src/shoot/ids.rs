//! Made-up identifiers that are the same in every run.

/// A lower-case UUID (version 4 in form) that belongs to `seed`: the same for the same seed, else another.
#[must_use]
pub fn uuid(seed: &str) -> String {
    // FNV-1a, from two starting points.
    let hash = |start: u64| {
        seed.bytes()
            .fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
            .rotate_left(17)
    };
    let digits = format!("{:016x}{:016x}", hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15));
    format!("{}-{}-4{}-8{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..])
}

/// Five letters and digits as at the end of a Machine's name, another for each number.
pub(super) fn suffix(number: usize) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    // 36^5; the factor has no divisor in common with it, so that no two numbers meet.
    let mut rest = (number * 48_271_517 + 7_654_321) % 60_466_176;
    (0..5)
        .map(|_| {
            let digit = char::from(DIGITS[rest % 36]);
            rest /= 36;
            digit
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{suffix, uuid};

    #[test]
    fn no_two_machines_have_the_same_suffix() {
        let suffixes: BTreeSet<String> = (0..20_000).map(suffix).collect();
        assert_eq!(suffixes.len(), 20_000);
    }

    #[test]
    fn it_has_the_form_of_a_uuid_and_follows_its_seed() {
        let one = uuid("one");
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{one}");
        assert_eq!(one, uuid("one"));
        assert_ne!(one, uuid("two"));
    }
}
