use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use governor::Quota;

/// A number of requests a second, for example 5 or 0.5. One second's worth, at least one, may go at once after a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(pub(super) Quota);

/// The number is no rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a rate: a number of requests a second between 0.0001 and 1000000, for example 5 or 0.5")]
pub struct InvalidRate;

impl Rate {
    /// So many requests a second.
    ///
    /// # Errors
    /// [`InvalidRate`] when it is no number from 0.0001 to 1,000,000.
    pub fn per_second(rate: f64) -> Result<Self, InvalidRate> {
        if !(0.0001..=1_000_000.0).contains(&rate) {
            return Err(InvalidRate);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and 1,000,000")]
        let burst = NonZeroU32::new(rate.ceil() as u32).ok_or(InvalidRate)?;
        let quota = Quota::with_period(Duration::from_secs_f64(1.0 / rate)).ok_or(InvalidRate)?;
        Ok(Self(quota.allow_burst(burst)))
    }
}

impl Rate {
    /// How many requests that is a second.
    #[must_use]
    pub fn requests_a_second(self) -> f64 {
        1.0 / self.0.replenish_interval().as_secs_f64()
    }
}

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        Self::per_second(text.parse().map_err(|_| InvalidRate)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_positive_number() {
        for text in ["0.0001", "0.5", "1", "5", "1000000"] {
            assert!(text.parse::<Rate>().is_ok(), "{text}");
        }
        for text in ["0", "-1", "NaN", "inf", "1e300", "1e-300", "five", ""] {
            assert_eq!(text.parse::<Rate>(), Err(InvalidRate), "{text}");
        }
    }
}
