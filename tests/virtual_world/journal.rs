//! Everything that happened in a world, in order: counted, hashed, and the last of it kept for whoever reads a failure.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::time::Duration;

/// How many of the last steps are kept.
const KEPT: usize = 60;

/// What a step is: something that was dispatched to somebody in the world.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A request reaches the API server or the cloud, or is known never to reach it.
    Request,
    /// The answer to a request reaches the side task, or is lost.
    Answer,
    /// A cache of the side task, or of a machine-controller-manager, takes up something newer, or the same once more.
    Cache,
    /// Somebody else changed an object: Gardener, a machine-controller-manager, an operator, the seed.
    Change,
    /// A leader comes, renews, freezes, wakes, is cut off, crashes.
    Leader,
}

/// What happened.
#[derive(Default)]
pub struct Journal {
    hash: DefaultHasher,
    last: VecDeque<String>,
    steps: BTreeMap<Kind, u64>,
    whole: bool,
}

/// What is left of a journal once a world is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sum {
    pub hash: u64,
    pub requests: u64,
    pub steps: u64,
    /// How long it took to rewrite a Machine that was restored with its old ID, at most.
    pub slowest_restore: Duration,
}

impl Journal {
    pub fn new() -> Self {
        Self { whole: std::env::var_os("MCM_WORLD_JOURNAL").is_some(), ..Self::default() }
    }

    #[allow(clippy::print_stdout, reason = "that is what was asked for")]
    pub fn step(&mut self, at: Duration, kind: Kind, what: std::fmt::Arguments<'_>) {
        *self.steps.entry(kind).or_default() += 1;
        let mut line = if self.last.len() < KEPT { String::new() } else { self.last.pop_front().unwrap_or_default() };
        line.clear();
        write!(line, "{:>12.3} {kind:<7?} {what}", at.as_secs_f64()).unwrap();
        self.hash.write(line.as_bytes());
        if self.whole {
            println!("{line}");
        }
        self.last.push_back(line);
    }

    /// The last steps, one a line.
    pub fn tail(&self) -> String {
        self.last.iter().map(|line| ["  ", line, "\n"].concat()).collect()
    }

    pub fn sum(&self) -> Sum {
        Sum {
            hash: self.hash.finish(),
            requests: self.steps.get(&Kind::Request).copied().unwrap_or_default(),
            steps: self.steps.values().sum(),
            slowest_restore: Duration::ZERO,
        }
    }
}
