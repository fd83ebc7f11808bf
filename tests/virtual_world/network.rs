//! What becomes of a call between a replica and the API server or the cloud.
//!
//! A request may never arrive, arrive late, after its sender has given up or died, or arrive twice; an answer may be lost.

use std::time::Duration;

use mcm_migration_core::plan::Moment;
use rand::RngExt;

use crate::journal::Kind;
use crate::time::awake;
use crate::world::{Shared, World, lock};

/// Who is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum To {
    Cluster,
    Cloud,
}

impl To {
    /// How long an answer is waited for.
    pub fn patience(self) -> Duration {
        Duration::from_secs(match self {
            Self::Cluster => 10,
            Self::Cloud => 30,
        })
    }
}

/// What is to become of one call, drawn when it is sent.
#[derive(Clone, Copy)]
struct Fate {
    there: Duration,
    arrives: bool,
    answered: bool,
    again: Option<Duration>,
}

impl World {
    fn fate(&mut self, replica: usize, to: To, writes: bool) -> Fate {
        let mut there = match to {
            To::Cluster => {
                let longest = u64::try_from(self.longest_call().as_millis()).unwrap();
                let shortest = if self.slow > 1 { longest / 4 } else { 1 };
                self.rng.random_range(shortest..=longest)
            }
            To::Cloud => self.rng.random_range(20..=if self.weather.lost > 0.0 { 3000 } else { 60 }),
        };
        let weather = self.weather;
        if writes && self.chance(weather.late) {
            there = self.rng.random_range(1000..40_000);
        }
        let again = (writes && self.chance(weather.twice)).then(|| self.rng.random_range(1..20_000));
        let reached = to == To::Cloud || !self.is_cut_off(replica);
        Fate {
            there: Duration::from_millis(there),
            arrives: !self.chance(weather.lost) && reached,
            answered: !self.chance(weather.lost),
            again: again.map(Duration::from_millis),
        }
    }

    /// When what is sent now was decided on, for a process that may have stood still in between.
    fn decided(&self, replica: usize) -> Moment {
        let (now, replica) = (self.now(), &self.replicas[replica]);
        let just_woke = now.saturating_sub(replica.frozen_until) < Duration::from_secs(2) + self.longest_call() * 4;
        if just_woke && !replica.frozen_until.is_zero() { replica.frozen_from.min(now) } else { now }
    }

    fn answer<T, E: std::fmt::Display>(&mut self, replica: usize, to: To, what: &str, again: bool, it: &Result<T, E>) {
        let again = if again { " once more" } else { "" };
        match it {
            Ok(_) => self.step(Kind::Request, format_args!("{replica} {to:?} {what}{again}")),
            Err(error) => self.step(Kind::Request, format_args!("{replica} {to:?} {what}{again}: {error}")),
        }
    }
}

/// A call that only reads. None where there was no answer.
pub async fn read<T, E: std::fmt::Display>(
    world: &Shared,
    replica: usize,
    to: To,
    what: &str,
    read: impl FnOnce(&mut World) -> Result<T, E>,
) -> Option<Result<T, E>> {
    let fate = lock(world).fate(replica, to, false);
    tokio::time::sleep(fate.there).await;
    let answer = fate.arrives.then(|| {
        let mut world = lock(world);
        let answer = read(&mut world);
        world.answer(replica, to, what, false, &answer);
        answer
    });
    finish(world, replica, to, what, answer.filter(|_| fate.answered)).await
}

/// A call that writes: once it is sent, it takes its way whether its sender lives or not. `write` is told when it was decided on.
pub async fn write<T, E>(
    world: &Shared,
    replica: usize,
    to: To,
    what: String,
    mut write: impl FnMut(&mut World, Moment) -> Result<T, E> + Send + 'static,
) -> Option<Result<T, E>>
where
    T: Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    let (fate, decided) = {
        let mut world = lock(world);
        world.sent(replica, &what);
        (world.fate(replica, to, true), world.decided(replica))
    };
    let (sender, answer) = tokio::sync::oneshot::channel();
    let (there, name) = (world.clone(), what.clone());
    tokio::spawn(async move {
        tokio::time::sleep(fate.there).await;
        let mut carry_out = |again: bool| {
            let mut world = lock(&there);
            let answer = write(&mut world, decided);
            world.answer(replica, to, &name, again, &answer);
            answer
        };
        let answer = fate.arrives.then(|| carry_out(false));
        if let Some(pause) = fate.again.filter(|_| fate.arrives) {
            // Whoever carries it out twice answers once: now and then with what the second time came to.
            if pause < Duration::from_secs(1) {
                tokio::time::sleep(pause).await;
                drop(sender.send(Some(carry_out(true))));
            } else {
                drop(sender.send(answer));
                tokio::time::sleep(pause).await;
                drop(carry_out(true));
            }
        } else {
            drop(sender.send(answer));
        }
    });
    let answer = tokio::time::timeout(to.patience(), answer).await.ok().and_then(Result::ok).flatten();
    finish(world, replica, to, &what, answer.filter(|_| fate.answered)).await
}

async fn finish<T>(world: &Shared, replica: usize, to: To, what: &str, answer: Option<T>) -> Option<T> {
    awake(world, replica).await;
    let cut_off = to == To::Cluster && lock(world).is_cut_off(replica);
    if cut_off {
        // Nothing comes back: it is waited for in vain.
        tokio::time::sleep(to.patience()).await;
        awake(world, replica).await;
    }
    let answer = answer.filter(|_| !cut_off);
    let lost = if answer.is_none() { ": no answer" } else { "" };
    lock(world).step(Kind::Answer, format_args!("{replica} {to:?} {what}{lost}"));
    answer
}
