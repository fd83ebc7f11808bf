//! Years of rotations in simulated time: replicas that read late or stop in the middle, API servers that hear late, and at every moment
//! what is served is trusted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what was measured shows with --nocapture")]

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::simulated_shelf::{DAY, HOUR, START, SimulatedShelf, text, verify, wanted};
use mcm_migration_webhook::serving::UnixTime;
use mcm_migration_webhook::serving::certificates::rotation::{Lifetimes, Published, Step, Wanted, next_step, take};
use mcm_migration_webhook::serving::certificates::{RotationError, Round, SharedTls, round};

/// xorshift64*: the simulation is the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit
    }

    /// Mostly up to the first, one time in twenty up to the second.
    fn wait(&mut self, [usual, rare]: [Duration; 2]) -> Duration {
        let limit = if self.below(20) == 0 { rare } else { usual };
        Duration::from_secs(self.below(limit.as_secs()) + 1)
    }
}

type RoundFuture = Pin<Box<dyn Future<Output = Result<Round, RotationError>>>>;

struct Replica {
    serves: Option<SharedTls>,
    round: Option<RoundFuture>,
    wakes: UnixTime,
}

/// How long things live, and how late everybody is.
#[derive(Clone)]
struct World {
    wanted: Wanted,
    span: Duration,
    /// Between two rounds of a replica: usually up to the first, sometimes up to the second.
    rests: [Duration; 2],
    /// Between two calls of a round.
    stops: [Duration; 2],
}

impl World {
    fn years() -> Self {
        let rests = [18 * HOUR, 10 * DAY];
        Self { wanted: wanted(), span: 3 * 365 * DAY, rests, stops: [Duration::from_secs(3), 2 * DAY] }
    }

    /// Many rotations, and replicas that keep getting in each other's way.
    fn rush() -> Self {
        let lifetimes = Lifetimes { authority: 12 * DAY, leaf: 4 * DAY, ..Lifetimes::default() };
        let (rests, stops) = ([HOUR / 2, 10 * HOUR], [Duration::from_secs(600), 4 * HOUR]);
        Self { wanted: Wanted { lifetimes, ..wanted() }, span: 100 * DAY, rests, stops }
    }

    /// Lets two replicas live in it; returns how many CAs and certificates they came to serve.
    fn run(&self, seed: u64) -> (usize, usize) {
        let mut dice = Dice(seed);
        let replica = || Replica { serves: None, round: None, wakes: START };
        let mut simulation = Simulation {
            world: self.clone(),
            shelf: SimulatedShelf::new(),
            replicas: vec![replica(), replica()],
            authorities: HashSet::new(),
            leaves: HashSet::new(),
            met: HashMap::new(),
            checked: 0,
        };
        while simulation.shelf.now() < START.plus(self.span) {
            simulation.step(&mut dice);
        }
        simulation.verify(seed);
        let (authorities, leaves) = (simulation.authorities.len(), simulation.leaves.len());
        println!(
            "seed {seed}: {} checks of {} kinds, {authorities} CAs, {leaves} certificates",
            simulation.checked,
            simulation.met.len()
        );
        (authorities, leaves)
    }
}

struct Simulation {
    world: World,
    shelf: SimulatedShelf,
    replicas: Vec<Replica>,
    authorities: HashSet<String>,
    leaves: HashSet<String>,
    /// What was served before an API server that knew a bundle, with what was served.
    met: HashMap<(String, String), Met>,
    checked: usize,
}

/// When a certificate met a bundle for the first time and for the last. Certificates hold from one moment to another: what holds at both ends
/// holds in between, so that it is verified twice and not at each moment.
struct Met {
    serves: SharedTls,
    first: UnixTime,
    last: UnixTime,
}

impl Simulation {
    /// Notes what every replica serves, for an API server that knows the newest bundle, and for one that hears as late as is allowed.
    fn check(&mut self) {
        let settling = Lifetimes::default().settling;
        for lag in [Duration::ZERO, settling.checked_sub(Duration::from_secs(1)).unwrap()] {
            let (now, bundle) = self.shelf.with(|cluster| {
                let mut known = cluster.history.iter().rev();
                let known = known.find(|(since, _)| *since <= cluster.now.minus(lag));
                (cluster.now, known.map(|(_, bundle)| bundle.clone()).unwrap_or_default())
            });
            if bundle.is_empty() {
                continue;
            }
            for serves in self.replicas.iter().filter_map(|one| one.serves.as_ref()) {
                let met = Met { serves: serves.clone(), first: now, last: now };
                self.met.entry((text(serves, "tls.crt"), bundle.clone())).or_insert(met).last = now;
                self.checked += 1;
            }
        }
    }

