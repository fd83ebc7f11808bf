//! Searches some configurations, with every gate and without each that is taken out there: `cargo run -p migration-model --example only -- rollback pause`.
//! Without a name it lists them.
#![allow(clippy::print_stdout, reason = "it is for the reader")]

use migration_model::catalogue;
use migration_model::gates::Out;
use migration_model::job::{Job, job, removed, run, tell};
use migration_model::model::World;
use migration_model::removals::{BITES, HELD};
use migration_model::search::orders;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let all = catalogue::all()
        .into_iter()
        .chain(catalogue::long())
        .chain(catalogue::wide())
        .chain(catalogue::limits().into_iter().map(|(config, _)| config));
    let searches: Vec<Job> = all.map(job).chain(BITES.iter().chain(HELD).map(removed)).collect();
    if wanted.is_empty() {
        for one in searches.iter().filter(|one| one.out == Out::default()) {
            println!("{}: {}", one.config.name, one.config.about);
        }
        return;
    }
    let searches: Vec<Job> =
        searches.into_iter().filter(|one| wanted.iter().any(|name| name == one.config.name)).collect();
    for one in &searches {
        println!("{} {}", one.title, tell(one, &run(std::slice::from_ref(one))[0]));
        if one.config.name == "forward" && one.out == Out::default() {
            println!("{:?} orders", orders(&World::new(one.config, one.out)));
        }
    }
}
