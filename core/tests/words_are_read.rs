//! The words of the domain are read as Kubernetes, Gardener and the clouds write them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use mcm_migration_core::domain::{GuardLabel, LegacyProviderId, McmContainers, ServerStatus, is_true};

const SERVER: &str = "5d3e0fd2-1f0e-4b1c-9c52-8c1d6a1b2c3d";

#[test]
fn the_guard_has_two_values_and_every_other_is_unknown() {
    assert_eq!(GuardLabel::of("closed"), GuardLabel::Closed);
    assert_eq!(GuardLabel::of("rolling-back"), GuardLabel::RollingBack);
    for text in ["", "Closed", "open", "rolling back"] {
        assert_eq!(GuardLabel::of(text), GuardLabel::Unknown, "{text:?}");
    }
}

#[test]
fn an_annotation_is_set_as_go_reads_a_boolean() {
    for text in ["1", "t", "T", "TRUE", "true", "True"] {
        assert!(is_true(text), "{text:?}");
    }
    for text in ["", "0", "yes", "tRuE", " true", "false"] {
        assert!(!is_true(text), "{text:?}");
    }
}

#[test]
fn a_legacy_id_is_written_as_it_was_read() {
    for region in ["RegionOne", "eu-01", "a", "a.b_c-d"] {
        let text = format!("openstack:///{region}/{SERVER}");
        assert_eq!(LegacyProviderId::parse(&text).unwrap().to_string(), text);
    }
}

#[test]
fn the_containers_of_both_providers_are_told_by_their_names() {
    let of = |names: &[&'static str]| McmContainers::of(names.iter().copied());
    let (openstack, stackit) =
        ("machine-controller-manager-provider-openstack", "machine-controller-manager-provider-stackit");
    for (names, found) in [
        (&[][..], (false, false)),
        (&["machine-controller-manager"], (false, false)),
        (&[openstack], (true, false)),
        (&["an-openstack-helper"], (true, false)),
        (&[stackit], (false, true)),
        (&["a-stackit-helper"], (false, false)),
        (&[openstack, "machine-controller-manager", stackit], (true, true)),
        (&[stackit, openstack], (true, true)),
        (&[stackit, "vpa-recommender"], (false, true)),
        (&[stackit, stackit], (false, true)),
        (&[openstack, openstack], (true, false)),
    ] {
        let (openstack, stackit) = found;
        assert_eq!(of(names), McmContainers { openstack, stackit }, "{names:?}");
    }
}

#[test]
fn a_status_is_read_as_the_api_writes_it() {
    for (text, status) in [
        ("ACTIVE", ServerStatus::Active),
        ("BUILD", ServerStatus::Creating),
        ("CREATING", ServerStatus::Creating),
        ("ERROR", ServerStatus::Error),
        ("DEALLOCATED", ServerStatus::Deallocated),
        ("DEALLOCATING", ServerStatus::Deallocated),
        ("DELETING", ServerStatus::Deleting),
        ("DELETED", ServerStatus::Deleting),
        ("", ServerStatus::Other),
        ("active", ServerStatus::Other),
        ("RESCUE", ServerStatus::Other),
    ] {
        assert_eq!(ServerStatus::of(text), status, "{text:?}");
    }
}
