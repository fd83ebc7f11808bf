//! What a leader remembers from look to look, what it forgets, and what it takes up of the cloud.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use std::time::Duration;

use mcm_migration_core::decide::{Because, MachineFacts, NamespaceFacts};
use mcm_migration_core::domain::{NetworkId, NicId, Part, PartId, PartKind, Reason, VolumeId};
use mcm_migration_core::plan::{Action, Backoff, CloudView, Finding, Listed, ListedParts, Seen};
use side_task::example::{OPENSTACK, STACKIT, legacy, nodes, pod, rewritten, server, without_id};
use side_task::{NETWORK, eu01, secs, server_id, settings};
use worlds::switched_shoot;

fn facts() -> NamespaceFacts {
    NamespaceFacts { machines: [("m-0".into(), rewritten(0))].into(), mcm_pods: [].into(), ..switched_shoot() }
}

fn with_pod(uid: &str) -> NamespaceFacts {
    NamespaceFacts { mcm_pods: [("mcm-0".into(), pod(uid, "n-0", STACKIT))].into(), ..facts() }
}

/// What is remembered of a pod that was there until `gone`, beside a Machine with a STACKIT ID since 100 s, as of `now`.
fn remembers(gone: u64, now: u64) -> bool {
    let memory = |with: bool| {
        let mut seen = Seen::default();
        let before = if with { with_pod("a") } else { facts() };
        seen.observe(&NamespaceFacts { machines: [].into(), ..before.clone() }, false, secs(0));
        for at in [gone.min(100), gone.max(100), now] {
            let mut shown = if at < gone { before.clone() } else { facts() };
            if at < 100 {
                shown.machines.clear();
            }
            seen.observe(&shown, false, secs(at));
        }
        seen
    };
    memory(true) != memory(false)
}

#[test]
fn a_pod_that_is_gone_is_remembered_for_an_hour_if_it_may_have_seen_an_older_id() {
    assert!(!remembers(50, 200), "gone before the ID was seen");
    assert!(remembers(100, 200), "gone in the moment in which the ID was seen");
    assert!(remembers(150, 200));
    assert!(remembers(150, 150 + 3599));
    assert!(!remembers(150, 150 + 3600));
    assert!(!remembers(150, 150 + 4000));
}

#[test]
fn machines_are_listed_once_after_the_last_pod_of_openstack_has_gone() {
    let mut seen = Seen::default();
    seen.observe_machines(["too-early"]);
    assert_eq!(seen.was_there("too-early"), None);
    let mut facts = with_pod("a");
    facts.mcm_pods.get_mut("mcm-0").unwrap().containers = OPENSTACK;
    seen.observe(&facts, false, secs(1));
    seen.observe_machines(["too-early"]);
    assert_eq!((seen.other_gone(), seen.was_there("too-early")), (None, None));

    seen.observe(&with_pod("b"), false, secs(2));
    seen.observe_machines(["m-0"]);
    seen.observe_machines(["m-0", "later"]);
    assert_eq!(seen.other_gone(), Some(secs(2)));
    assert_eq!((seen.was_there("m-0"), seen.was_there("later")), (Some(true), Some(false)));
    seen.observe(&with_pod("b"), false, secs(3));
    assert_eq!(seen.other_gone(), Some(secs(2)), "it goes on");
    seen.lose_sight();
    assert_eq!((seen.other_gone(), seen.was_there("m-0")), (None, None));
}

#[test]
fn nobody_makes_servers_any_more_once_every_node_was_ready_for_long_enough_without_a_pod_of_openstack() {
    let rule = settings().nodes;
    let ready = |second| nodes(&[Some(0), second]);
    let mut seen = Seen::default();
    assert!(!seen.other_is_off(Some(&ready(Some(0))), secs(1_000), &rule), "nothing was seen");
    seen.observe(&with_pod("b"), false, secs(100));
    for (nodes, now, off) in [
        (Some(ready(Some(0))), 219, false),
        (Some(ready(Some(0))), 220, true),
        (Some(ready(None)), 1_000, false),
        (Some(ready(Some(900))), 1_019, false),
        (Some(ready(Some(900))), 1_020, true),
        (None, 1_000, false),
    ] {
        assert_eq!(seen.other_is_off(nodes.as_deref(), secs(now), &rule), off, "{nodes:?} at {now}");
    }
    seen.lose_sight();
    assert!(!seen.other_is_off(Some(&ready(Some(0))), secs(1_000), &rule), "a pod may have come and gone");
}

