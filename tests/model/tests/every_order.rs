//! Every order of every step keeps the invariants and completes; without any one gate some order does not; and the documentation shows both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use migration_model::catalogue;
use migration_model::configs;
use migration_model::gates::Out;
use migration_model::job::{Job, job, removed, run, tell};
use migration_model::model::World;
use migration_model::removals::{BITES, HELD};
use migration_model::search::{Found, orders};

/// Everything that is searched, once for all tests.
struct Everything {
    safe: Vec<(Job, Found)>,
    /// With the feature `long` alone.
    long: Vec<(Job, Found)>,
    bites: Vec<(Job, Found)>,
    held: Vec<(Job, Found)>,
    limits: Vec<(Job, Found)>,
}

fn everything() -> &'static Everything {
    static EVERYTHING: OnceLock<Everything> = OnceLock::new();
    EVERYTHING.get_or_init(|| {
        let long = if cfg!(feature = "long") { catalogue::long() } else { Vec::new() };
        let groups = [
            catalogue::all().into_iter().map(job).collect::<Vec<_>>(),
            long.into_iter().map(job).collect(),
            BITES.iter().map(removed).collect(),
            HELD.iter().map(removed).collect(),
            catalogue::limits().into_iter().map(|(config, _)| job(config)).collect(),
        ];
        let jobs: Vec<Job> = groups.iter().flatten().cloned().collect();
        let mut found = run(&jobs).into_iter();
        let [safe, long, bites, held, limits] =
            groups.map(|group| group.into_iter().map(|job| (job, found.next().unwrap())).collect());
        Everything { safe, long, bites, held, limits }
    })
}

#[test]
fn no_order_costs_a_server() {
    let everything = everything();
    for (job, found) in everything.safe.iter().chain(&everything.long) {
        assert!(found.broken.is_empty(), "{}\n{}", job.title, tell(job, found));
    }
}

#[test]
fn without_a_gate_some_order_does() {
    for (job, found) in &everything().bites {
        assert!(!found.broken.is_empty(), "nothing happens without: {}", job.title);
    }
}

#[test]
fn a_gate_that_others_make_up_for_is_told() {
    for ((job, found), removal) in everything().held.iter().zip(HELD) {
        assert_eq!(found.broken.is_empty(), removal.held_by.is_some(), "{}\n{}", job.title, tell(job, found));
    }
}

#[test]
fn the_limits_are_what_they_are_said_to_be() {
    for (job, found) in &everything().limits {
        assert!(!found.broken.is_empty(), "no limit any more: {}", job.title);
    }
}

#[cfg(feature = "wide")]
#[test]
fn no_order_of_more_costs_a_server() {
    let jobs: Vec<Job> = catalogue::wide().into_iter().map(job).collect();
    for (job, found) in jobs.iter().zip(run(&jobs)) {
        assert!(found.broken.is_empty(), "{}\n{}", job.title, tell(job, &found));
    }
}

const TABLE: &str = "| configuration | what can go wrong in it | states | steps |\n|---|---|---|---|\n";
const LONG: &str = "## What is searched with `--features long`\n";

/// The rows of a table, and what they add up to.
fn rows(searches: &[(Job, Found)]) -> (String, usize, usize) {
    let mut rows = String::from(TABLE);
    for (Job { config, .. }, found) in searches {
        let _ = writeln!(rows, "| `{}` | {} | {} | {} |", config.name, config.about, found.unique, found.steps);
    }
    let sum = |of: fn(&Found) -> usize| searches.iter().map(|(_, found)| of(found)).sum();
    (rows, sum(|found| found.unique), sum(|found| found.steps))
}

/// The section that only the feature `long` can write; without it, as the page has it.
fn long_section(is: &str, states: usize, steps: usize) -> String {
    if !cfg!(feature = "long") {
        let section = is.split_once(LONG).map_or("", |(_, rest)| rest.split("\n## ").next().unwrap_or_default());
        return format!("{LONG}{section}");
    }
    let (rows, more_states, more_steps) = rows(&everything().long);
    let (states, steps) = (states + more_states, steps + more_steps);
    format!("{LONG}\n{rows}\nBoth tables together: {states} states, {steps} steps.\n")
}

fn document(is: &str) -> String {
    let everything = everything();
    let mut text = String::from(include_str!("../counterexamples.head.md"));
    let (rows, states, steps) = rows(&everything.safe);
    let _ = write!(text, "\n## What was searched\n\n{rows}| all | | {states} | {steps} |\n");
    let forward = orders(&World::new(configs::forward(), Out::default())).expect("no step of it can be taken twice");
    let _ = writeln!(
        text,
        "\nThe {} states of `forward` alone stand for {forward} different orders from the start to the end.",
        everything.safe[0].1.unique
    );
    let _ = write!(text, "\n{}", long_section(is, states, steps));
    text.push_str("\n## Each gate taken away\n\n");
    for (job, found) in &everything.bites {
        let _ = write!(text, "### Without: {}\n\n{}", job.title, tell(job, found));
    }
    text.push_str("## Gates that others make up for\n\nIn these configurations either of the two is enough, and without both of them there is harm.\n\n");
    for ((job, found), removal) in everything.held.iter().zip(HELD) {
        let _ = write!(text, "### Without: {}\n\n", job.title);
        match removal.held_by {
            Some(by) => {
                let _ = write!(
                    text,
                    "Configuration `{}`, {} states: no counterexample. What holds: {by}.\n\n",
                    job.config.name, found.unique
                );
            }
            None => text.push_str(&tell(job, found)),
        }
    }
    text.push_str("## Limits\n\nWhat no gate of this program holds.\n\n");
    for ((job, found), (_, why)) in everything.limits.iter().zip(catalogue::limits()) {
        let _ = write!(text, "### {}\n\n{why}\n\n{}", job.config.about, tell(job, found));
    }
    format!("{}\n", text.trim_end())
}

#[test]
fn the_counterexamples_are_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/counterexamples.md");
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    let wanted = document(&is);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        is == wanted,
        "docs/counterexamples.md differs; write it anew with UPDATE_DOCS=1 cargo test -p migration-model --features long"
    );
}
