//! Two replicas of the side task, of which one leads: by the contract of the election, whose own code has its own tests. One that freezes
//! together with its clock goes on for some seconds beside its successor; one that crashes leaves requests behind that are on their way.

use std::time::Duration;

use mcm_migration_core::plan::Moment;
use mcm_migration_webhook::sidetask::{Clock as _, Fence};
use rand::RngExt;

use crate::fault::Fault;
use crate::journal::Kind;
use crate::mischief;
use crate::run::{self, Start};
use crate::time::{ProcessClock, awake};
use crate::world::{Shared, World, lock};

/// As the product has them by default.
const LEASE_DURATION: Duration = Duration::from_secs(15);
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
const RENEW_EVERY: Duration = Duration::from_secs(2);
/// For how long the caches count as fresh without a word from the API server.
const CACHE_MAX_AGE: Duration = Duration::from_secs(150);

/// One process.
#[derive(Default, Clone)]
pub struct Replica {
    /// The last time that it stood still.
    pub frozen_from: Moment,
    pub frozen_until: Moment,
    /// Whether its clock stood still as well that time, and for how long it did so before.
    clock_stands: bool,
    stood: Duration,
    /// The last time that it did not reach the API server.
    cut_from: Moment,
    cut_until: Moment,
    /// Until when its caches show what was there before it froze.
    old_until: Moment,
    /// The right to write, by its own clock.
    term: u64,
    deadline: Moment,
    /// Which renewal of the Lease it saw last, and since when, by its own clock.
    saw: Option<(u64, Moment)>,
}

impl Replica {
    /// For how long its clock has stood still.
    fn stood_until(&self, now: Moment) -> Duration {
        let last = now.min(self.frozen_until).saturating_sub(self.frozen_from);
        self.stood + if self.clock_stands { last } else { Duration::ZERO }
    }
}

/// The Lease of the side task.
#[derive(Default)]
pub struct Election {
    holder: Option<usize>,
    renewals: u64,
    terms: u64,
}

impl World {
    pub fn process_now(&self, replica: usize) -> Moment {
        let (now, replica) = (self.now(), &self.replicas[replica]);
        now.saturating_sub(replica.stood_until(now))
    }

    pub fn is_cut_off(&self, replica: usize) -> bool {
        self.now() < self.replicas[replica].cut_until
    }

    /// The moment that caches show which take up nothing, and whether they are known to be old.
    pub fn cache_stands(&self, replica: usize) -> Option<(Moment, bool)> {
        let (now, it) = (self.now(), &self.replicas[replica]);
        if now < it.cut_until {
            return Some((it.cut_from, now.saturating_sub(it.cut_from) > CACHE_MAX_AGE));
        }
        let frozen = it.frozen_until.saturating_sub(it.frozen_from);
        (now < it.old_until).then_some((it.frozen_from, !it.clock_stands && frozen > CACHE_MAX_AGE))
    }

    /// A write is sent.
    pub fn sent(&mut self, replica: usize, what: &str) {
        if self.process_now(replica) >= self.replicas[replica].deadline {
            self.violate(&format!("{what} was sent by {replica}, which does not lead"));
        }
    }

    /// Renews the Lease, or takes it.
    fn campaign(&mut self, replica: usize) -> bool {
        let lost = self.weather.lost;
        if self.is_cut_off(replica) || self.chance(lost) {
            return false;
        }
        let (now, renewals) = (self.process_now(replica), self.election.renewals);
        let it = &mut self.replicas[replica];
        if it.saw.is_none_or(|(saw, _)| saw != renewals) {
            it.saw = Some((renewals, now));
        }
        let expired = it.saw.is_some_and(|(_, since)| now.saturating_sub(since) >= LEASE_DURATION);
        let free = self.election.holder.is_none() || expired;
        let may = self.election.holder == Some(replica) && now < it.deadline || free;
        if may {
            self.election.holder = Some(replica);
            self.election.renewals += 1;
            self.replicas[replica].deadline = now.saturating_add(RENEW_DEADLINE);
            self.step(Kind::Leader, format_args!("{replica} holds the Lease"));
        }
        may
    }
}

/// The right to write, for one term.
#[derive(Clone)]
pub struct Term {
    world: Shared,
    replica: usize,
    number: u64,
}

impl Fence for Term {
    fn holds(&self) -> bool {
        let world = lock(&self.world);
        let replica = &world.replicas[self.replica];
        replica.term == self.number
            && (world.fault == Some(Fault::Fence) || world.process_now(self.replica) < replica.deadline)
    }
}

/// How a term ends, if nothing else ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Crash,
    HandOver,
    Lost,
}

