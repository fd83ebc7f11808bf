//! When a MachineClass may turn from OpenStack to STACKIT.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worlds;

use mcm_migration_core::decide::{
    Known, MachineFacts, McmPodFacts, NamespaceFacts, Ruling, Verdict, decide_machine_class,
};
use mcm_migration_core::domain::{McmContainers, Provider, Reason};
use mcm_migration_core::review::parse;
use proptest::prelude::*;
use serde_json::{Value, json};
use worlds::{SERVER, facts, json_value};

const CLASS: &str = "pool-a";

fn class(provider: &Value) -> Value {
    json!({"metadata": {"name": CLASS, "namespace": "shoot--p--s"}, "provider": provider, "providerSpec": {"provider": "x"}})
}

fn decide(operation: &str, object: &Value, old_object: &Value, known: Known<'_>) -> Verdict {
    let request = json!({"uid": "u", "operation": operation, "object": object, "oldObject": old_object});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let body = serde_json::to_vec(&review).unwrap();
    let request = parse(&body).unwrap();
    decide_machine_class(request.operation, &request.object, &request.old_object, known)
}

fn flip(known: Known<'_>) -> Verdict {
    decide("UPDATE", &class(&json!("stackit")), &class(&json!("OpenStack")), known)
}

fn unsettled(facts: &NamespaceFacts) -> Vec<&str> {
    let of_the_class = facts.machines.iter().filter(|(_, m)| &*m.class == CLASS);
    of_the_class.filter(|(_, m)| m.provider_id.is_empty() && !m.settled).map(|(name, _)| &**name).collect()
}

/// What is known of a shoot that is being switched: the classes are not all OpenStack's any more, Machines are settled or not.
fn switching() -> impl Strategy<Value = NamespaceFacts> {
    let machine = ("m-[a-z]{2}", any::<bool>(), any::<bool>(), any::<bool>());
    (facts(), prop::collection::vec(machine, 0..16)).prop_map(|(mut facts, machines)| {
        for (name, of_the_class, settled, terminating) in machines {
            let class = if of_the_class { CLASS } else { "pool-b" };
            let machine = MachineFacts { class: class.into(), settled, terminating, ..MachineFacts::default() };
            facts.machines.insert(name.into(), machine);
        }
        facts
    })
}

