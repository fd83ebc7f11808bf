use jiff::{SignedDuration, Timestamp};

/// What says when an access token ends.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::cloud) struct Ends {
    /// `exp` of the token itself: seconds since 1970, a fraction allowed (RFC 7519, `NumericDate`).
    pub(in crate::cloud) exp: Option<f64>,
    /// `expires_in` of the answer that brought it: seconds from then on.
    pub(in crate::cloud) expires_in: Option<f64>,
}

/// The lifetime of a token that says nothing of it: short, for one more request costs little.
const UNKNOWN_LIFETIME: SignedDuration = SignedDuration::from_secs(60);
/// A token is not used in its last seconds: it has to live until the API has looked at it.
const LONGEST_LEEWAY: SignedDuration = SignedDuration::from_secs(60);
const SHORTEST_LEEWAY: SignedDuration = SignedDuration::from_secs(5);

/// From when on a token that came at `received` is used no more: its end by `exp`, else by `expires_in`, less a leeway of
/// a tenth of its lifetime, but at most 60 s and at least 5 s.
pub(in crate::cloud) fn stale_from(received: Timestamp, ends: Ends) -> Timestamp {
    let end = match ends {
        Ends { exp: Some(exp), .. } if exp.is_finite() => at(exp),
        Ends { expires_in: Some(seconds), .. } if seconds.is_finite() => after(received, whole_seconds(seconds)),
        _ => after(received, UNKNOWN_LIFETIME),
    };
    let lifetime = end.duration_since(received);
    let leeway = (lifetime / 10).clamp(SHORTEST_LEEWAY, LONGEST_LEEWAY);
    after(end, -leeway)
}

fn at(seconds: f64) -> Timestamp {
    let seconds = whole_seconds(seconds).as_secs();
    Timestamp::from_second(seconds.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second()))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}

fn after(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.saturating_add(duration).unwrap_or(time)
}

#[allow(clippy::cast_possible_truncation, reason = "a cast from a float saturates, and the fraction is to be cut off")]
fn whole_seconds(seconds: f64) -> SignedDuration {
    SignedDuration::from_secs(seconds.floor() as i64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn second(n: i64) -> Timestamp {
        Timestamp::from_second(n).unwrap()
    }

    #[allow(clippy::cast_precision_loss, reason = "the numbers are small")]
    fn exp(n: i64) -> Ends {
        Ends { exp: Some(n as f64), expires_in: None }
    }

    #[test]
    fn the_leeway_is_a_tenth_within_its_bounds() {
        let now = 1_800_000_000;
        for (lifetime, usable) in
            [(3600, 3540), (600, 540), (100, 90), (50, 45), (20, 15), (10, 5), (5, 0), (3, -2), (0, -5), (-600, -605)]
        {
            assert_eq!(stale_from(second(now), exp(now + lifetime)), second(now + usable), "lifetime {lifetime}");
        }
    }

    #[test]
    fn the_token_itself_is_asked_first() {
        let now = second(1_800_000_000);
        let both = Ends { exp: Some(1_800_000_600.0), expires_in: Some(3600.0) };
        assert_eq!(stale_from(now, both), second(1_800_000_540));
        assert_eq!(stale_from(now, Ends { exp: None, ..both }), second(1_800_003_540));
        assert_eq!(stale_from(now, Ends { exp: Some(f64::NAN), ..both }), second(1_800_003_540));
        assert_eq!(stale_from(now, Ends::default()), second(1_800_000_054));
    }

    fn any_ends() -> impl Strategy<Value = Ends> {
        let number = || proptest::option::of(prop_oneof![any::<f64>(), -1e10..1e10f64, 1.7e9..1.9e9f64]);
        (number(), number()).prop_map(|(exp, expires_in)| Ends { exp, expires_in })
    }

    proptest! {
        #[test]
        fn a_token_is_never_used_in_its_last_five_seconds(received in 0i64..4_000_000_000, lifetime in -10_000i64..10_000_000) {
            let stale = stale_from(second(received), exp(received + lifetime)).as_second();
            prop_assert!(stale <= received + lifetime - 5);
            prop_assert!(stale >= received + lifetime - 60);
        }

        #[test]
        fn a_token_of_more_than_ten_seconds_is_used_for_at_least_half_of_them(received in 0i64..4_000_000_000, lifetime in 10i64..10_000_000) {
            let stale = stale_from(second(received), exp(received + lifetime)).as_second();
            prop_assert!(2 * (stale - received) >= lifetime);
        }

        #[test]
        fn a_later_end_is_never_stale_earlier(received in 0i64..4_000_000_000, a in -10_000i64..10_000_000, b in -10_000i64..10_000_000) {
            let stale = |lifetime| stale_from(second(received), exp(received + lifetime));
            prop_assert!(stale(a.min(b)) <= stale(a.max(b)));
        }

        #[test]
        fn exp_and_expires_in_agree(received in 0i64..4_000_000_000, lifetime in 0u32..10_000_000) {
            let by_answer = Ends { exp: None, expires_in: Some(lifetime.into()) };
            prop_assert_eq!(
                stale_from(second(received), by_answer),
                stale_from(second(received), exp(received + i64::from(lifetime)))
            );
        }

        #[test]
        fn no_number_is_too_strange(received in any::<i32>(), ends in any_ends()) {
            stale_from(second(received.into()), ends);
            stale_from(Timestamp::MAX, ends);
            stale_from(Timestamp::MIN, ends);
        }
    }
}
