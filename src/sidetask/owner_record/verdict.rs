use super::OwnerRecordError;

/// What the values of the record called `name` say about `owner`: it owns only if there is one value, however often, and
/// that is `owner` to the letter.
pub(super) fn verdict(name: &str, owner: &str, values: &[String]) -> Result<(), OwnerRecordError> {
    if values.is_empty() {
        return Err(OwnerRecordError::Unknown { name: name.to_owned(), why: "it has no value".to_owned() });
    }
    if values.iter().any(|value| value != owner) {
        return Err(OwnerRecordError::Foreign {
            name: name.to_owned(),
            found: values.join(", "),
            expected: owner.to_owned(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(values: &[&str]) -> Result<(), OwnerRecordError> {
        let values: Vec<String> = values.iter().map(|&value| value.to_owned()).collect();
        verdict("owner.org.", "seed-1", &values)
    }

    #[test]
    fn one_value_to_the_letter_owns() {
        assert_eq!(say(&["seed-1"]), Ok(()));
        assert_eq!(say(&["seed-1", "seed-1"]), Ok(()));
    }

    #[test]
    fn anything_else_does_not() {
        for values in [&["seed-2"][..], &["seed-1", "seed-2"], &["Seed-1"], &["seed-1 "], &[""], &["seed-1", ""]] {
            assert!(matches!(say(values), Err(OwnerRecordError::Foreign { .. })), "{values:?}");
        }
        assert!(matches!(say(&[]), Err(OwnerRecordError::Unknown { .. })));
    }
}
