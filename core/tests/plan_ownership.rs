//! Whose a shoot is: the table, row by row, and that the lowest row that matches holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod worlds;

use mcm_migration_core::decide::{ClusterFacts, NamespaceFacts, WorkerFacts};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{Ownership, ownership};
use proptest::prelude::*;
use worlds::{last_operation, shoot_facts, switched_shoot};

fn worker(facts: &mut NamespaceFacts) -> &mut WorkerFacts {
    facts.workers.get_mut("w").unwrap()
}

fn cluster(facts: &mut NamespaceFacts) -> &mut ClusterFacts {
    facts.cluster.as_mut().unwrap()
}

fn of(change: impl FnOnce(&mut NamespaceFacts)) -> Result<Ownership, Reason> {
    let mut facts = switched_shoot();
    change(&mut facts);
    ownership(&facts).map_err(|because| because.reason)
}

#[test]
fn ours_is_what_cluster_and_shoot_agree_on_and_no_operation_denies() {
    assert_eq!(of(|_| ()), Ok(Ownership::Ours));
    assert_eq!(of(|f| cluster(f).seed = "other".into()), Err(Reason::NotOurs));
    assert_eq!(of(|f| cluster(f).shoot_spec_seed = "other".into()), Err(Reason::NotOurs));
    assert_eq!(of(|f| cluster(f).shoot_status_seed = "other".into()), Err(Reason::NotOurs));
    assert_eq!(of(|f| *cluster(f) = ClusterFacts::default()), Err(Reason::NotOurs), "nothing equals nothing");
    assert_eq!(of(|f| worker(f).operation = "reconcile".into()), Ok(Ownership::Ours));
}

#[test]
fn restoring_here_is_told_by_either_sign_and_asks_nothing_of_the_shoots_status() {
    let signs: [fn(&mut NamespaceFacts); 3] = [
        |f| worker(f).operation = "restore".into(),
        |f| worker(f).last_operation = last_operation("Restore", "Processing"),
        |f| worker(f).last_operation = last_operation("Restore", "Error"),
    ];
    for sign in signs {
        assert_eq!(
            of(|f| {
                sign(f);
                cluster(f).shoot_status_seed = "old".into();
            }),
            Ok(Ownership::RestoringHere)
        );
        assert_eq!(
            of(|f| {
                sign(f);
                cluster(f).seed = "other".into();
            }),
            Err(Reason::NotOurs)
        );
        assert_eq!(
            of(|f| {
                sign(f);
                worker(f).terminating = true;
            }),
            Ok(Ownership::DeletingHere)
        );
    }
    assert_eq!(of(|f| worker(f).last_operation = last_operation("Restore", "Succeeded")), Ok(Ownership::Ours));
}

#[test]
fn deleting_here_asks_nothing_of_the_shoots_status_either() {
    assert_eq!(
        of(|f| {
            worker(f).terminating = true;
            cluster(f).shoot_status_seed = "".into();
        }),
        Ok(Ownership::DeletingHere)
    );
    assert_eq!(
        of(|f| {
            worker(f).terminating = true;
            cluster(f).shoot_spec_seed = "other".into();
        }),
        Err(Reason::NotOurs)
    );
}

#[test]
fn a_shoot_that_leaves_or_is_not_known_is_not_ours() {
    type Change = fn(&mut NamespaceFacts);
    let changes: [(Change, Reason); 9] = [
        (|f| worker(f).operation = "migrate".into(), Reason::WorkerMigrating),
        (|f| worker(f).operation = "wait-for-state".into(), Reason::WorkerMigrating),
        (|f| worker(f).last_operation = last_operation("Migrate", "Succeeded"), Reason::WorkerMigrating),
        (|f| cluster(f).shoot_last_operation = last_operation("Migrate", "Processing"), Reason::WorkerMigrating),
        (|f| f.workers.clear(), Reason::WorkerAbsent),
        (|f| f.cluster = None, Reason::ClusterAbsent),
        (|f| cluster(f).terminating = true, Reason::ClusterAbsent),
        (|f| f.namespace = None, Reason::NamespaceAbsent),
        (|f| f.namespace.as_mut().unwrap().terminating = true, Reason::NamespaceAbsent),
    ];
    for (change, reason) in changes {
        assert_eq!(of(change), Err(reason));
        // The lowest row holds, whatever the rows above it say.
        assert!(
            of(|f| {
                f.workers.values_mut().for_each(|w| w.terminating = true);
                change(f);
            })
            .is_err()
        );
        assert!(
            of(|f| {
                f.workers.values_mut().for_each(|w| w.operation = "restore".into());
                change(f);
            })
            .is_err()
        );
    }
}

/// The table from its lowest row up, each row as one condition.
fn by_the_table(facts: &NamespaceFacts) -> Option<Ownership> {
    let cluster = facts.cluster.as_ref().filter(|cluster| !cluster.terminating)?;
    facts.namespace.as_ref().filter(|namespace| !namespace.terminating)?;
    let any = |test: &dyn Fn(&WorkerFacts) -> bool| facts.workers.values().any(test);
    let leaves =
        any(&|w| ["migrate", "wait-for-state"].contains(&&*w.operation) || &*w.last_operation.type_ == "Migrate")
            || &*cluster.shoot_last_operation.type_ == "Migrate";
    let here = !cluster.seed.is_empty() && cluster.seed == cluster.shoot_spec_seed;
    if facts.workers.is_empty() || leaves || !here {
        return None;
    }
    if any(&|w| w.terminating) {
        return Some(Ownership::DeletingHere);
    }
    let unfinished = |w: &WorkerFacts| &*w.last_operation.type_ == "Restore" && &*w.last_operation.state != "Succeeded";
    if any(&|w| &*w.operation == "restore" || unfinished(w)) {
        return Some(Ownership::RestoringHere);
    }
    (cluster.shoot_status_seed == cluster.seed).then_some(Ownership::Ours)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_lowest_row_that_matches_holds(facts in shoot_facts()) {
        prop_assert_eq!(ownership(&facts).ok(), by_the_table(&facts));
    }
}
