//! Whatever happens to the API server, the network, the Lease and the clocks: the work of two terms never meets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crate::election_support::{Candidate, Journal, LEASE, RENEW, Record, What, client, through_a_proxy};
use kube::Client;
use kube::client::Body;
use serde_json::json;

#[tokio::test]
async fn of_two_candidates_one_leads_and_renews() {
    let record = Record::released("two").await;
    let journal = Journal::default();
    let mut both =
        [Candidate::busy(client().await, "two", "a", &journal), Candidate::busy(client().await, "two", "b", &journal)];
    let leader = journal.somebody_leads().await;
    let first = record.spec().await;
    assert_eq!(first["holderIdentity"], leader);
    assert_eq!(first["leaseDurationSeconds"], LEASE.as_secs());
    assert_eq!(first["leaseTransitions"], 8);
    let start = Instant::now();
    while start.elapsed() < LEASE * 3 / 2 {
        record.renewed().await;
    }
    let later = record.spec().await;
    assert_eq!(later["acquireTime"], first["acquireTime"]);
    assert_eq!(later["leaseTransitions"], 8);
    for candidate in &mut both {
        candidate.sees(leader).await;
        assert_eq!(candidate.standing.borrow().leads, candidate.name == leader);
    }
    assert_eq!(journal.no_two_met(), 1);
}

#[tokio::test]
async fn a_leader_that_is_cut_off_stops_before_the_other_begins() {
    let _record = Record::released("cut").await;
    let journal = Journal::default();
    let (a_proxy, a_client) = through_a_proxy().await;
    let (b_proxy, b_client) = through_a_proxy().await;
    let mut a = Candidate::busy(a_client, "cut", "a", &journal);
    let mut b = Candidate::busy(b_client, "cut", "b", &journal);
    let mut gaps = Vec::new();
    for round in 0..4 {
        let leader = journal.somebody_leads().await;
        let (proxy, old, other) = if leader == "a" { (&a_proxy, &mut a, &mut b) } else { (&b_proxy, &mut b, &mut a) };
        other.sees(leader).await;
        if round % 2 == 0 {
            proxy.cut();
        } else {
            proxy.hang();
        }
        let cut = Instant::now();
        let begun = journal.leads(other.name).await;
        let stopped = journal.last(leader, What::Ended).unwrap();
        let acted = journal.last(leader, What::Acted).unwrap();
        assert!(acted <= stopped && stopped < begun);
        assert!(acted - cut <= RENEW, "acted {:?} after the cut", acted - cut);
        assert!(!old.standing.borrow().leads);
        gaps.push(begun - stopped);
        proxy.heal();
        old.sees(other.name).await;
    }
    assert_eq!(journal.no_two_met(), 5);
    println!("from the last leader's end to the next one's begin: {gaps:?}");
}

#[tokio::test]
async fn a_leader_outlives_the_deletion_of_the_lease() {
    let record = Record::released("deleted").await;
    let journal = Journal::default();
    let mut both = [
        Candidate::busy(client().await, "deleted", "a", &journal),
        Candidate::busy(client().await, "deleted", "b", &journal),
    ];
    let leader = journal.somebody_leads().await;
    for _ in 0..5 {
        record.delete().await;
        rig::until("the leader has made the lease again", crate::election_support::DEADLINE, || async {
            Ok((record.spec().await["holderIdentity"] == leader).then_some(()))
        })
        .await
        .unwrap();
    }
    for candidate in &mut both {
        candidate.sees(leader).await;
    }
    assert_eq!(journal.no_two_met(), 1);
}

#[tokio::test]
async fn a_lease_that_was_deleted_under_a_leader_who_is_cut_off_is_not_taken_while_he_leads() {
    let record = Record::released("deleted-and-cut").await;
    let journal = Journal::default();
    let (proxy, behind) = through_a_proxy().await;
    let _a = Candidate::busy(behind, "deleted-and-cut", "a", &journal);
    journal.leads("a").await;
    record.renewed().await;
    proxy.cut();
    record.delete().await;
    let _b = Candidate::busy(client().await, "deleted-and-cut", "b", &journal);
    let begun = journal.leads("b").await;
    assert!(journal.last("a", What::Ended).unwrap() < begun);
    assert_eq!(journal.no_two_met(), 2);
}

#[tokio::test]
async fn a_first_candidate_makes_the_lease_and_waits_one_lease_duration() {
    let record = Record::of("absent").await;
    let journal = Journal::default();
    let start = Instant::now();
    let _a = Candidate::busy(client().await, "absent", "a", &journal);
    let begun = journal.leads("a").await;
    assert!(begun - start >= LEASE);
    let spec = record.spec().await;
    assert_eq!(spec["holderIdentity"], "a");
    assert_eq!(spec["leaseTransitions"], 1);
}

