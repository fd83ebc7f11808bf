//! `arm`: walks shoots through *guard*, *probe* and *arm*, with the operator's own credentials.

mod flags;
mod guard;
mod outcome;
mod print;
mod walk;

use std::io::Write;

use futures::StreamExt;
use futures::stream::FuturesOrdered;
use mcm_migration_core::plan::NodesRule;
use tokio::sync::Semaphore;

use super::node_watch::NodeWatch;
use super::reach::reach;
use super::{Exit, fail};
use crate::world::shoot_namespaces;
use outcome::exit_of;
use walk::Walk;

pub(super) use flags::ArmFlags;

/// Whom the fields belong to that are written here.
const FIELD_MANAGER: &str = "mcm-migration-arm";
/// How many shoots speak to the API server at the same time.
const AT_ONCE: usize = 4;

pub(super) fn run(flags: &ArmFlags) -> Exit {
    let rule = match flags.nodes.rule() {
        Ok(rule) => rule,
        Err(error) => return fail(Exit::Usage, &error),
    };
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(arm(flags, rule)),
        Err(error) => fail(Exit::Failed, &format_args!("cannot start the runtime: {error}")),
    }
}

async fn arm(flags: &ArmFlags, rule: NodesRule) -> Exit {
    let seed = match reach(&flags.cluster, FIELD_MANAGER).await {
        Ok(seed) => seed,
        Err(exit) => return exit,
    };
    let mut namespaces = flags.namespace.clone();
    if flags.all {
        namespaces = match shoot_namespaces(&seed.client()).await {
            Ok(namespaces) => namespaces,
            Err(error) => return fail(Exit::Failed, &error),
        };
    }
    namespaces.sort();
    namespaces.dedup();
    let nodes = (!flags.dry_run).then(|| NodeWatch::start(seed.client(), rule));
    walk(Walk { seed, nodes, at_once: Semaphore::new(AT_ONCE) }, namespaces, flags).await
}

/// Walks all shoots, and tells each one's end as soon as those before it have ended.
async fn walk(walk: Walk, namespaces: Vec<String>, flags: &ArmFlags) -> Exit {
    let width = namespaces.iter().map(String::len).max().unwrap_or_default();
    let mut ends: FuturesOrdered<_> = namespaces.into_iter().map(|namespace| walk.shoot(namespace)).collect();
    let mut outcomes = Vec::new();
    while let Some(outcome) = ends.next().await {
        tell(&print::lines(&outcome, width, flags.all));
        outcomes.push(outcome);
    }
    tell(&format!("{}\n", print::summary(&outcomes, flags.all)));
    if flags.dry_run {
        tell("nothing was written (--dry-run), and the Nodes of the seed were not looked at\n");
    }
    exit_of(&outcomes, flags.all)
}

fn tell(text: &str) {
    // Whoever closed standard output does not want to read on; the walk goes on all the same.
    let mut out = std::io::stdout().lock();
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
