use super::*;

const LEASE: Duration = Duration::from_secs(15);
const RENEW: Duration = Duration::from_secs(10);
const SECOND: Duration = Duration::from_secs(1);

fn candidate(identity: &str) -> Candidate {
    Candidate::new(&ElectionConfig::new("namespace", "lease", identity, LEASE, RENEW, SECOND * 2).unwrap())
}

fn wall(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).unwrap()
}

fn held(holder: &str, transitions: i32) -> Record {
    let time = Some(wall(0));
    Record { holder: holder.to_owned(), duration: LEASE, acquired: time, renewed: time, transitions }
}

fn replaced(step: Step) -> Record {
    match step {
        Step::Replace(record) => record,
        step => panic!("{step:?}"),
    }
}

/// A candidate that leads since `start`.
fn leader(start: Instant) -> Candidate {
    let mut me = candidate("me");
    me.saw(Some(held("you", 4).released(wall(0))), start);
    let record = replaced(me.next(start, wall(1)));
    assert_eq!(me.wrote(record, start, start + SECOND), Some(start + RENEW));
    me
}

#[test]
fn looks_before_anything_else() {
    assert_eq!(candidate("me").next(Instant::now(), wall(0)), Step::Look);
}

#[test]
fn takes_a_record_that_it_has_seen_unchanged_for_the_lease_duration() {
    let start = Instant::now();
    let mut me = candidate("me");
    me.saw(Some(held("you", 4)), start);
    me.saw(Some(held("you", 4)), start + SECOND * 14);
    assert_eq!(me.next(start + SECOND * 14, wall(14)), Step::Wait(start + LEASE));
    let record = replaced(me.next(start + LEASE, wall(15)));
    assert_eq!(record, Record { acquired: Some(wall(15)), renewed: Some(wall(15)), transitions: 5, ..held("me", 0) });
}

#[test]
fn waits_again_after_each_change() {
    let start = Instant::now();
    let mut me = candidate("me");
    me.saw(Some(held("you", 4)), start);
    me.saw(Some(Record { renewed: Some(wall(9)), ..held("you", 4) }), start + SECOND * 9);
    assert_eq!(me.next(start + LEASE, wall(15)), Step::Wait(start + SECOND * 9 + LEASE));
}

#[test]
fn times_in_the_record_change_nothing() {
    let start = Instant::now();
    for years in [-50, 50] {
        let mut me = candidate("me");
        let off = Some(wall(years * 365 * 86_400));
        me.saw(Some(Record { acquired: off, renewed: off, ..held("you", 4) }), start);
        assert_eq!(me.next(start, wall(0)), Step::Wait(start + LEASE));
        assert!(matches!(me.next(start + LEASE, wall(15)), Step::Replace(_)));
    }
}

#[test]
fn waits_for_the_longer_of_the_two_durations() {
    let start = Instant::now();
    for (said, waited) in [(1, 15), (60, 60)] {
        let mut me = candidate("me");
        me.saw(Some(Record { duration: SECOND * said, ..held("you", 4) }), start);
        assert_eq!(me.next(start, wall(0)), Step::Wait(start + SECOND * waited));
    }
}

#[test]
fn takes_a_released_lease_at_once_and_an_emptied_one_late() {
    let start = Instant::now();
    let mut me = candidate("me");
    me.saw(Some(held("you", 4).released(wall(0))), start);
    assert_eq!(replaced(me.next(start, wall(1))).transitions, 5);

    let mut me = candidate("me");
    me.saw(Some(held("", 4)), start);
    assert_eq!(me.next(start, wall(1)), Step::Wait(start + LEASE));
}

#[test]
fn makes_an_absent_lease_for_nobody_and_takes_it_only_after_a_leader_would_have_stopped() {
    let start = Instant::now();
    let mut me = candidate("me");
    me.saw(None, start);
    let Step::Prepare(record) = me.next(start, wall(0)) else { panic!() };
    assert_eq!((record.holder.as_str(), record.duration, record.transitions), ("", LEASE, 0));
    me.saw(Some(record), start + SECOND);
    assert_eq!(me.next(start + LEASE, wall(15)), Step::Wait(start + SECOND + LEASE));
    assert_eq!(replaced(me.next(start + SECOND + LEASE, wall(16))).transitions, 1);
}

