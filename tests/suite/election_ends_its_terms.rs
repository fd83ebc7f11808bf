//! How a term ends: told, cancelled, in time; and what is left of it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::election_support::{
    BETWEEN, Candidate, DEADLINE, Guard, Journal, LEASE, Record, What, busy, client, through_a_proxy,
};
use mcm_migration_webhook::sidetask::election::ElectionError;
use rig::until;
use serde_json::json;

#[tokio::test]
async fn on_shutdown_the_lease_is_released_after_the_work_has_ended_and_taken_at_once() {
    const SLOW: Duration = Duration::from_millis(700);
    let record = Record::released("release").await;
    let journal = Journal::default();
    let work = journal.clone();
    let a = Candidate::with_work(client().await, "release", "a", move |leadership| {
        busy(work.clone(), "a", leadership, SLOW)
    });
    journal.leads("a").await;
    let mut b = Candidate::busy(client().await, "release", "b", &journal);
    b.sees("a").await;
    let seen = tokio::spawn(async move {
        until("the lease names nobody", DEADLINE, || async {
            let spec = record.spec().await;
            Ok((spec["holderIdentity"] != "a").then_some((Instant::now(), spec)))
        })
        .await
        .unwrap()
    });
    a.stopped().await.unwrap();
    let stopped = Instant::now();
    let begun = journal.leads("b").await;
    let ended = journal.last("a", What::Ended).unwrap();
    assert!(ended - journal.last("a", What::Told).unwrap() >= SLOW);
    assert!(ended < begun && begun.saturating_duration_since(stopped) < LEASE);
    let (freed, spec) = seen.await.unwrap();
    assert!(ended < freed);
    if spec["holderIdentity"] == "" {
        assert_eq!(spec["leaseDurationSeconds"], 1);
        assert_eq!(spec["leaseTransitions"], 8);
    }
    assert_eq!(journal.no_two_met(), 2);
}

#[tokio::test]
async fn work_that_does_not_end_is_cancelled_at_the_deadline_and_the_lease_released() {
    let record = Record::released("stubborn").await;
    let journal = Journal::default();
    let work = journal.clone();
    let a = Candidate::with_work(client().await, "stubborn", "a", move |leadership| {
        busy(work.clone(), "a", leadership, DEADLINE * 60)
    });
    journal.leads("a").await;
    a.stopped().await.unwrap();
    let told = journal.last("a", What::Told).unwrap();
    assert!(journal.last("a", What::Ended).unwrap() - told < LEASE);
    assert_eq!(record.spec().await["holderIdentity"], "");
}

#[tokio::test]
async fn a_follower_shuts_down_and_leaves_the_lease_alone() {
    let spec = json!({ "holderIdentity": "somebody", "leaseDurationSeconds": 600 });
    let record = Record::made("follower", spec.clone()).await;
    let mut a = Candidate::busy(client().await, "follower", "a", &Journal::default());
    a.sees("somebody").await;
    a.stopped().await.unwrap();
    assert_eq!(record.spec().await, spec);
}

#[tokio::test]
async fn a_panic_ends_the_term_and_surfaces_and_the_lease_expires() {
    let record = Record::released("panic").await;
    let a = Candidate::with_work(client().await, "panic", "a", |_| async { panic!("of the work") });
    let error = a.ended().await.unwrap_err();
    assert!(matches!(&error, ElectionError::Panicked(message) if message == "of the work"), "{error}");
    assert_eq!(record.spec().await["holderIdentity"], "a");
}