#[test]
fn ids_and_their_absence_are_dated_from_the_first_look_that_shows_them() {
    let shown = |machine| NamespaceFacts { machines: [("m".into(), machine)].into(), ..facts() };
    let mut seen = Seen::default();
    for at in [10, 20] {
        seen.observe(&shown(without_id()), false, secs(at));
    }
    assert_eq!((seen.without_id_since("m"), seen.id_since("m"), seen.id("m")), (Some(secs(10)), None, None));
    assert_eq!(seen.without_id_since("other"), None);
    seen.observe(&shown(legacy(0)), false, secs(30));
    assert_eq!((seen.without_id_since("m"), seen.id_since("m")), (None, None));
    for at in [40, 50] {
        seen.observe(&shown(rewritten(0)), false, secs(at));
    }
    assert_eq!((seen.id_since("m"), seen.id("m")), (Some(secs(40)), Some(&*rewritten(0).provider_id)));
    seen.observe(&shown(rewritten(1)), false, secs(60));
    assert_eq!((seen.id_since("m"), seen.id("m")), (Some(secs(60)), Some(&*rewritten(1).provider_id)));
    seen.observe(&shown(without_id()), false, secs(70));
    assert_eq!((seen.without_id_since("m"), seen.id_since("m")), (Some(secs(70)), None));
}

#[test]
fn a_restore_is_dated_from_its_first_look_and_forgotten_when_it_ends() {
    let mut seen = Seen::default();
    for (restoring, at, since) in
        [(false, 1, None), (true, 2, Some(2)), (true, 3, Some(2)), (false, 4, None), (true, 5, Some(5))]
    {
        seen.observe(&facts(), restoring, secs(at));
        assert_eq!(seen.restoring_since(), since.map(secs));
    }
}

#[test]
fn a_step_that_failed_waits_for_half_to_all_of_a_pause_that_doubles() {
    let action = Action::Touch { machine: "a".into() };
    let pause = |jitter: f64, times: u32| {
        let mut backoff = Backoff::default();
        for _ in 0..times {
            backoff.failed(&action, Because::of(Reason::WriteFailed), secs(100), jitter);
        }
        backoff.held(&action, secs(100)).map(|(_, left)| left.as_millis())
    };
    assert_eq!(pause(0.0, 0), None);
    for (jitter, first) in [(-1.0, 2_500), (0.0, 2_500), (0.2, 3_000), (0.5, 3_750), (1.0, 5_000), (7.0, 5_000)] {
        assert_eq!(pause(jitter, 1), Some(first), "{jitter}");
    }
    assert_eq!(
        [1, 2, 3, 4, 5, 6, 7, 8].map(|times| pause(1.0, times).unwrap() / 1_000),
        [5, 10, 20, 40, 80, 160, 300, 300]
    );
}

#[test]
fn failures_of_what_is_gone_are_forgotten() {
    let touch = |machine: &str| Action::Touch { machine: machine.into() };
    let mut backoff = Backoff::default();
    for action in [touch("a"), touch("b"), Action::Clear { machine: "a".into() }] {
        backoff.failed(&action, Because::of(Reason::WriteFailed), secs(0), 1.0);
    }
    let mut asked = Vec::new();
    backoff.retain(|step, subject| {
        asked.push(format!("{step} {subject}"));
        (step, subject) != ("touch", "a")
    });
    asked.sort_unstable();
    assert_eq!(asked, ["clear a", "touch a", "touch b"]);
    assert!(backoff.held(&touch("a"), secs(0)).is_none());
    assert_eq!(backoff.held(&touch("b"), secs(1)).unwrap(), (&Because::of(Reason::WriteFailed), secs(4)));
    assert!(backoff.held(&Action::Clear { machine: "a".into() }, secs(0)).is_some());
}

