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

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn it_has_the_form_of_a_uuid_and_follows_its_seed() {
        let one = uuid("one");
        let lengths: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{one}");
        assert_eq!(one, uuid("one"));
        assert_ne!(one, uuid("two"));
    }
}