#[tokio::test]
async fn work_that_ends_by_itself_is_an_error_and_the_lease_is_released() {
    let record = Record::released("ended").await;
    let a = Candidate::with_work(client().await, "ended", "a", |_| async {});
    assert!(matches!(a.ended().await, Err(ElectionError::Ended)));
    assert_eq!(record.spec().await["holderIdentity"], "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn work_that_ends_because_its_term_is_over_is_none_and_the_next_term_begins() {
    let _record = Record::released("noticed").await;
    let (proxy, behind) = through_a_proxy().await;
    let mut a = Candidate::with_work(behind, "noticed", "a", |leadership| async move {
        // Without a timer, so that the work notices before the campaign does.
        while leadership.holds() {
            std::thread::park_timeout(Duration::from_micros(100));
        }
    });
    for term in 1..=3 {
        let leads = a.standing.wait_for(|standing| standing.leads && standing.terms == term);
        tokio::time::timeout(DEADLINE, leads).await.unwrap().unwrap();
        proxy.cut();
        let lost = a.standing.wait_for(|standing| !standing.leads);
        tokio::time::timeout(DEADLINE, lost).await.unwrap().unwrap();
        proxy.heal();
    }
    a.stopped().await.unwrap();
}

#[tokio::test]
async fn dropping_the_election_cancels_the_work() {
    let record = Record::released("dropped").await;
    let journal = Journal::default();
    let a = Candidate::busy(client().await, "dropped", "a", &journal);
    journal.leads("a").await;
    a.task.abort();
    journal.did("a", What::Ended).await;
    assert!(!a.standing.borrow().leads);
    assert_eq!(record.spec().await["holderIdentity"], "a");
}

/// Something that the work started lives on for a while after the work, and after the Lease is free again.
#[tokio::test]
async fn the_next_term_waits_for_whatever_the_last_one_started() {
    let record = Record::released("leftover").await;
    let journal = Journal::default();
    let work = journal.clone();
    let mut a = Candidate::with_work(client().await, "leftover", "a", move |leadership| {
        let journal = work.clone();
        async move {
            journal.write("a", What::Started);
            let leftover = leadership.clone();
            tokio::spawn(async move {
                leftover.lost().await;
                tokio::time::sleep(BETWEEN / 2).await;
                journal.write("a", What::Ended);
                drop(leftover);
            });
            std::future::pending::<()>().await;
        }
    });
    journal.leads("a").await;
    record.patch(json!({ "spec": { "holderIdentity": "", "leaseDurationSeconds": 1 } })).await;
    let terms = a.standing.wait_for(|standing| standing.terms == 2);
    tokio::time::timeout(DEADLINE, terms).await.unwrap().unwrap();
    journal.leads("a").await;
    assert_eq!(journal.no_two_met(), 2);
}

#[tokio::test]
async fn what_outlives_its_term_ends_the_election_before_another_can_lead() {
    let _record = Record::released("outlives").await;
    let journal = Journal::default();
    let work = journal.clone();
    let (proxy, behind) = through_a_proxy().await;
    let a = Candidate::with_work(behind, "outlives", "a", move |leadership| {
        let journal = work.clone();
        async move {
            journal.write("a", What::Started);
            std::mem::forget(leadership);
            let _guard = Guard(journal, "a");
            std::future::pending::<()>().await;
        }
    });
    journal.leads("a").await;
    let _b = Candidate::busy(client().await, "outlives", "b", &journal);
    proxy.cut();
    let error = a.ended().await.unwrap_err();
    assert_eq!(journal.leader(), None);
    assert!(matches!(error, ElectionError::StillRunning { .. }), "{error}");
    journal.leads("b").await;
}

/// A runtime that stands, with all its tasks, is what a stopped process is to the others.
#[test]
fn a_process_that_stood_past_its_deadline_does_not_act_when_it_wakes() {
    let journal = Journal::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(Record::released("stopped"));
    let held_on_waking = Arc::new(AtomicUsize::new(0));
    let woke = Arc::new(AtomicBool::new(false));
    let stands = std::thread::spawn({
        let (journal, held, woke) = (journal.clone(), Arc::clone(&held_on_waking), Arc::clone(&woke));
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let journal_of_work = journal.clone();
                let mut a = Candidate::with_work(client().await, "stopped", "a", move |leadership| {
                    let (journal, held, woke) = (journal_of_work.clone(), Arc::clone(&held), Arc::clone(&woke));
                    async move {
                        journal.write("a", What::Started);
                        let _guard = Guard(journal.clone(), "a");
                        if woke.load(Ordering::SeqCst) {
                            return std::future::pending().await;
                        }
                        assert!(leadership.holds());
                        std::thread::park_timeout(LEASE * 4);
                        woke.store(true, Ordering::SeqCst);
                        held.fetch_add(usize::from(leadership.holds()), Ordering::SeqCst);
                        assert_eq!(leadership.left(), Duration::ZERO);
                        journal.write("a", What::Told);
                        std::future::pending::<()>().await;
                    }
                });
                a.sees("b").await;
            });
        }
    });
    runtime.block_on(async {
        journal.leads("a").await;
        let _b = Candidate::busy(client().await, "stopped", "b", &journal);
        let begun = until("b leads", DEADLINE, || async { Ok(journal.last("b", What::Started)) }).await.unwrap();
        assert!(!woke.load(Ordering::SeqCst), "b had to lead while a stood");
        let woken = journal.did("a", What::Ended).await;
        assert!(begun < woken);
        tokio::task::spawn_blocking(move || stands.join().unwrap()).await.unwrap();
    });
    assert_eq!(held_on_waking.load(Ordering::SeqCst), 0);
}
