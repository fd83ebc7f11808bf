//! Time alone ends no quarantine: each case in which a machine-controller-manager could still act on an old cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use mcm_migration_core::domain::McmContainers;
use mcm_migration_core::plan::{Seen, quarantine_is_over};
use side_task::example::{OPENSTACK, Quarantine, STACKIT, lease, nodes, pod, rewritten};
use side_task::{secs, settings};

fn one() -> Quarantine {
    Quarantine::of(&[("mcm-0", pod("a", "n-0", STACKIT))])
}

fn two() -> Quarantine {
    Quarantine::of(&[("mcm-0", pod("a", "n-0", STACKIT)), ("mcm-1", pod("b", "n-1", STACKIT))])
}

fn err(why: &str) -> Result<(), String> {
    Err(why.to_owned())
}

#[test]
fn a_holder_that_goes_on_renewing_ends_it_after_the_whole_time() {
    let mut quarantine = one();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 210);
    assert_eq!(quarantine.at(999), err("quarantined"));
    assert_eq!(quarantine.at(1000), Ok(()));
    assert_eq!(quarantine.ask(secs(999)).unwrap_err().left, Some(secs(1)));
}

#[test]
fn a_machine_whose_id_was_never_seen_waits() {
    let settings = settings();
    let not_yet = quarantine_is_over(&Seen::default(), "m-0", Some(&[]), secs(9999), &settings).unwrap_err();
    assert_eq!((not_yet.because.to_string().as_str(), not_yet.left), ("quarantined", None));
}

#[test]
fn a_machine_controller_manager_that_is_cut_off_renews_nothing() {
    let mut quarantine = one();
    // It renews for a minute, and then no more.
    quarantine.renew("mcm-0", 110);
    quarantine.renew("mcm-0", 159);
    for at in [300, 900, 1800] {
        quarantine.seen.observe_lease(Some(lease("mcm-0", 159)), secs(at), secs(at));
    }
    assert_eq!(quarantine.at(1800), err("no-lease-evidence (mcm-0)"));
    quarantine.renew("mcm-0", 1810);
    assert_eq!(quarantine.at(1810), Ok(()));
}

#[test]
fn what_is_read_after_a_long_pause_proves_only_that_it_was_renewed_after_the_read_before() {
    let mut quarantine = one();
    // Renewed at some time between 100 s and 1,800 s, perhaps at 101 s.
    quarantine.renew("mcm-0", 1800);
    assert_eq!(quarantine.at(1800), err("no-lease-evidence (mcm-0)"));
    quarantine.renew("mcm-0", 1802);
    assert_eq!(quarantine.at(1802), Ok(()));
}

#[test]
fn without_a_lease_nothing_is_proved_and_one_that_comes_back_begins_again() {
    let mut quarantine = one();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 210);
    quarantine.seen.observe_lease(None, secs(1500), secs(1500));
    assert_eq!(quarantine.at(1500), err("no-lease-evidence (no Lease)"));
    quarantine.renew("mcm-0", 1510);
    assert_eq!(quarantine.at(1510), err("no-lease-evidence (mcm-0)"));
    quarantine.renew("mcm-0", 1520);
    assert_eq!(quarantine.at(1520), Ok(()));
}

#[test]
fn the_holder_must_be_a_living_pod_of_the_stackit_provider() {
    let mut quarantine = one();
    quarantine.renew("somebody-else", 200);
    quarantine.renew("somebody-else", 1000);
    assert_eq!(quarantine.at(1000), err("no-lease-evidence (somebody-else)"));
    for (stackit, openstack) in [(false, true), (true, true), (false, false)] {
        let mut quarantine = one();
        quarantine.renew("mcm-0", 200);
        quarantine.renew("mcm-0", 1000);
        let containers = &mut quarantine.pod("mcm-0").containers;
        (containers.stackit, containers.openstack) = (stackit, openstack);
        quarantine.look(1000);
        assert_eq!(quarantine.at(1000), err("no-lease-evidence (mcm-0)"));
    }
    let mut quarantine = one();
    quarantine.pod("mcm-0").ended = true;
    quarantine.facts.mcm_pods.insert("mcm-1".into(), pod("b", "n-1", STACKIT));
    quarantine.look(150);
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 1000);
    assert_eq!(quarantine.at(1000), err("no-lease-evidence (mcm-0)"), "it has ended");
}

