//! Candidates, an API server and a network that delays and loses, in virtual time: whatever happens, one leads at most.

use super::*;
use proptest::prelude::*;

const LEASE: Duration = Duration::from_secs(15);
const RENEW: Duration = Duration::from_secs(10);
const PLAYERS: usize = 3;

struct Model {
    now: Instant,
    /// Microseconds.
    wall: i64,
    stored: Option<(u64, Record)>,
    versions: u64,
    players: Vec<Player>,
    /// Writes whose sender has given them up.
    strays: Vec<Write>,
    terms: usize,
}

struct Player {
    candidate: Candidate,
    /// The version that the next write replaces.
    version: Option<u64>,
    call: Option<Call>,
}

enum Call {
    Read,
    ReadAnswer(Option<(u64, Record)>),
    Write(Write),
    WriteAnswer(Option<Instant>, Option<(u64, Record)>),
}

struct Write {
    /// `None` for one that takes nothing.
    sent: Option<Instant>,
    over: Option<u64>,
    record: Record,
}

#[derive(Debug, Clone)]
enum Event {
    /// The candidate starts a call, or its call gets one step further.
    Go(usize),
    /// The candidate gives its call up; a write may arrive all the same.
    GiveUp(usize),
    /// A write that was given up arrives.
    Stray,
    /// The leader's work has ended and it releases the Lease.
    Release(usize),
    /// Somebody changes the metadata.
    Touch,
    /// Somebody deletes the Lease.
    Delete,
    /// The wall clock jumps by so many seconds.
    Jump(i64),
}

impl Model {
    fn new() -> Self {
        let player = |player| {
            let identity = format!("player-{player}");
            let config = ElectionConfig::new("n", "l", identity, LEASE, RENEW, Duration::from_secs(2)).unwrap();
            Player { candidate: Candidate::new(&config), version: None, call: None }
        };
        let players = (0..PLAYERS).map(player).collect();
        let wall = 1_700_000_000_000_000;
        let (stored, strays) = (None, Vec::new());
        Self { now: Instant::now(), wall, stored, versions: 0, players, strays, terms: 0 }
    }

    fn store(&mut self, write: Write) -> Option<(u64, Record)> {
        if self.stored.as_ref().map(|(version, _)| *version) != write.over {
            return None;
        }
        self.versions += 1;
        self.stored = Some((self.versions, write.record));
        self.stored.clone()
    }

    fn handle(&mut self, event: &Event) {
        match *event {
            Event::Go(index) => {
                let call = self.players[index].call.take();
                self.players[index].call = self.go(index, call);
            }
            Event::GiveUp(index) => {
                if let Some(Call::Write(write)) = self.players[index].call.take() {
                    self.strays.push(write);
                }
            }
            Event::Stray => {
                if let Some(write) = self.strays.pop() {
                    self.store(write);
                }
            }
            Event::Release(index) => self.release(index),
            Event::Touch => {
                self.versions += 1;
                if let Some((version, _)) = &mut self.stored {
                    *version = self.versions;
                }
            }
            Event::Delete => self.stored = None,
            Event::Jump(seconds) => self.wall += seconds * 1_000_000,
        }
    }

    fn go(&mut self, index: usize, call: Option<Call>) -> Option<Call> {
        let now = self.now;
        let player = &mut self.players[index];
        match call {
            None if player.candidate.deadline().is_some() => self.act(index),
            None | Some(Call::WriteAnswer(_, None)) => Some(Call::Read),
            Some(Call::Read) => Some(Call::ReadAnswer(self.stored.clone())),
            Some(Call::ReadAnswer(stored)) => {
                player.version = stored.as_ref().map(|(version, _)| *version);
                player.candidate.saw(stored.map(|(_, record)| record), now);
                self.act(index)
            }
            Some(Call::Write(write)) => Some(Call::WriteAnswer(write.sent, self.store(write))),
            Some(Call::WriteAnswer(sent, Some((version, record)))) => {
                player.version = Some(version);
                let Some(sent) = sent else {
                    player.candidate.saw(Some(record), now);
                    return None;
                };
                self.terms += usize::from(player.candidate.deadline().is_none());
                if player.candidate.wrote(record, sent, now).is_none() {
                    player.candidate.follow();
                }
                None
            }
        }
    }

    fn act(&mut self, index: usize) -> Option<Call> {
        let player = &mut self.players[index];
        let write = |over, record| Some(Call::Write(Write { sent: Some(self.now), over, record }));
        match player.candidate.next(self.now, Timestamp::from_microsecond(self.wall).unwrap()) {
            Step::Prepare(record) => Some(Call::Write(Write { sent: None, over: None, record })),
            Step::Create(record) => write(None, record),
            Step::Replace(record) => write(player.version, record),
            Step::Lost(_) => {
                player.candidate.follow();
                None
            }
            Step::Look | Step::Wait(_) => None,
        }
    }

    fn release(&mut self, index: usize) {
        let player = &mut self.players[index];
        player.candidate.follow();
        player.call = None;
        let over = player.version;
        if let Some(record) = player.candidate.release(Timestamp::from_microsecond(self.wall).unwrap()) {
            self.store(Write { sent: None, over, record });
        }
    }

    fn leaders(&self) -> usize {
        let leads = |player: &&Player| player.candidate.deadline().is_some_and(|deadline| deadline > self.now);
        self.players.iter().filter(leads).count()
    }
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        40 => (0..PLAYERS).prop_map(Event::Go),
        3 => (0..PLAYERS).prop_map(Event::GiveUp),
        2 => Just(Event::Stray),
        1 => (0..PLAYERS).prop_map(Event::Release),
        1 => Just(Event::Touch),
        1 => Just(Event::Delete),
        1 => (-100_000_000..100_000_000_i64).prop_map(Event::Jump),
    ]
}

/// Events with the milliseconds that pass before each.
fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let pause = prop_oneof![6 => 0..1000_u64, 2 => 1000..5000_u64, 1 => 5000..20_000_u64];
    prop::collection::vec((pause, event()), 20..200)
}

fn play(events: &[(u64, Event)]) -> Model {
    let mut model = Model::new();
    for (pause, event) in events {
        model.now += Duration::from_millis(*pause);
        model.wall += i64::try_from(*pause).unwrap() * 1000;
        model.handle(event);
        assert!(model.leaders() <= 1, "{} lead after {event:?}", model.leaders());
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn one_leads_at_most(events in events()) {
        play(&events);
    }
}

#[test]
fn the_model_has_terms_that_change() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let terms = |_| play(&events().new_tree(&mut runner).unwrap().current()).terms;
    let runs: Vec<usize> = (0..500).map(terms).collect();
    assert!(runs.iter().filter(|terms| **terms >= 2).count() > 100, "{runs:?}");
}
