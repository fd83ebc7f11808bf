//! Searches, run side by side, and what they found.
#![allow(clippy::print_stdout, reason = "what each costs is for the reader of the log")]
#![allow(clippy::large_types_passed_by_value, reason = "a configuration is handed over a hundred times")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::config::Config;
use crate::gates::Out;
use crate::model::World;
use crate::removals::Removal;
use crate::render;
use crate::search::{Found, search};

/// What takes longest comes first, so that no thread ends up alone with it; the order changes nothing else.
const LARGEST: [&str; 9] = [
    "full-three",
    "full",
    "move",
    "roll-out-and-back",
    "rollback-roll-out",
    "back-and-made",
    "rollback-left",
    "rollback-freeze-and-made",
    "bad-case-alive",
];

/// One search.
#[derive(Clone, Debug)]
pub struct Job {
    /// The configuration.
    pub config: Config,
    /// The gates that are out.
    pub out: Out,
    /// What it is called.
    pub title: String,
}

/// A configuration, with every gate.
#[must_use]
pub fn job(config: Config) -> Job {
    Job { config, out: Out::default(), title: config.name.to_owned() }
}

/// A configuration without some gates.
#[must_use]
pub fn removed(removal: &Removal) -> Job {
    let said: Vec<&str> = removal.gates.iter().map(|gate| gate.said()).collect();
    Job { config: (removal.config)(), out: Out::of(removal.gates), title: said.join(", together with ") }
}

/// Each of them once, on as many threads as there are; one thread each, so that a counterexample is the shortest.
#[must_use]
pub fn run(jobs: &[Job]) -> Vec<Found> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|index| {
        let rank = LARGEST.iter().position(|name| *name == jobs[*index].config.name);
        rank.unwrap_or(LARGEST.len())
    });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed)).copied() {
                    let job = &jobs[index];
                    let began = Instant::now();
                    let one = search(World::new(job.config, job.out), 1);
                    println!(
                        "{} [{}]: {} states, {} steps, depth {}, {:.1} s{}",
                        job.title,
                        job.config.name,
                        one.unique,
                        one.steps,
                        one.depth,
                        began.elapsed().as_secs_f32(),
                        if one.broken.is_empty() { "" } else { ", a counterexample" }
                    );
                    found.lock().unwrap().insert(index, one);
                }
            });
        }
    });
    found.into_inner().unwrap().into_values().collect()
}

/// The first counterexample, as a reader tells it; nothing where there is none.
#[must_use]
pub fn tell(job: &Job, found: &Found) -> String {
    let seeds = job.config.start.budget.moves > 0;
    let Some((invariant, steps)) = found.broken.first() else { return String::new() };
    let mut text = format!("Configuration `{}`. Broken: {invariant}.\n\n", job.config.name);
    for (n, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", n + 1, render::step(*step, seeds));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::LARGEST;
    use crate::catalogue;
    use crate::removals::{BITES, HELD};

    #[test]
    fn what_comes_first_is_searched() {
        let removals = BITES.iter().chain(HELD).map(|removal| (removal.config)());
        let limits = catalogue::limits().into_iter().map(|(config, _)| config);
        let apart = catalogue::long().into_iter().chain(catalogue::wide());
        let searched = catalogue::all().into_iter().chain(apart).chain(removals).chain(limits);
        let searched: BTreeSet<&str> = searched.map(|config| config.name).collect();
        assert_eq!(LARGEST.iter().find(|name| !searched.contains(*name)), None, "of {searched:?}");
    }
}