#[test]
fn a_healthy_standby_holds_nothing_up() {
    let mut quarantine = two();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 1000);
    assert_eq!(quarantine.at(1000), Ok(()));
}

#[test]
fn a_standby_whose_node_was_lost_in_between_holds_it_up() {
    let mut quarantine = two();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 1000);
    quarantine.nodes = nodes(&[Some(0), Some(500)]);
    assert_eq!(quarantine.at(1000), err("mcm-unproven (mcm-1)"));
    // As a new leader would, it waits from there on.
    quarantine.renew("mcm-0", 1010);
    assert_eq!(quarantine.at(1400), Ok(()));
    quarantine.nodes = nodes(&[Some(0), None]);
    assert_eq!(quarantine.at(1400), err("seed-node-lost (n-1)"));
    // A Node that nobody knows proves nothing.
    quarantine.nodes = nodes(&[Some(0)]);
    assert_eq!(quarantine.at(1400), err("mcm-unproven (mcm-1)"));
}

#[test]
fn one_that_held_the_lease_since_is_no_standby_until_it_was_restarted() {
    let mut quarantine = two();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-1", 300);
    quarantine.renew("mcm-1", 1000);
    assert_eq!(quarantine.at(1000), err("mcm-unproven (mcm-0)"));
    quarantine.pod("mcm-0").restarts += 1;
    quarantine.look(1001);
    assert_eq!(quarantine.at(1001), Ok(()));
}

#[test]
fn one_that_held_the_lease_and_lives_on_waits_as_long_again() {
    let mut quarantine = two();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-1", 300);
    quarantine.renew("mcm-1", 1000);
    assert_eq!(quarantine.at(1100), err("mcm-unproven (mcm-0)"));
    assert_eq!(quarantine.at(1101), Ok(()));
}

#[test]
fn one_of_another_provider_is_no_standby() {
    for containers in [OPENSTACK, McmContainers::default()] {
        let mut quarantine =
            Quarantine::of(&[("mcm-0", pod("a", "n-0", STACKIT)), ("mcm-1", pod("b", "n-1", containers))]);
        quarantine.renew("mcm-0", 200);
        quarantine.renew("mcm-0", 1000);
        assert_eq!(quarantine.at(5000), err("mcm-unproven (mcm-1)"));
    }
}

#[test]
fn a_pod_that_waits_for_a_node_has_never_run() {
    let mut quarantine = Quarantine::of(&[("mcm-0", pod("a", "n-0", STACKIT)), ("mcm-1", pod("b", "", STACKIT))]);
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 1000);
    assert_eq!(quarantine.at(1000), Ok(()));
}

#[test]
fn a_pod_that_is_gone_may_live_on_on_a_lost_node() {
    let mut quarantine = two();
    quarantine.facts.mcm_pods.remove("mcm-1");
    quarantine.look(500);
    quarantine.renew("mcm-0", 600);
    quarantine.renew("mcm-0", 1000);
    quarantine.nodes = nodes(&[Some(0), None]);
    assert_eq!(quarantine.at(1000), err("seed-node-lost (n-1)"));
    // It has just woken up, and what runs on it with it.
    quarantine.nodes = nodes(&[Some(0), Some(990)]);
    assert_eq!(quarantine.at(1000), err("seed-node-lost (n-1)"));
    assert_eq!(quarantine.ask(secs(1000)).unwrap_err().left, Some(secs(110)));
    assert_eq!(quarantine.at(1110), Ok(()));
    // A Node that was deleted is off.
    quarantine.nodes = nodes(&[Some(0)]);
    assert_eq!(quarantine.at(1000), Ok(()));
}

