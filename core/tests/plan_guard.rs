//! Which shoots qualify for the guard, and in which order it is closed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worlds;

use mcm_migration_core::decide::{MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts};
use mcm_migration_core::domain::{GuardLabel, McmContainers, Provider, Reason};
use mcm_migration_core::plan::{
    GuardStep, Ownership, guard_steps, is_armed, needs_arming, ownership, qualifies_for_guard,
};
use proptest::prelude::*;
use worlds::{PROJECT, SERVER, shoot_facts, switched_shoot};

const OPENSTACK: McmContainers = McmContainers { openstack: true, stackit: false };

fn reasons(facts: &NamespaceFacts) -> Vec<(Reason, String)> {
    qualifies_for_guard(facts).err().unwrap_or_default().into_iter().map(|b| (b.reason, b.subject)).collect()
}

fn changed(change: impl FnOnce(&mut NamespaceFacts)) -> NamespaceFacts {
    let mut facts = switched_shoot();
    change(&mut facts);
    facts
}

fn machine(facts: &mut NamespaceFacts) -> &mut MachineFacts {
    facts.machines.get_mut("m-0").unwrap()
}

#[test]
fn a_shoot_that_was_just_switched_qualifies() {
    assert_eq!(qualifies_for_guard(&switched_shoot()), Ok(Ownership::Ours));
    assert!(needs_arming(&switched_shoot()));
}

#[test]
fn each_thing_that_keeps_it_from_qualifying_has_its_own_reason_and_object() {
    type Change = fn(&mut NamespaceFacts);
    let changes: [(Change, Reason, &str); 12] = [
        (|f| f.namespace.as_mut().unwrap().guard = Some(GuardLabel::RollingBack), Reason::RollingBack, ""),
        (|f| f.migration = Some(MigrationFacts { paused: true, ..MigrationFacts::default() }), Reason::Paused, ""),
        (|f| f.workers.values_mut().for_each(|w| w.is_stackit = false), Reason::WorkerNotStackit, "w"),
        (|f| machine(f).provider_id = format!("stackit://{PROJECT}/{SERVER}").into(), Reason::NothingToMigrate, ""),
        (|f| f.machines.clear(), Reason::NothingToMigrate, ""),
        (|f| f.classes.clear(), Reason::NoClass, ""),
        (
            |f| {
                f.classes.insert("left".into(), Provider::OpenStack);
            },
            Reason::OpenstackClassInNamespace,
            "left",
        ),
        (|f| f.mcm_deployment = Some(OPENSTACK), Reason::OpenstackMcmDeployed, ""),
        (
            |f| {
                f.mcm_pods.insert("mcm-9".into(), McmPodFacts { containers: OPENSTACK, ..McmPodFacts::default() });
            },
            Reason::OpenstackMcmAlive,
            "mcm-9",
        ),
        (|f| f.workers.clear(), Reason::WorkerAbsent, ""),
        (|f| f.cluster = None, Reason::ClusterAbsent, ""),
        (|f| f.namespace = None, Reason::NamespaceAbsent, ""),
    ];
    for (change, reason, subject) in changes {
        assert_eq!(reasons(&changed(change)), [(reason, subject.to_owned())]);
    }
}

#[test]
fn what_does_not_count_does_not_count() {
    // A pod that has ended runs nothing; a provider of somebody else deletes nothing of ours; no Deployment is none of OpenStack.
    for facts in [
        changed(|f| {
            f.mcm_pods
                .insert("mcm-9".into(), McmPodFacts { containers: OPENSTACK, ended: true, ..McmPodFacts::default() });
        }),
        changed(|f| {
            f.classes.insert("other".into(), Provider::Other);
        }),
        changed(|f| f.mcm_deployment = None),
        changed(|f| f.project = None),
    ] {
        assert_eq!(reasons(&facts), []);
    }
}

#[test]
fn a_finished_shoot_that_came_from_another_seed_is_guarded_and_not_armed() {
    let facts = changed(|f| {
        machine(f).provider_id = format!("stackit://{PROJECT}/{SERVER}").into();
        machine(f).migrated = true;
    });
    assert_eq!(reasons(&facts), []);
    assert!(!needs_arming(&facts));
}

#[test]
fn a_marker_needs_arming_without_a_legacy_id_and_so_does_a_malformed_one() {
    let marked = changed(|f| {
        machine(f).provider_id = format!("stackit://{PROJECT}/{SERVER}").into();
        machine(f).marked = true;
    });
    let malformed = changed(|f| machine(f).provider_id = "openstack:nonsense".into());
    for facts in [marked, malformed] {
        assert_eq!(reasons(&facts), []);
        assert!(needs_arming(&facts));
    }
}

