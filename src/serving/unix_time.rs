use std::fmt;
use std::time::Duration;

/// A point of wall clock time in whole seconds since 1970, as certificates and metrics hold it. Arithmetic saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime(pub i64);

impl UnixTime {
    /// What the wall clock says.
    #[must_use]
    pub fn now() -> Self {
        Self(jiff::Timestamp::now().as_second())
    }

    /// This much later.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add_unsigned(duration.as_secs()))
    }

    /// This much earlier.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub_unsigned(duration.as_secs()))
    }

    /// How long ago `earlier` was; zero when it is yet to come.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Reads what [`fmt::Display`] wrote.
    pub(super) fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>().ok().map(|time| Self(time.as_second()))
    }
}

/// RFC 3339 in UTC.
impl fmt::Display for UnixTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(time) => time.fmt(f),
            Err(_) => write!(f, "{} s since 1970", self.0),
        }
    }
}
