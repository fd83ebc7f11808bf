use std::fmt;

/// A region as STACKIT's IaaS API calls it, for example `eu01`: 1 to 63 lower-case letters, digits and inner hyphens.
///
/// It becomes a segment of a URL's path, so nothing else gets in: OpenStack's `RegionOne` is not one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region(Box<str>);

/// The text is no region of the IaaS API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a region: 1 to 63 lower-case letters, digits and inner hyphens, for example eu01")]
pub struct InvalidRegion;

impl Region {
    /// Takes exactly a region, nothing before or after it.
    ///
    /// # Errors
    /// [`InvalidRegion`] for everything else.
    pub fn parse(text: &str) -> Result<Self, InvalidRegion> {
        let fits = (1..=63).contains(&text.len())
            && !text.starts_with('-')
            && !text.ends_with('-')
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if fits { Ok(Self(text.into())) } else { Err(InvalidRegion) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_safe_in_a_path_is_a_region() {
        for text in ["eu01", "eu-01", "a", &"r".repeat(63)] {
            assert!(Region::parse(text).is_ok(), "{text:?}");
        }
        for text in
            ["", "RegionOne", "eu01/servers", "..", "eu01 ", "-eu01", "eu01-", "eü01", "eu%2f01", &"r".repeat(64)]
        {
            assert_eq!(Region::parse(text), Err(InvalidRegion), "{text:?}");
        }
    }
}