    /// Each certificate verified whenever it was served.
    fn verify(&self, seed: u64) {
        for ((_, bundle), met) in &self.met {
            for at in [met.first, met.last] {
                if let Err(error) = verify(&met.serves, bundle, at) {
                    panic!("seed {seed}, {at}: {error}\n{:?}\n{bundle}", met.serves);
                }
            }
        }
    }

    /// Lets the replica that wakes first go on until its next pause.
    fn step(&mut self, dice: &mut Dice) {
        let first = (0..self.replicas.len()).min_by_key(|&number| self.replicas[number].wakes).unwrap();
        let now = self.replicas[first].wakes;
        self.shelf.with(|cluster| cluster.now = now);
        self.check();
        let replica = &mut self.replicas[first];
        let mut future = replica.round.take().unwrap_or_else(|| {
            // A process that has just been started knows nothing; what it served ended with it.
            let remembered = replica.serves.clone().filter(|_| dice.below(30) != 0);
            let (cluster, wanted) = (self.shelf.clone(), self.world.wanted.clone());
            Box::pin(async move {
                let clock = cluster.clone();
                round(&cluster, &wanted, remembered.as_ref(), || clock.now()).await
            })
        });
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => {
                replica.wakes = now.plus(dice.wait(self.world.stops));
                replica.round = Some(future);
            }
            Poll::Ready(ended) => {
                let Round { state, published } = ended.unwrap();
                published.unwrap();
                self.authorities.insert(text(&state, "ca.key"));
                self.leaves.insert(text(&state, "tls.crt"));
                replica.serves = Some(state);
                replica.wakes = now.plus(dice.wait(self.world.rests));
            }
        }
        self.check();
    }
}

const SEEDS: u64 = if cfg!(feature = "long") { 20 } else { 2 };

#[test]
fn for_three_years_every_certificate_served_is_trusted_by_every_api_server() {
    for seed in 1..=SEEDS {
        let (authorities, leaves) = World::years().run(seed);
        assert_eq!(authorities, 3, "a new CA every 16 months");
        assert!(leaves > 15, "{leaves} certificates");
    }
}

#[test]
fn however_replicas_get_in_each_others_way_every_certificate_served_is_trusted() {
    for seed in 1..=SEEDS {
        let (authorities, leaves) = World::rush().run(seed);
        assert!(authorities > 10 && leaves > 35, "{authorities} CAs, {leaves} certificates");
    }
}

#[test]
fn two_replicas_that_start_together_share_one_authority() {
    for seed in 1..=20 {
        let mut dice = Dice(seed);
        let shelf = SimulatedShelf::new();
        let start = || -> RoundFuture {
            let shelf = shelf.clone();
            Box::pin(async move { round(&shelf, &wanted(), None, || START).await })
        };
        let (mut rounds, mut ended) = ([Some(start()), Some(start()), Some(start())], Vec::new());
        while ended.len() < rounds.len() {
            let number = usize::try_from(dice.below(3)).unwrap();
            if let Some(future) = &mut rounds[number]
                && let Poll::Ready(round) = future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                ended.push(round.unwrap().state);
                rounds[number] = None;
            }
        }
        let keys: HashSet<_> = ended.iter().map(|state| text(state, "tls.key")).collect();
        assert_eq!(keys.len(), 1, "seed {seed}");
        assert_eq!(shelf.with(|cluster| cluster.bundle.clone()), ended[0].bundle());
    }
}

#[test]
fn a_new_authority_settles_anew_after_it_was_missing_in_a_configuration() {
    let (shelf, wanted) = (SimulatedShelf::new(), wanted());
    let first = shelf.round(&wanted, None).unwrap().state;
    let due = START.plus(wanted.lifetimes.authority / 3 * 2).plus(HOUR);
    shelf.with(|cluster| cluster.now = due);
    let appended = shelf.round(&wanted, Some(&first)).unwrap().state;
    assert_eq!(appended.bundle().matches("BEGIN").count(), 2, "old and new");
    shelf.round(&wanted, None).unwrap();

    // Just before the new one has settled, somebody puts the old bundle back.
    shelf.with(|cluster| cluster.now = due.plus(wanted.lifetimes.settling).minus(Duration::from_secs(1)));
    shelf.set_bundle(&first.bundle());
    shelf.round(&wanted, None).unwrap();
    assert_eq!(shelf.with(|cluster| cluster.bundle.clone()), appended.bundle(), "put right");
    shelf.with(|cluster| cluster.now = due.plus(wanted.lifetimes.settling * 3 / 2));
    let settling = shelf.round(&wanted, None).unwrap().state;
    assert_eq!(text(&settling, "ca.key"), text(&first, "ca.key"), "the old one still signs");
    shelf.with(|cluster| cluster.now = due.plus(wanted.lifetimes.settling * 3));
    let settled = shelf.round(&wanted, None).unwrap().state;
    assert_eq!(text(&settled, "ca.key"), text(&appended, "next-ca.key"), "the new one signs");
    assert_eq!(verify(&settled, &appended.bundle(), shelf.now()), Ok(()));
}

