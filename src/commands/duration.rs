use std::time::Duration;

use jiff::SignedDuration;

/// Reads a duration as people write it: `15s`, `2m30s`, `1h 5m`.
///
/// # Errors
/// A sentence that says what to write instead.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write for example 15s or 2m30s");
    let duration: SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(duration).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_people_write_and_nothing_negative() {
        assert_eq!(parse("2m30s"), Ok(Duration::from_secs(150)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        for text in ["", "15", "-5s", "soon"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