/// One replica, for ever: it follows, leads, and begins again.
pub async fn run(world: Shared, number: usize, start: Start) {
    let clock = ProcessClock::new(&world, number);
    let side_task = run::side_task(&world, number, start);
    loop {
        while !lock(&world).campaign(number) {
            clock.sleep(RENEW_EVERY).await;
        }
        let term = {
            let mut world = lock(&world);
            world.election.terms += 1;
            let term = world.election.terms;
            world.replicas[number].term = term;
            world.leads_since = Some(world.now());
            Term { world: clock.world.clone(), replica: number, number: term }
        };
        let end = {
            let lead = side_task.lead(term);
            tokio::pin!(lead);
            let mut end = tokio::select! {
                biased;
                end = script(&world, number, start) => end,
                () = keep(&clock) => End::Lost,
                () = &mut lead => End::Lost,
            };
            let finds_out = end != End::Crash && lock(&world).chance(0.5);
            if end == End::HandOver && finds_out {
                lock(&world).replicas[number].term = 0;
            }
            // Sometimes its work is cancelled, sometimes it has to find out by itself.
            if finds_out {
                lead.await;
            } else if end == End::Lost && lock(&world).chance(0.2) {
                end = End::Crash;
            }
            end
        };
        {
            let mut world = lock(&world);
            world.step(Kind::Leader, format_args!("{number} leads no more: {end:?}"));
            let now = world.now();
            world.replicas[number].deadline = Moment::ZERO;
            if world.election.holder == Some(number) {
                world.leads_since = None;
                if end == End::HandOver {
                    world.election.holder = None;
                }
            }
            if end == End::Crash {
                // A new process knows nothing.
                let Replica { cut_from, cut_until, .. } = world.replicas[number];
                let stood = world.replicas[number].stood_until(now);
                world.replicas[number] = Replica { stood, cut_from, cut_until, ..Replica::default() };
                world.shown.retain(|(replica, _), _| *replica != number);
            }
        }
        let pause = lock(&world).rng.random_range(1..60);
        clock.sleep(Duration::from_secs(if end == End::Lost { 2 } else { pause })).await;
    }
}

/// Renews until that fails for too long.
async fn keep(clock: &ProcessClock) {
    let (world, replica) = (&clock.world, clock.replica);
    loop {
        clock.sleep(RENEW_EVERY).await;
        let mut world = lock(world);
        let other = world.election.holder != Some(replica) && !world.is_cut_off(replica);
        if world.fault == Some(Fault::Fence) && !world.is_cut_off(replica) {
            world.campaign(replica);
            continue;
        }
        if other || (!world.campaign(replica) && world.process_now(replica) >= world.replicas[replica].deadline) {
            return;
        }
    }
}

/// What befalls a leader.
async fn script(world: &Shared, number: usize, start: Start) -> End {
    while start.comes_back == Some(true) {
        // Shorter than each new leader looks at the Nodes before it arms anything.
        let length = lock(world).rng.random_range(60..110);
        tokio::time::sleep(Duration::from_secs(length)).await;
        let world = lock(world);
        if world.now() < world.restless_until {
            return End::HandOver;
        }
    }
    loop {
        let (length, what) = {
            let mut world = lock(world);
            let now = world.now();
            let wild = start.mischievous && now < mischief::UNTIL;
            let short = wild && world.chance(0.5);
            let shortest = if start.weather.lost > 0.0 { 1800 } else { 100_000 };
            let length = world.rng.random_range(if short { 10..900 } else { shortest..200_000 });
            (length, world.rng.random_range(if wild { 0..5 } else { 0..2 }))
        };
        tokio::time::sleep(Duration::from_secs(length)).await;
        match what {
            0 => return End::Crash,
            1 => return End::HandOver,
            2 | 3 if lock(world).now() < mischief::UNTIL => freeze(world, number, what == 2).await,
            4 if lock(world).now() < mischief::UNTIL => cut_off(world, number).await,
            _ => {}
        }
    }
}

/// The process stands still for a while.
async fn freeze(world: &Shared, number: usize, clock_stands: bool) {
    {
        let mut world = lock(world);
        let now = world.now();
        let long = world.chance(0.5);
        let length = Duration::from_millis(world.rng.random_range(if long { 10_000..900_000 } else { 500..20_000 }));
        let old = Duration::from_secs(world.rng.random_range(0..45));
        let it = &mut world.replicas[number];
        it.stood = it.stood_until(now);
        (it.frozen_from, it.frozen_until, it.clock_stands) = (now, now + length, clock_stands);
        it.old_until = it.frozen_until + old;
        world.leads_since = None;
        world.step(Kind::Leader, format_args!("{number} freezes for {length:?}, its clock too: {clock_stands}"));
    }
    awake(world, number).await;
    let mut world = lock(world);
    world.leads_since = Some(world.now());
    world.step(Kind::Leader, format_args!("{number} wakes"));
}

/// The process reaches the cloud, and not the API server.
async fn cut_off(world: &Shared, number: usize) {
    let length = {
        let mut world = lock(world);
        let now = world.now();
        let long = world.chance(0.5);
        let length = Duration::from_secs(world.rng.random_range(if long { 60..1200 } else { 1..20 }));
        let it = &mut world.replicas[number];
        (it.cut_from, it.cut_until) = (now, now + length);
        world.leads_since = None;
        world.step(Kind::Leader, format_args!("{number} is cut off from the API server for {length:?}"));
        length
    };
    tokio::time::sleep(length).await;
    let mut world = lock(world);
    world.leads_since = Some(world.now());
    world.step(Kind::Leader, format_args!("{number} reaches the API server again"));
}
