use std::time::Duration;

use uuid::Uuid;

/// As client-go has it: a wait is stretched by up to this part of itself, at random.
pub(super) const JITTER: f64 = 1.2;

/// What no duration may reach, so that sums of them stay far from the end of every clock.
const LONGEST: Duration = Duration::from_secs(3600);

/// Which Lease decides, who this candidate is, and its durations. Made by [`ElectionConfig::new`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionConfig {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// Who this candidate is; no other process may ever use the same one, see [`ElectionConfig::unique_identity`].
    pub identity: String,
    /// For how long others have to see the record unchanged before they may take it.
    pub lease_duration: Duration,
    /// For how long the leader leads after it sent the last renewal that succeeded.
    pub renew_deadline: Duration,
    /// How often the leader renews, and the least time between two looks of a follower.
    pub retry_period: Duration,
}

/// Why durations or names are of no use. Says what to change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A name is empty.
    #[error("the {0} of the leader election is empty")]
    Empty(&'static str),
    /// A duration is zero or an hour and more.
    #[error("the {what} of the leader election is {value:?}; it has to be more than zero and less than an hour")]
    OutOfRange {
        /// Which one.
        what: &'static str,
        /// Its value.
        value: Duration,
    },
    /// Another could lead while this one still does.
    #[error("the lease duration ({lease:?}) has to be longer than the renew deadline ({renew:?})")]
    LeaseTooShort {
        /// The lease duration.
        lease: Duration,
        /// The renew deadline.
        renew: Duration,
    },
    /// One late renewal would cost the leadership.
    #[error("the renew deadline ({renew:?}) has to be longer than 1.2 times the retry period ({retry:?})")]
    DeadlineTooShort {
        /// The renew deadline.
        renew: Duration,
        /// The retry period.
        retry: Duration,
    },
}

impl ElectionConfig {
    /// Checks what client-go checks: lease duration > renew deadline > 1.2 × retry period > 0.
    ///
    /// # Errors
    /// [`ConfigError`] that says what to change.
    pub fn new(
        namespace: impl Into<String>,
        lease: impl Into<String>,
        identity: impl Into<String>,
        lease_duration: Duration,
        renew_deadline: Duration,
        retry_period: Duration,
    ) -> Result<Self, ConfigError> {
        let (namespace, lease, identity) = (namespace.into(), lease.into(), identity.into());
        for (what, name) in [("namespace", &namespace), ("Lease name", &lease), ("identity", &identity)] {
            if name.is_empty() {
                return Err(ConfigError::Empty(what));
            }
        }
        let durations =
            [("lease duration", lease_duration), ("renew deadline", renew_deadline), ("retry period", retry_period)];
        for (what, value) in durations {
            if value.is_zero() || value >= LONGEST {
                return Err(ConfigError::OutOfRange { what, value });
            }
        }
        if lease_duration <= renew_deadline {
            return Err(ConfigError::LeaseTooShort { lease: lease_duration, renew: renew_deadline });
        }
        if renew_deadline <= retry_period.mul_f64(JITTER) {
            return Err(ConfigError::DeadlineTooShort { renew: renew_deadline, retry: retry_period });
        }
        Ok(Self { namespace, lease, identity, lease_duration, renew_deadline, retry_period })
    }

    /// An identity for one process: the pod's name, which a container that is started again keeps, and a random UUID.
    #[must_use]
    pub fn unique_identity(pod: &str) -> String {
        format!("{pod}_{}", Uuid::new_v4())
    }

    /// The longest that one call may take: three fit between a renewal and the deadline.
    pub(super) fn call_deadline(&self) -> Duration {
        self.renew_deadline / 3
    }

    /// For how long a term's work may go on ending after the term was lost: no longer than others still have to wait.
    pub(super) fn end_deadline(&self) -> Duration {
        self.lease_duration.saturating_sub(self.renew_deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(lease: u64, renew: u64, retry: u64) -> Result<ElectionConfig, ConfigError> {
        let [lease, renew, retry] = [lease, renew, retry].map(Duration::from_millis);
        ElectionConfig::new("namespace", "lease", "me", lease, renew, retry)
    }

    #[test]
    fn takes_the_durations_of_client_go_and_short_ones() {
        assert!(config(15_000, 10_000, 2000).is_ok());
        assert!(config(1500, 1000, 200).is_ok());
    }

    #[test]
    fn refuses_durations_that_let_two_lead_or_lose_the_lease_at_once() {
        assert!(matches!(config(10_000, 10_000, 2000), Err(ConfigError::LeaseTooShort { .. })));
        assert!(matches!(config(15_000, 2400, 2000), Err(ConfigError::DeadlineTooShort { .. })));
        assert!(config(15_000, 2401, 2000).is_ok());
        for (lease, renew, retry) in [(0, 0, 0), (15_000, 10_000, 0), (3_600_000, 10_000, 2000)] {
            assert!(matches!(config(lease, renew, retry), Err(ConfigError::OutOfRange { .. })));
        }
    }

    #[test]
    fn refuses_empty_names() {
        let second = Duration::from_secs(1);
        for (namespace, lease, identity) in [("", "l", "i"), ("n", "", "i"), ("n", "l", "")] {
            let config = ElectionConfig::new(namespace, lease, identity, second * 15, second * 10, second * 2);
            assert!(matches!(config, Err(ConfigError::Empty(_))));
        }
    }

    #[test]
    fn two_processes_of_one_pod_have_two_identities() {
        assert_ne!(ElectionConfig::unique_identity("pod"), ElectionConfig::unique_identity("pod"));
    }
}