#[tokio::test]
async fn a_leader_stops_when_the_record_names_another_who_then_has_his_time() {
    let record = Record::released("overwritten").await;
    let journal = Journal::default();
    let mut a = Candidate::busy(client().await, "overwritten", "a", &journal);
    journal.leads("a").await;
    let overwritten = Instant::now();
    record.patch(json!({ "spec": { "holderIdentity": "somebody", "renewTime": "2024-01-01T00:00:00.000000Z" } })).await;
    let stopped = journal.did("a", What::Ended).await;
    assert!(stopped - overwritten < RENEW);
    a.sees("somebody").await;
    let begun = journal.leads("a").await;
    assert!(begun - overwritten >= LEASE);
    assert_eq!(record.spec().await["leaseTransitions"], 9);
    assert_eq!(journal.no_two_met(), 2);
    assert_eq!(a.standing.borrow().terms, 2);
}

#[tokio::test]
async fn times_in_the_record_that_are_years_off_change_nothing() {
    let check = async |name: &'static str, time: &str| {
        let spec = json!({ "holderIdentity": "somebody", "leaseDurationSeconds": LEASE.as_secs(), "acquireTime": time, "renewTime": time });
        let _record = Record::made(name, spec).await;
        let journal = Journal::default();
        let start = Instant::now();
        let _a = Candidate::busy(client().await, name, "a", &journal);
        let waited = journal.leads("a").await - start;
        assert!(waited >= LEASE, "{time}: {waited:?}");
    };
    tokio::join!(check("past", "1976-01-01T00:00:00.000000Z"), check("future", "2076-01-01T00:00:00.000000Z"));
}

#[tokio::test]
async fn a_leader_keeps_a_lease_whose_metadata_others_change() {
    let record = Record::released("touched").await;
    let journal = Journal::default();
    let _a = Candidate::busy(client().await, "touched", "a", &journal);
    journal.leads("a").await;
    let start = Instant::now();
    let mut touches = 0;
    while start.elapsed() < RENEW * 3 / 2 {
        touches += 1;
        record.patch(json!({ "metadata": { "annotations": { "touch": touches.to_string() } } })).await;
        record.renewed().await;
    }
    assert!(touches >= 4);
    assert_eq!(journal.no_two_met(), 1);
}

/// Somebody is quicker each time: every write of the candidate meets a Lease that has just changed.
#[tokio::test]
async fn in_a_storm_of_conflicts_the_term_ends_at_its_deadline_and_the_next_one_comes_after_it() {
    let record = Arc::new(Record::released("storm").await);
    let journal = Journal::default();
    let storm = Arc::new(AtomicBool::new(false));
    let conflicts = Arc::new(AtomicUsize::new(0));
    let client = {
        let (inner, record) = (client().await, Arc::clone(&record));
        let (storm, conflicts) = (Arc::clone(&storm), Arc::clone(&conflicts));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (client, record) = (inner.clone(), Arc::clone(&record));
            let (storm, conflicts) = (Arc::clone(&storm), Arc::clone(&conflicts));
            async move {
                if request.method() == http::Method::PUT && storm.load(Ordering::SeqCst) {
                    let touch = conflicts.load(Ordering::SeqCst).to_string();
                    record.patch(json!({ "metadata": { "annotations": { "touch": touch } } })).await;
                }
                let answer = client.send(request).await?;
                conflicts.fetch_add(usize::from(answer.status() == http::StatusCode::CONFLICT), Ordering::SeqCst);
                Ok::<_, kube::Error>(answer)
            }
        });
        Client::new(service, "default")
    };
    let mut a = Candidate::busy(client, "storm", "a", &journal);
    journal.leads("a").await;
    record.renewed().await;
    storm.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let stopped = journal.did("a", What::Ended).await;
    // The last renewal was sent one period before the storm began, or a little more.
    assert!(stopped - began > RENEW / 2, "{:?}", stopped - began);
    assert!(journal.last("a", What::Acted).unwrap() - began <= RENEW);
    assert!(!a.standing.borrow().leads);
    assert!(conflicts.load(Ordering::SeqCst) > 3);
    storm.store(false, Ordering::SeqCst);
    journal.leads("a").await;
    a.sees("a").await;
    assert_eq!(record.spec().await["leaseTransitions"], 8);
    assert_eq!(journal.no_two_met(), 2);
    a.stopped().await.unwrap();
}