#[test]
fn a_pod_that_was_gone_before_this_leader_began_may_live_on_too() {
    let mut quarantine = one();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 1000);
    quarantine.nodes = nodes(&[Some(0), None]);
    assert_eq!(quarantine.at(5000), err("seed-node-lost (n-1)"));
}

#[test]
fn a_node_that_an_operator_knows_to_be_off_hides_nobody() {
    let mut quarantine = one();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 1000);
    quarantine.nodes = nodes(&[Some(0), None]);
    let mut settings = settings();
    settings.nodes.except = vec!["n-1".to_owned()];
    let over = quarantine_is_over(&quarantine.seen, "m-0", Some(&quarantine.nodes), secs(1000), &settings);
    assert_eq!(over, Ok(()));
}

#[test]
fn a_holder_that_woke_up_with_its_node_must_renew_once_more() {
    let mut quarantine = one();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 1000);
    quarantine.nodes = nodes(&[Some(980), Some(0)]);
    assert_eq!(quarantine.at(1200), err("no-lease-evidence (mcm-0)"));
    quarantine.renew("mcm-0", 1100);
    quarantine.renew("mcm-0", 1110);
    assert_eq!(quarantine.at(1200), Ok(()));
}

#[test]
fn where_there_is_no_pod_at_all_the_nodes_alone_are_asked() {
    let mut quarantine = Quarantine::of(&[]);
    assert_eq!(quarantine.at(999), err("quarantined"));
    assert_eq!(quarantine.at(1000), Ok(()));
    quarantine.nodes = nodes(&[Some(0), None]);
    assert_eq!(quarantine.at(1000), err("seed-node-lost (n-1)"));
    let settings = settings();
    let unknown = quarantine_is_over(&quarantine.seen, "m-0", None, secs(1000), &settings);
    assert_eq!(unknown.unwrap_err().because.to_string(), "seed-node-lost (not listed yet)");
}

#[test]
fn a_new_leader_starts_again() {
    let mut quarantine = one();
    quarantine.renew("mcm-0", 200);
    quarantine.renew("mcm-0", 900);
    quarantine.seen = Seen::default();
    quarantine.look(990);
    quarantine.renew("mcm-0", 990);
    assert_eq!(quarantine.at(1000), err("quarantined"));
    quarantine.renew("mcm-0", 1060);
    quarantine.renew("mcm-0", 1889);
    assert_eq!(quarantine.at(1889), err("quarantined"));
    assert_eq!(quarantine.at(1890), Ok(()));
}

#[test]
fn an_id_that_changed_in_between_starts_again() {
    let mut quarantine = one();
    quarantine.renew("mcm-0", 900);
    let rewritten = quarantine.facts.machines.clone();
    quarantine.facts.machines.clear();
    quarantine.look(950);
    quarantine.facts.machines = rewritten;
    quarantine.look(960);
    quarantine.renew("mcm-0", 1100);
    assert_eq!(quarantine.at(1859), err("quarantined"));
}

#[test]
fn a_restart_seen_together_with_the_new_id_proves_nothing() {
    let unproven = |restarted_at: u64| {
        let mut quarantine =
            Quarantine::of(&[("mcm-0", pod("a", "n-0", STACKIT)), ("mcm-1", pod("b", "n-1", OPENSTACK))]);
        // Seen from the beginning, before the Machine had its ID.
        quarantine.seen = Seen::default();
        quarantine.facts.machines.clear();
        quarantine.look(50);
        for at in [100, 101] {
            quarantine.facts.machines.insert("m-0".into(), rewritten(0));
            quarantine.pod("mcm-1").restarts = u32::from(at >= restarted_at);
            quarantine.look(at);
        }
        quarantine.renew("mcm-0", 100);
        quarantine.renew("mcm-0", 500);
        quarantine.renew("mcm-0", 1_500);
        quarantine.at(1_500)
    };
    assert_eq!(unproven(101), Ok(()));
    assert_eq!(unproven(100), Err("mcm-unproven (mcm-1)".to_owned()));
}