#[test]
fn remembers_the_duration_and_the_transitions_of_a_lease_that_was_deleted() {
    let start = Instant::now();
    let mut me = candidate("me");
    me.saw(Some(Record { duration: SECOND * 60, ..held("you", 4) }), start);
    me.saw(None, start + SECOND);
    let Step::Prepare(record) = me.next(start + LEASE * 2, wall(30)) else { panic!() };
    assert_eq!((record.duration, record.transitions), (SECOND * 60, 4));
}

#[test]
fn a_renewal_keeps_when_it_was_acquired_and_moves_the_deadline_from_before_it_was_sent() {
    let start = Instant::now();
    let mut me = leader(start);
    let record = replaced(me.next(start + SECOND * 3, wall(4)));
    assert_eq!((record.acquired, record.renewed, record.transitions), (Some(wall(1)), Some(wall(4)), 5));
    assert_eq!(me.wrote(record, start + SECOND * 3, start + SECOND * 6), Some(start + SECOND * 13));
}

#[test]
fn an_answer_after_the_deadline_does_not_revive_the_term() {
    let start = Instant::now();
    let mut me = leader(start);
    let record = replaced(me.next(start + SECOND * 9, wall(9)));
    assert_eq!(me.wrote(record, start + SECOND * 9, start + RENEW), None);
    assert_eq!(me.next(start + RENEW, wall(10)), Step::Lost(Loss::Deadline));
}

#[test]
fn a_leader_stops_when_another_is_named_or_the_lease_was_released() {
    let start = Instant::now();
    for record in [held("you", 6), held("me", 5).released(wall(2))] {
        let mut me = leader(start);
        let holder = record.holder.clone();
        me.saw(Some(record), start + SECOND);
        assert_eq!(me.next(start + SECOND, wall(1)), Step::Lost(Loss::Taken(holder)));
    }
}

#[test]
fn a_leader_puts_a_deleted_lease_back_as_it_was() {
    let start = Instant::now();
    let mut me = leader(start);
    me.saw(None, start + SECOND);
    let Step::Create(record) = me.next(start + SECOND, wall(3)) else { panic!() };
    assert_eq!((record.acquired, record.renewed, record.transitions), (Some(wall(1)), Some(wall(3)), 5));
}

#[test]
fn a_leader_takes_a_lease_back_that_names_nobody_and_was_not_released() {
    let start = Instant::now();
    let mut me = leader(start);
    me.saw(Some(held("", 5)), start + SECOND);
    assert_eq!(replaced(me.next(start + SECOND, wall(3))).holder, "me");
}

#[test]
fn its_own_name_has_to_expire_too_once_the_term_is_lost() {
    let start = Instant::now();
    let mut me = leader(start);
    me.follow();
    assert_eq!(me.next(start + RENEW, wall(10)), Step::Wait(start + LEASE));
    let record = replaced(me.next(start + LEASE, wall(20)));
    assert_eq!((record.acquired, record.transitions), (Some(wall(1)), 5));
}

#[test]
fn each_renewal_differs_from_the_ones_before_on_a_wall_clock_that_stands() {
    let start = Instant::now();
    let mut me = leader(start);
    let mut seen = Vec::new();
    for _ in 0..5 {
        let record = replaced(me.next(start, wall(1)));
        assert!(!seen.contains(&record));
        seen.push(record.clone());
        me.wrote(record, start, start).unwrap();
    }
}

#[test]
fn gives_back_only_what_it_holds() {
    let start = Instant::now();
    let me = leader(start);
    let record = me.release(wall(5)).unwrap();
    assert_eq!((record.holder.as_str(), record.duration, record.transitions), ("", SECOND, 5));
    let mut me = candidate("me");
    assert_eq!(me.release(wall(5)), None);
    me.saw(Some(held("you", 4)), start);
    assert_eq!(me.release(wall(5)), None);
}
