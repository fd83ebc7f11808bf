use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;

/// The duration that a released record says, by client-go's rule.
const RELEASED: Duration = Duration::from_secs(1);

/// What a Lease says. Its times are for people; nothing is decided by them but whether the record has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// Empty when nobody holds it.
    pub(super) holder: String,
    /// In whole seconds.
    pub(super) duration: Duration,
    pub(super) acquired: Option<Timestamp>,
    pub(super) renewed: Option<Timestamp>,
    /// How often the holder changed.
    pub(super) transitions: i32,
}

impl Record {
    pub(super) fn read(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        Self {
            holder: spec.holder_identity.unwrap_or_default(),
            duration: Duration::from_secs(spec.lease_duration_seconds.unwrap_or_default().try_into().unwrap_or(0)),
            acquired: spec.acquire_time.map(|MicroTime(time)| time),
            renewed: spec.renew_time.map(|MicroTime(time)| time),
            transitions: spec.lease_transitions.unwrap_or_default(),
        }
    }

    /// The Lease with this record and all else as it is.
    pub(super) fn write(&self, mut lease: Lease) -> Lease {
        // Rounded up: others may wait longer than told to, never shorter.
        let seconds = self.duration.as_secs() + u64::from(self.duration.subsec_nanos() > 0);
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(self.holder.clone()),
            lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
            acquire_time: self.acquired.map(MicroTime),
            renew_time: self.renewed.map(MicroTime),
            lease_transitions: Some(self.transitions),
            ..lease.spec.unwrap_or_default()
        });
        lease
    }

    /// Nobody holds it, and whoever did said so after the work had ended.
    pub(super) fn is_released(&self) -> bool {
        self.holder.is_empty() && self.duration == RELEASED
    }

    /// Nobody holds it, but it was not released: the work of whoever held it may go on.
    pub(super) fn is_vacant(&self) -> bool {
        self.holder.is_empty() && !self.is_released()
    }

    /// What the holder leaves behind when its work has ended.
    pub(super) fn released(&self, wall: Timestamp) -> Self {
        Self { holder: String::new(), duration: RELEASED, acquired: Some(wall), renewed: Some(wall), ..*self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let time = Timestamp::from_microsecond(1_700_000_000_123_456).ok();
        let duration = Duration::from_secs(15);
        Record { holder: "me".to_owned(), duration, acquired: time, renewed: time, transitions: 3 }
    }

    #[test]
    fn comes_back_from_the_wire_as_it_was() {
        let lease = record().write(Lease::default());
        let json = serde_json::to_value(&lease).unwrap();
        assert_eq!(json["spec"]["renewTime"], "2023-11-14T22:13:20.123456Z");
        assert_eq!(Record::read(&serde_json::from_value(json).unwrap()), record());
    }

    #[test]
    fn keeps_what_it_does_not_know() {
        let mut lease = Lease::default();
        lease.metadata.resource_version = Some("7".to_owned());
        lease.spec.get_or_insert_default().strategy = Some("OldestEmulationVersion".to_owned());
        let lease = record().write(lease);
        assert_eq!(lease.metadata.resource_version.as_deref(), Some("7"));
        assert_eq!(lease.spec.unwrap().strategy.as_deref(), Some("OldestEmulationVersion"));
    }

    #[test]
    fn tells_others_whole_seconds_rounded_up() {
        let short = Record { duration: Duration::from_millis(1001), ..record() };
        assert_eq!(short.write(Lease::default()).spec.unwrap().lease_duration_seconds, Some(2));
    }

    #[test]
    fn an_emptied_record_is_not_a_released_one() {
        let wall = Timestamp::UNIX_EPOCH;
        assert!(record().released(wall).is_released());
        assert!(!Record { holder: String::new(), ..record() }.is_released());
        assert!(!record().is_released());
    }

    #[test]
    fn reads_an_empty_lease_as_held_by_nobody() {
        let record = Record::read(&Lease::default());
        assert_eq!((record.holder.as_str(), record.duration, record.transitions), ("", Duration::ZERO, 0));
        assert!(!record.is_released());
    }
}
