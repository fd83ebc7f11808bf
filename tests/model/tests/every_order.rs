//! Every order of every step keeps the invariants and completes; without any one gate some order does not; and the documentation shows both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::large_types_passed_by_value, reason = "a configuration is handed over a hundred times")]
#![allow(clippy::print_stdout, reason = "the bounds and what they cost are for the reader of the log")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use migration_model::catalogue;
use migration_model::config::Config;
use migration_model::configs;
use migration_model::gates::Out;
use migration_model::model::World;
use migration_model::removals::{BITES, HELD, Removal};
use migration_model::render;
use migration_model::search::{Found, orders, search};

/// One search.
#[derive(Clone)]
struct Job {
    config: Config,
    out: Out,
    title: String,
}

fn job(config: Config) -> Job {
    Job { config, out: Out::default(), title: config.name.to_owned() }
}

fn removed(removal: &Removal) -> Job {
    let said: Vec<&str> = removal.gates.iter().map(|gate| gate.said()).collect();
    Job { config: (removal.config)(), out: Out::of(removal.gates), title: said.join(", together with ") }
}

/// Each of them once, on as many threads as there are; one thread each, so that a counterexample is the shortest.
fn run(jobs: &[Job]) -> Vec<Found> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    // The longest first, so that no thread ends up alone with it.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|index| jobs[*index].config.start.budget.moves + jobs[*index].config.start.budget.crashes < 2);
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

/// Everything that is searched, once for all tests.
struct Everything {
    safe: Vec<(Job, Found)>,
    bites: Vec<(Job, Found)>,
    held: Vec<(Job, Found)>,
    limits: Vec<(Job, Found)>,
}

fn everything() -> &'static Everything {
    static EVERYTHING: OnceLock<Everything> = OnceLock::new();
    EVERYTHING.get_or_init(|| {
        let groups = [
            catalogue::all().into_iter().map(job).collect::<Vec<_>>(),
            BITES.iter().map(removed).collect(),
            HELD.iter().map(removed).collect(),
            catalogue::limits().into_iter().map(|(config, _)| job(config)).collect(),
        ];
        let jobs: Vec<Job> = groups.iter().flatten().cloned().collect();
        let mut found = run(&jobs).into_iter();
        let [safe, bites, held, limits] =
            groups.map(|group| group.into_iter().map(|job| (job, found.next().unwrap())).collect());
        Everything { safe, bites, held, limits }
    })
}

fn tell(job: &Job, found: &Found) -> String {
    let seeds = job.config.start.budget.moves > 0;
    let Some((invariant, steps)) = found.broken.first() else { return String::new() };
    let mut text = format!("Configuration `{}`. Broken: {invariant}.\n\n", job.config.name);
    for (n, step) in steps.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", n + 1, render::step(*step, seeds));
    }
    text.push('\n');
    text
}

#[test]
fn no_order_costs_a_server() {
    for (job, found) in &everything().safe {
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

#[cfg(feature = "long")]
#[test]
fn no_order_of_more_costs_a_server() {
    let jobs: Vec<Job> = catalogue::long().into_iter().map(job).collect();
    for (job, found) in jobs.iter().zip(run(&jobs)) {
        assert!(found.broken.is_empty(), "{}\n{}", job.title, tell(job, &found));
    }
}

/// `MODEL_ONLY=rollback cargo test -p migration-model --test every_order -- --ignored --nocapture only`
#[test]
#[ignore = "for one who works on one configuration"]
fn only() {
    let wanted = std::env::var("MODEL_ONLY").unwrap_or_default();
    let all = catalogue::all()
        .into_iter()
        .chain(catalogue::long())
        .chain(catalogue::limits().into_iter().map(|(config, _)| config));
    let jobs: Vec<Job> = all.map(job).chain(BITES.iter().chain(HELD).map(removed)).collect();
    let jobs: Vec<Job> = jobs.into_iter().filter(|job| wanted.split(',').any(|name| name == job.config.name)).collect();
    if wanted.split(',').any(|name| name == "forward") {
        println!("{:?} orders", orders(&World::new(configs::forward(), Out::default())));
    }
    for job in &jobs {
        println!("{} {}", job.title, tell(job, &run(std::slice::from_ref(job))[0]));
    }
}

fn document() -> String {
    let everything = everything();
    let mut text = String::from(include_str!("../counterexamples.head.md"));
    text.push_str(
        "\n## What was searched\n\n| configuration | what can go wrong in it | states | steps |\n|---|---|---|---|\n",
    );
    let (mut states, mut steps) = (0, 0);
    for (job, found) in &everything.safe {
        let _ = writeln!(text, "| `{}` | {} | {} | {} |", job.config.name, job.config.about, found.unique, found.steps);
        (states, steps) = (states + found.unique, steps + found.steps);
    }
    let _ = writeln!(text, "| all | | {states} | {steps} |");
    let forward = orders(&World::new(configs::forward(), Out::default())).expect("no step of it can be taken twice");
    let _ = writeln!(
        text,
        "\nThe {} states of `forward` alone stand for {forward} different orders from the start to the end.",
        everything.safe[0].1.unique
    );
    text.push_str("\n## Each gate taken away\n\n");
    for (job, found) in &everything.bites {
        let _ = write!(text, "### Without: {}\n\n{}", job.title, tell(job, found));
    }
    text.push_str("## Gates that others make up for\n\nOne is enough as long as the others hold; they stay, because no gate should be the only one.\n\n");
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
    let wanted = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let is = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        is == wanted,
        "docs/counterexamples.md differs; write it anew with UPDATE_DOCS=1 cargo test -p migration-model"
    );
}
