//! For how long every Node of the seed has been seen Ready.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{
    Moment, NodeBook, NodeSeen, NodeSighting, NodesNotYet, NodesRule, every_node_ready_long_enough,
};
use proptest::prelude::*;

fn s(seconds: u64) -> Moment {
    Duration::from_secs(seconds)
}

fn sighting(name: &str, ready: bool) -> NodeSighting {
    NodeSighting { name: name.to_owned(), uid: format!("uid-{name}"), ready, ready_changed: "t0".to_owned() }
}

fn rule(except: &[&str]) -> NodesRule {
    NodesRule { ready_for: s(120), except: except.iter().map(|name| (*name).to_owned()).collect() }
}

fn seen(name: &str, ready_since: Option<u64>) -> NodeSeen {
    NodeSeen { name: name.to_owned(), ready_since: ready_since.map(s) }
}

/// A book that saw these lists, one every two seconds.
fn book(lists: &[Vec<NodeSighting>]) -> NodeBook {
    let mut book = NodeBook::default();
    for (number, list) in (0..).zip(lists) {
        book.take_up(list.clone(), s(number * 2), s(number * 2 + 1));
    }
    book
}

#[test]
fn every_node_must_have_been_ready_for_the_whole_time() {
    let nodes = [seen("a", Some(10)), seen("b", Some(50))];
    let wait = every_node_ready_long_enough(&nodes, s(20), s(100), &rule(&[])).unwrap_err();
    assert_eq!(wait, NodesNotYet::Wait { left: s(70), newest: Some("b".to_owned()) });
    assert_eq!(every_node_ready_long_enough(&nodes, s(20), s(170), &rule(&[])), Ok(()));
}

#[test]
fn the_time_counts_from_the_end_of_the_last_openstack_pod() {
    let nodes = [seen("a", Some(0))];
    let wait = every_node_ready_long_enough(&nodes, s(300), s(300), &rule(&[])).unwrap_err();
    assert_eq!(wait, NodesNotYet::Wait { left: s(120), newest: Some("a".to_owned()) });
}

#[test]
fn every_lost_node_is_named_and_one_that_is_excepted_is_not_asked() {
    let nodes = [seen("a", None), seen("b", Some(0)), seen("c", None)];
    let lost = every_node_ready_long_enough(&nodes, s(0), s(999), &rule(&[])).unwrap_err();
    assert_eq!((lost.because().reason, lost.because().subject.as_str()), (Reason::SeedNodeLost, "a, c"));
    assert!(every_node_ready_long_enough(&nodes, s(0), s(999), &rule(&["a"])).is_err());
    assert_eq!(every_node_ready_long_enough(&nodes, s(0), s(999), &rule(&["a", "c"])), Ok(()));
}

#[test]
fn without_nodes_the_time_is_waited_all_the_same() {
    assert!(every_node_ready_long_enough(&[], s(5), s(124), &rule(&[])).is_err());
    assert_eq!(every_node_ready_long_enough(&[], s(5), s(125), &rule(&[])), Ok(()));
}

#[test]
fn a_node_counts_from_the_answer_in_which_it_was_first_ready() {
    let book = book(&[vec![sighting("a", false)], vec![sighting("a", true)], vec![sighting("a", true)]]);
    assert_eq!(book.nodes(), [seen("a", Some(3))]);
    assert_eq!(book.known_until(), Some(s(4)));
}

#[test]
fn a_break_that_no_list_saw_is_told_by_the_condition_or_the_identity() {
    let flapped = NodeSighting { ready_changed: "t1".to_owned(), ..sighting("a", true) };
    assert_eq!(book(&[vec![sighting("a", true)], vec![flapped]]).nodes(), [seen("a", Some(3))]);
    let another = NodeSighting { uid: "other".to_owned(), ..sighting("a", true) };
    assert_eq!(book(&[vec![sighting("a", true)], vec![another]]).nodes(), [seen("a", Some(3))]);
    let back = [vec![sighting("a", true)], vec![], vec![sighting("a", true)]];
    assert_eq!(book(&back).nodes(), [seen("a", Some(5))]);
}

#[test]
fn a_gap_in_which_nobody_looked_starts_the_time_again() {
    let mut book = NodeBook::default();
    book.take_up([sighting("a", true)], s(0), s(0));
    book.take_up([sighting("a", true)], s(9), s(10));
    assert_eq!(book.nodes(), [seen("a", Some(0))]);
    book.take_up([sighting("a", true)], s(10), s(20));
    assert_eq!(book.nodes(), [seen("a", Some(20))], "asked at 9, answered at 20");
}

#[test]
fn a_node_that_is_gone_holds_nothing_up() {
    assert_eq!(
        book(&[vec![sighting("a", false), sighting("b", true)], vec![sighting("b", true)]]).nodes(),
        [seen("b", Some(1))]
    );
}

proptest! {
    /// Whatever was seen: an answer of yes means that each Node of the last list was Ready in every list of the time asked for.
    #[test]
    fn a_yes_means_that_every_list_of_the_time_shows_every_node_ready(
        lists in prop::collection::vec(prop::collection::btree_map("[ab]", prop::bool::weighted(0.9), 0..3), 1..40),
        since in 0u64..60,
        ready_for in 1u64..40,
    ) {
        let lists: Vec<Vec<NodeSighting>> =
            lists.into_iter().map(|list| list.into_iter().map(|(name, ready)| sighting(&name, ready)).collect()).collect();
        let book = book(&lists);
        let until = book.known_until().unwrap();
        let rule = NodesRule { ready_for: s(ready_for), except: Vec::new() };
        if every_node_ready_long_enough(&book.nodes(), s(since), until, &rule).is_ok() {
            prop_assert!(until >= s(since + ready_for));
            let begin = until.saturating_sub(s(ready_for));
            for node in lists.last().unwrap() {
                for (number, list) in (0u64..).zip(&lists) {
                    if s(number * 2 + 1) > begin {
                        prop_assert!(list.iter().any(|found| found.name == node.name && found.ready));
                    }
                }
            }
        }
    }
}