fn provider() -> impl Strategy<Value = Value> {
    let known =
        prop_oneof![Just("stackit"), Just("OpenStack"), Just("openStack"), Just("Stackit"), Just("aws"), Just("")];
    prop_oneof![8 => known.prop_map(Value::from), 1 => json_value()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn what_is_in_the_way_refuses_and_nothing_else(facts in switching()) {
        let alive = facts.mcm_pods.values().any(|pod| pod.containers.openstack && !pod.ended);
        let held = facts.migration.is_some_and(|migration| migration.paused && !migration.paused_by_rollback);
        let expected = match (alive || !unsettled(&facts).is_empty(), held) {
            (false, _) => Ruling::Passed,
            (true, false) => Ruling::Refused,
            (true, true) => Ruling::Waived,
        };
        prop_assert_eq!(flip(Known::Fresh(&facts)).ruling, expected);
    }

    #[test]
    fn a_refusal_names_at_most_ten_machines_and_counts_the_rest(count in 1..40_usize) {
        let names: Vec<String> = (0..count).map(|number| format!("m-{number:02}")).collect();
        let machine = || MachineFacts { class: CLASS.into(), ..MachineFacts::default() };
        let machines = names.iter().map(|name| (name.as_str().into(), machine())).collect();
        let facts = NamespaceFacts { machines, ..NamespaceFacts::default() };
        let because = flip(Known::Fresh(&facts)).because;
        prop_assert_eq!(because.reason, Reason::MachinesUnsettled);
        let named = names.iter().filter(|name| because.subject.contains(name.as_str())).count();
        prop_assert_eq!(named, count.min(10));
        prop_assert_eq!(because.subject.ends_with(&format!(" and {} more", count - named)), count > 10);
    }

    #[test]
    fn a_write_that_is_no_flip_is_let_in_whatever_is_known(
        operation in prop_oneof![Just("CREATE"), Just("UPDATE"), Just("DELETE"), Just("CONNECT")],
        before in provider(),
        after in provider(),
        facts in switching(),
    ) {
        // What is there and no string cannot be read, so it may have been OpenStack.
        let from_openstack = match &before {
            Value::Null => false,
            Value::String(text) => text.eq_ignore_ascii_case("openstack"),
            _ => true,
        };
        let is_flip = operation == "UPDATE" && after == "stackit" && from_openstack;
        for known in [Known::Fresh(&facts), Known::Stale("machines")] {
            let verdict = decide(operation, &class(&after), &class(&before), known);
            prop_assert_eq!(verdict.because.reason == Reason::NoFlip, !is_flip);
            prop_assert!(is_flip || verdict.ruling == Ruling::Passed);
        }
    }

    #[test]
    fn whatever_stands_where_the_objects_should_never_breaks_it(object in json_value(), old in json_value()) {
        let verdict = decide("UPDATE", &object, &old, Known::Stale("machines"));
        prop_assert_eq!(verdict.because.reason, Reason::NoFlip);
    }
}

#[test]
fn what_is_not_known_refuses_also_while_paused() {
    let verdict = flip(Known::Stale("machines"));
    assert_eq!((verdict.ruling, verdict.because.to_string().as_str()), (Ruling::Refused, "cache-stale (machines)"));
}

#[test]
fn an_old_object_that_cannot_be_read_counts_as_openstack() {
    let after = class(&json!("stackit"));
    for old in [json!(null), json!([]), json!("OpenStack"), class(&json!(1)), class(&json!("openstack"))] {
        let verdict = decide("UPDATE", &after, &old, Known::Stale("pods"));
        assert_eq!(verdict.ruling, Ruling::Refused, "{old}");
    }
    let nameless = json!({"metadata": {"name": 1}, "provider": "stackit"});
    let facts = NamespaceFacts::default();
    let verdict = decide("UPDATE", &nameless, &class(&json!("OpenStack")), Known::Fresh(&facts));
    assert_eq!((verdict.ruling, verdict.because.reason), (Ruling::Refused, Reason::ObjectUnreadable));
}

#[test]
fn each_state_of_a_machine_and_of_a_pod_has_its_answer() {
    let because = |change: fn(&mut NamespaceFacts)| {
        let machine = MachineFacts { class: CLASS.into(), provider_id: SERVER.into(), ..MachineFacts::default() };
        let openstack = McmContainers { openstack: true, stackit: false };
        let mut facts = NamespaceFacts {
            classes: [(CLASS.into(), Provider::OpenStack)].into(),
            machines: [("m".into(), machine)].into(),
            mcm_pods: [("mcm-0".into(), McmPodFacts { containers: openstack, ended: true, ..McmPodFacts::default() })]
                .into(),
            ..NamespaceFacts::default()
        };
        change(&mut facts);
        flip(Known::Fresh(&facts)).because.to_string()
    };
    assert_eq!(because(|_| ()), "may-flip");
    assert_eq!(because(|f| f.machines.get_mut("m").unwrap().provider_id = "".into()), "machines-unsettled (m)");
    // Terminating, or said to have come from OpenStack: its server leaks all the same.
    let terminating = because(|f| {
        f.machines.insert(
            "m".into(),
            MachineFacts { class: CLASS.into(), terminating: true, migrated: true, ..MachineFacts::default() },
        );
    });
    assert_eq!(terminating, "machines-unsettled (m)");
    assert_eq!(
        because(|f| *f.machines.get_mut("m").unwrap() =
            MachineFacts { class: CLASS.into(), settled: true, ..MachineFacts::default() }),
        "may-flip"
    );
    assert_eq!(
        because(
            |f| *f.machines.get_mut("m").unwrap() = MachineFacts { class: "pool-b".into(), ..MachineFacts::default() }
        ),
        "may-flip"
    );
    assert_eq!(because(|f| f.mcm_pods.get_mut("mcm-0").unwrap().ended = false), "openstack-mcm-alive (mcm-0)");
    // Gardener writes the Deployment first, and what counts is who still runs.
    assert_eq!(because(|f| f.mcm_deployment = Some(McmContainers { openstack: true, stackit: false })), "may-flip");
}

#[test]
fn a_pause_says_what_would_have_been_refused() {
    let mut facts = worlds::open_facts();
    facts.migration.as_mut().unwrap().paused = true;
    facts.machines.insert("m".into(), MachineFacts { class: CLASS.into(), ..MachineFacts::default() });
    let verdict = flip(Known::Fresh(&facts));
    assert_eq!(verdict.ruling, Ruling::Waived);
    assert_eq!(verdict.because.to_string(), "paused (machines-unsettled (m))");
    assert_eq!(verdict.clone().waived_by(Reason::DryRunMode), verdict);
}

#[test]
fn a_pause_that_a_rollback_left_behind_lets_nothing_in_that_would_be_refused() {
    let mut facts = worlds::open_facts();
    let migration = facts.migration.as_mut().unwrap();
    (migration.paused, migration.paused_by_rollback) = (true, true);
    assert_eq!(flip(Known::Fresh(&facts)).ruling, Ruling::Passed);
    facts.machines.insert("m".into(), MachineFacts { class: CLASS.into(), ..MachineFacts::default() });
    let verdict = flip(Known::Fresh(&facts));
    assert_eq!(verdict.ruling, Ruling::Refused);
    assert_eq!(verdict.because.to_string(), "paused-by-rollback (machines-unsettled (m))");
    // An annotation without the pause holds nothing.
    facts.migration.as_mut().unwrap().paused = false;
    assert_eq!(flip(Known::Fresh(&facts)).because.to_string(), "machines-unsettled (m)");
}