#[test]
fn a_replica_that_slept_through_a_change_of_authority_undoes_nothing() {
    // Before it slept it had made this many calls; before that, there was something to publish or there was not.
    for (calls, wiped) in [0, 1, 2, 3].into_iter().flat_map(|calls| [(calls, false), (calls, true)]) {
        let (shelf, wanted) = (SimulatedShelf::new(), wanted());
        let first = shelf.round(&wanted, None).unwrap().state;
        if wiped {
            shelf.set_bundle("");
        }
        let due = START.plus(wanted.lifetimes.authority / 3 * 2).plus(HOUR);
        let mut sleeper = Box::pin(round(&shelf, &wanted, Some(&first), || START));
        let mut ended = false;
        let mut wake = || {
            ended = ended || sleeper.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        };
        (0..calls).for_each(|_| wake());
        for later in [Duration::ZERO, HOUR, 3 * HOUR, 5 * HOUR] {
            shelf.with(|cluster| cluster.now = due.plus(later));
            shelf.round(&wanted, None).unwrap();
        }
        let changed = shelf.round(&wanted, None).unwrap().state;
        assert_ne!(text(&changed, "ca.key"), text(&first, "ca.key"));
        for _ in 0..20 {
            wake();
            let bundle = shelf.with(|cluster| cluster.bundle.clone());
            assert_eq!(verify(&changed, &bundle, shelf.now()), Ok(()), "{calls} calls, {wiped}");
        }
        assert!(ended, "the sleeper's round came to no end");
    }
}

#[test]
fn without_a_look_at_the_configurations_a_new_authority_never_signs() {
    let wanted = wanted();
    let state = take(Step::Found, None, &wanted, START).unwrap();
    let now = START.plus(wanted.lifetimes.authority / 10 * 8);
    let state = take(Step::AppendNext, Some(state), &wanted, now).unwrap();
    let state = take(Step::BeginSettling, Some(state), &wanted, now).unwrap();
    let later = now.plus(DAY);
    assert_eq!(next_step(Some(&state), &wanted, Published::Everywhere, later), Some(Step::PromoteNext));
    // The certificate goes on from the old CA.
    assert_eq!(next_step(Some(&state), &wanted, Published::Unknown, later), Some(Step::Reissue));
    let state = take(Step::Reissue, Some(state), &wanted, later).unwrap();
    assert_eq!(next_step(Some(&state), &wanted, Published::Unknown, later), None);
}

#[test]
fn a_secret_that_is_deleted_comes_back_with_the_same_keys() {
    let (shelf, wanted) = (SimulatedShelf::new(), wanted());
    let before = shelf.round(&wanted, None).unwrap().state;
    shelf.with(|cluster| {
        cluster.secret.clear();
        cluster.secret_version += 1;
    });
    let after = shelf.round(&wanted, Some(&before)).unwrap().state;
    assert_eq!(after.data(), before.data());
    assert_eq!(shelf.with(|cluster| cluster.secret.clone()), before.data());
}

#[test]
fn a_secret_of_somebody_else_is_left_alone() {
    let (shelf, wanted) = (SimulatedShelf::new(), wanted());
    let ours = shelf.round(&wanted, None).unwrap().state;
    // What cert-manager writes: no key of the CA.
    let mut theirs = ours.data();
    theirs.remove("ca.key");
    shelf.with(|cluster| cluster.secret = theirs.clone());
    let error = shelf.round(&wanted, Some(&ours)).unwrap_err().to_string();
    assert!(error.contains("not made by this program") && error.contains("ca.key"), "{error}");
    assert_eq!(shelf.with(|cluster| cluster.secret.clone()), theirs);
}

#[test]
fn replicas_that_want_different_names_do_not_overwrite_each_other_for_ever() {
    let (shelf, old) = (SimulatedShelf::new(), wanted());
    let mut new = old.clone();
    new.names.insert("192.0.2.7".to_owned());
    shelf.round(&old, None).unwrap();
    let renamed = shelf.round(&new, None).unwrap().state;
    for wanted in [&old, &new, &old] {
        let state = shelf.round(wanted, None).unwrap().state;
        assert_eq!(text(&state, "tls.crt"), text(&renamed, "tls.crt"));
    }
}

#[test]
fn nothing_that_is_printed_for_debugging_holds_a_key() {
    let state = take(Step::Found, None, &wanted(), START).unwrap();
    let state = take(Step::AppendNext, Some(state), &wanted(), START).unwrap();
    let printed = format!("{state:?} {:?}", state.pair());
    for key in ["ca.key", "next-ca.key", "tls.key"] {
        let secret = text(&state, key).lines().nth(1).unwrap().to_owned();
        assert!(!printed.contains(&secret[..16]), "{key} in {printed}");
    }
}