fn nic(n: usize, owner: Option<usize>) -> Part {
    let id =
        PartId::Nic { network: NetworkId::parse(NETWORK).unwrap(), nic: NicId::parse(server_id(n).as_str()).unwrap() };
    let server = owner.map(server_id);
    Part { id, name: "m".into(), server, idle: false, bootable: false, of_network: false, labels: [].into() }
}

fn volume(n: usize, owner: Option<usize>) -> Part {
    Part { id: PartId::Volume(VolumeId::parse(server_id(n).as_str()).unwrap()), ..nic(n, owner) }
}

#[test]
fn a_list_is_acted_on_for_a_minute() {
    let cloud = CloudView { lists: [(eu01(), Listed::new([], secs(100)))].into(), ..CloudView::default() };
    assert!(cloud.fresh(&eu01(), secs(160)).is_some());
    assert!(cloud.fresh(&eu01(), secs(161)).is_none());
    assert_eq!(cloud.lists[&eu01()].age(secs(130)), secs(30));
    assert_eq!(cloud.lists[&eu01()].age(secs(1)), Duration::ZERO);
    assert!(CloudView::default().fresh(&eu01(), secs(0)).is_none());
}

#[test]
fn what_a_call_has_shown_is_taken_up() {
    let mut cloud = CloudView::default();
    cloud.take_up(&eu01(), server(0, "m"));
    assert!(cloud.lists.is_empty(), "one server is no list");
    cloud.lists.insert(eu01(), Listed::new([server(0, "old"), server(1, "n")], secs(7)));
    cloud.take_up(&eu01(), server(0, "m"));
    let listed = &cloud.lists[&eu01()];
    assert_eq!((&*listed.servers[&server_id(0)].name, listed.servers.len(), listed.at), ("m", 2, secs(7)));
}

#[test]
fn parts_are_kept_by_the_server_that_has_them() {
    let listed = ListedParts::new([nic(10, Some(0)), nic(11, None), nic(12, Some(0)), nic(13, Some(1))], secs(7));
    let of = |listed: &ListedParts, n: usize| listed.attached.get(&server_id(n)).map_or(0, Vec::len);
    assert_eq!((of(&listed, 0), of(&listed, 1), listed.attached.len()), (2, 1, 2));
    assert_eq!((listed.age(secs(9)), listed.age(secs(1))), (secs(2), secs(0)));

    let mut cloud = CloudView::default();
    cloud.take_up_part(&eu01(), nic(10, Some(0)));
    assert!(cloud.parts.is_empty(), "one part is no list");
    cloud.parts.insert((eu01(), PartKind::Nic), listed);
    cloud.parts.insert((eu01(), PartKind::Volume), ListedParts::new([], secs(7)));
    cloud.take_up_part(&eu01(), nic(10, Some(1)));
    cloud.take_up_part(&eu01(), nic(12, None));
    cloud.take_up_part(&eu01(), volume(10, Some(0)));
    let nics = &cloud.parts[&(eu01(), PartKind::Nic)];
    assert_eq!((of(nics, 0), of(nics, 1)), (0, 2));
    assert_eq!(of(&cloud.parts[&(eu01(), PartKind::Volume)], 0), 1);
}

#[test]
fn the_nearest_trouble_of_a_look_at_parts_is_named() {
    let because = |about: &str| Because::about(Reason::CloudUnavailable, about);
    let region = |kind| (eu01(), kind);
    let mut cloud = CloudView::default();
    assert_eq!((cloud.part_trouble(&eu01(), PartKind::Nic), cloud.trouble(&eu01())), (None, None));
    cloud.part_troubles.insert(region(PartKind::Nic), because("look"));
    assert_eq!(cloud.part_trouble(&eu01(), PartKind::Nic), Some(&because("look")));
    assert_eq!(cloud.part_trouble(&eu01(), PartKind::Volume), None);
    cloud.parts_stopped.insert(PartKind::Nic, because("kind"));
    assert_eq!(cloud.part_trouble(&eu01(), PartKind::Nic), Some(&because("kind")));
    assert_eq!(cloud.part_trouble(&eu01(), PartKind::Volume), None);
    cloud.stopped = Some(because("project"));
    for kind in PartKind::ALL {
        assert_eq!(cloud.part_trouble(&eu01(), kind), Some(&because("project")));
    }
    assert_eq!(cloud.trouble(&eu01()), Some(&because("project")));
}

