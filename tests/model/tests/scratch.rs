#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, reason = "a test")]
use migration_model::config::Config;
use migration_model::gates::*;
use migration_model::model::World;
use migration_model::search::search;
use migration_model::state::*;
use std::time::Instant;

#[test]
fn first() {
    let t = Instant::now();
    let budget = Budget { template_back: 0, class_back: 0, ..Budget::default() };
    let c = Config::one_seed("a", "", [Id::Legacy, Id::Empty, Id::Absent], [0, 0, 0], budget);
    let f = search(World::new(c, Out::default()), 2);
    println!("{} {} {} {:?}", f.unique, f.steps, f.depth, t.elapsed());
    for (n, s) in f.broken {
        println!("{n}");
        for x in s {
            println!("   {x:?}");
        }
    }
}
