//! Which labels the IaaS API takes.

/// A label that the API would refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum LabelFault {
    #[error(
        "a label's key has 1 to 63 letters, digits, '-', '_', '.' and '/', and begins and ends with a letter or digit"
    )]
    Key,
    #[error("labels that begin with stackit- belong to STACKIT")]
    Reserved,
    #[error(
        "a label's value has at most 63 letters, digits, '-', '_' and '.', and begins and ends with a letter or digit"
    )]
    Value,
}

/// Checks a label before it is sent, or put into a selector.
///
/// The documented key has no `/` (iaas v2, `Labels`), while the same document asks users to set
/// `preview/routingtables`, and the STACKIT provider sets `kubernetes.io/machine`: the slash is taken in practice.
pub(super) fn check(key: &str, value: &str) -> Result<(), LabelFault> {
    if !(1..=63).contains(&key.len()) || !fits(key, "-_./") {
        return Err(LabelFault::Key);
    }
    if key.starts_with("stackit-") {
        return Err(LabelFault::Reserved);
    }
    if value.len() > 63 || !(value.is_empty() || fits(value, "-_.")) {
        return Err(LabelFault::Value);
    }
    Ok(())
}

fn fits(text: &str, inner: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    ends(text.chars().next())
        && ends(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || inner.contains(c))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_labels_of_the_provider_fit() {
        assert_eq!(check("kubernetes.io/machine", "shoot--foo--bar-w-z1-5f6d7-x8k2p"), Ok(()));
        assert_eq!(check("a", ""), Ok(()));
        assert_eq!(check(&"a".repeat(63), &"b".repeat(63)), Ok(()));
    }

    #[test]
    fn everything_else_is_refused() {
        for key in ["", "-a", "a/", "a b", "a,b", "a=b", "ä", &"a".repeat(64)] {
            assert_eq!(check(key, "v"), Err(LabelFault::Key), "{key:?}");
        }
        assert_eq!(check("stackit-x", "v"), Err(LabelFault::Reserved));
        for value in ["-v", "v.", "a/b", "a:b", "a,b=c", " ", &"v".repeat(64)] {
            assert_eq!(check("a", value), Err(LabelFault::Value), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn a_label_never_changes_the_meaning_of_a_selector(key in "[ -~]{0,4}", value in "[ -~]{0,4}") {
            if check(&key, &value).is_ok() {
                let text = key + &value;
                prop_assert!(!text.contains([',', '=', '!', ' ', '(']));
            }
        }
    }
}