#[test]
fn a_machine_that_was_made_again_with_its_id_is_another_one() {
    let shown = |uid: &str| {
        let machine = MachineFacts { uid: uid.into(), ..rewritten(0) };
        NamespaceFacts { machines: [("m".into(), machine)].into(), ..facts() }
    };
    let mut seen = Seen::default();
    seen.observe(&shown("first"), false, secs(10));
    seen.observe(&shown("first"), false, secs(20));
    assert_eq!(seen.id_since("m"), Some(secs(10)));
    assert!(seen.has_seen("m", &shown("first").machines["m"]) && !seen.has_seen("m", &shown("second").machines["m"]));
    seen.observe(&shown("second"), false, secs(30));
    assert_eq!(seen.id_since("m"), Some(secs(30)), "its time begins anew");
    assert!(seen.has_seen("m", &shown("second").machines["m"]));
}

/// Everything that a leader can remember, seen from `begin` on.
fn everything(begin: u64) -> Seen {
    let mut seen = Seen::default();
    let at = |seconds: u64| secs(begin + seconds);
    let mut shown = NamespaceFacts {
        machines: [("m-0".into(), rewritten(0)), ("m-1".into(), without_id())].into(),
        mcm_pods: [("mcm-0".into(), pod("a", "n-0", STACKIT)), ("mcm-1".into(), pod("b", "n-1", STACKIT))].into(),
        ..facts()
    };
    seen.observe(&shown, true, at(10));
    seen.observe_machines(["m-0"]);
    for renewed in [20, 30] {
        seen.observe_lease(Some(side_task::example::lease("mcm-0", renewed)), at(renewed), at(renewed + 1));
    }
    shown.mcm_pods.get_mut("mcm-0").unwrap().restarts = 1;
    seen.observe(&shown, true, at(40));
    shown.mcm_pods.remove("mcm-1");
    seen.observe(&shown, true, at(50));
    seen.observe_troubles(&[("m-0".into(), Finding::Trouble)].into(), at(60));
    seen
}

#[test]
fn memories_of_the_same_things_are_equal_when_they_are_counted_from_the_same_time_before_them() {
    let memory = everything(1_000);
    assert_eq!(memory.counted_from(secs(1_000)), everything(0));
    assert_eq!(memory.counted_from(secs(0)), memory);
    assert_ne!(memory, everything(0));
}

#[test]
fn the_time_of_a_trouble_stands_still_while_nobody_looks() {
    let trouble = || [("m".into(), Finding::Trouble)].into();
    let mut seen = Seen::default();
    seen.observe_troubles(&trouble(), secs(10));
    assert_eq!(seen.troubled_for("m", secs(15)), Some(secs(5)));
    seen.lose_troubles();
    assert_eq!(seen.troubled_for("m", secs(100)), Some(secs(0)));
    for at in [100, 130] {
        seen.observe_troubles(&trouble(), secs(at));
    }
    assert_eq!(seen.troubled_for("m", secs(130)), Some(secs(30)));
    seen.lose_sight();
    assert_eq!(seen.troubled_for("m", secs(900)), Some(secs(30)));
    seen.observe_troubles(&[].into(), secs(1_000));
    assert_eq!(seen.troubled_for("m", secs(1_100)), Some(secs(30)));
    seen.observe_troubles(&[("m".into(), Finding::Fine)].into(), secs(1_200));
    assert_eq!(seen.troubled_for("m", secs(1_200)), None);
}