#[test]
fn the_guard_is_closed_in_order_and_what_is_there_is_left_out() {
    use GuardStep::{CloseGuard, Disarm, MakeMigration};
    let closed = Some(GuardLabel::Closed);
    let steps = |guard, migration: Option<bool>| {
        guard_steps(&changed(|f| {
            f.namespace.as_mut().unwrap().guard = guard;
            f.migration = migration.map(|armed| MigrationFacts { armed, ..MigrationFacts::default() });
        }))
    };
    assert_eq!(steps(None, None), [MakeMigration, Disarm, CloseGuard]);
    assert_eq!(steps(None, Some(false)), [Disarm, CloseGuard]);
    assert_eq!(steps(None, Some(true)), [Disarm, CloseGuard]);
    assert_eq!(steps(closed, None), [MakeMigration, Disarm]);
    assert_eq!(steps(closed, Some(false)), []);
    assert_eq!(steps(closed, Some(true)), []);
}

/// The rule in its plain form: what design and domain ask, each as one question of its own.
fn may_be_guarded(facts: &NamespaceFacts) -> bool {
    let live_openstack_pod = facts.mcm_pods.values().any(|pod| !pod.ended && pod.containers.openstack);
    let has_to_do_with_it = facts
        .machines
        .values()
        .any(|machine| machine.provider_id.starts_with("openstack:") || machine.marked || machine.migrated);
    ownership(facts).is_ok()
        && facts.workers.values().all(|worker| worker.is_stackit)
        && has_to_do_with_it
        && facts.classes.values().any(|provider| *provider == Provider::Stackit)
        && !facts.classes.values().any(|provider| *provider == Provider::OpenStack)
        && !facts.mcm_deployment.is_some_and(|template| template.openstack)
        && !live_openstack_pod
        && facts.guard() != Some(GuardLabel::RollingBack)
        && !facts.migration.is_some_and(|migration| migration.paused)
}

/// Shoots of which a good part qualifies: a switched one, with some of its parts replaced by generated ones.
fn nearly_switched() -> impl Strategy<Value = NamespaceFacts> {
    (shoot_facts(), any::<[bool; 7]>()).prop_map(|(generated, keep)| {
        let mut facts = switched_shoot();
        let [classes, machines, workers, cluster, pods, deployment, namespace] = keep;
        if classes {
            facts.classes = generated.classes;
        }
        if machines {
            facts.machines = generated.machines;
        }
        if workers {
            facts.workers = generated.workers;
        }
        if cluster {
            facts.cluster = generated.cluster;
        }
        if pods {
            facts.mcm_pods = generated.mcm_pods;
        }
        if deployment {
            facts.mcm_deployment = generated.mcm_deployment;
        }
        if namespace {
            facts.namespace = generated.namespace;
            facts.migration = generated.migration;
        }
        facts
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn it_qualifies_exactly_when_the_plain_form_of_the_rule_says_so(facts in nearly_switched()) {
        prop_assert_eq!(qualifies_for_guard(&facts).is_ok(), may_be_guarded(&facts));
    }

    #[test]
    fn anything_of_openstack_that_could_act_keeps_every_shoot_from_qualifying(facts in nearly_switched(), which in 0..3) {
        let mut facts = facts;
        match which {
            0 => { facts.classes.insert("zz-unreferenced".into(), Provider::OpenStack); }
            1 => facts.mcm_deployment = Some(McmContainers { openstack: true, stackit: true }),
            _ => { facts.mcm_pods.insert("zz-terminating".into(), McmPodFacts { containers: OPENSTACK, ..McmPodFacts::default() }); }
        }
        prop_assert!(qualifies_for_guard(&facts).is_err());
    }

    #[test]
    fn a_no_has_at_least_one_reason_and_none_twice(facts in nearly_switched()) {
        if let Err(reasons) = qualifies_for_guard(&facts) {
            let mut names: Vec<Reason> = reasons.iter().map(|because| because.reason).collect();
            let all = names.len();
            names.sort();
            names.dedup();
            prop_assert!(all > 0 && names.len() == all, "{:?}", reasons);
        }
    }

    #[test]
    fn the_label_is_never_set_before_armed_is_false(facts in nearly_switched()) {
        let steps = guard_steps(&facts);
        let place = |step| steps.iter().position(|found| *found == step);
        if let Some(label) = place(GuardStep::CloseGuard) {
            prop_assert!(place(GuardStep::Disarm).is_some_and(|disarm| disarm < label));
            prop_assert!(!is_armed(&facts));
        }
        if let Some(make) = place(GuardStep::MakeMigration) {
            prop_assert!(place(GuardStep::Disarm).is_some_and(|disarm| make < disarm));
        }
    }
}
