//! How often the cloud is called: one PATCH a server and one a part of it, one LIST of each kind a project as long as it is young enough, and the canaries' reads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::{Duration, Instant};

use crate::side_task_support::{LONG, Seed, assert_harmless};
use futures::StreamExt;
use mcm_migration_core::plan::Settings;
use mcm_stand_in::{Fleet, Options};
use rig::Shoot;
use simulator::{Call, Operation};

const PROJECTS: usize = 10;
/// Servers of each project: a thousand in all with the feature `long`.
const SERVERS: usize = if cfg!(feature = "long") { 100 } else { 30 };
/// How long all of it may take.
const ALL: Duration = LONG.saturating_mul(3);

/// The most LISTs of one kind in one project: one, and another each time that the last one was too old to act on. A pass over a hundred servers
/// can take longer than that on a slow machine.
fn lists_at_most(lists: &[&Call], start: Instant) -> usize {
    let last = lists.iter().map(|call| call.at).max();
    let took = last.map_or(Duration::ZERO, |last| last.duration_since(start));
    1 + usize::try_from(took.as_secs() / Settings::LIST_MAX_AGE.as_secs()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_cost_one_patch_each_and_one_list_a_project() {
    let seed = Seed::start().await;
    let shoots: Vec<Shoot> = futures::stream::iter(0..PROJECTS)
        .map(|number| seed.create(Shoot::new(&format!("s{number}")).legacy_machines(SERVERS)))
        .buffered(4)
        .collect()
        .await;
    let seconds = Duration::from_secs;
    // Ten of them beside a hundred servers each may renew late.
    let options = Options::default().orphan_period(seconds(2)).lease(seconds(15), seconds(10), seconds(1));
    let fleet = Fleet::for_shoots(&seed.server, &shoots, &seed.cloud(), &options).await.unwrap();
    let start = Instant::now();
    // Looking after labels that are in place would be LISTs of its own.
    let product = seed.one_replica(&["--drift-every", "30m"]).await;
    for shoot in &shoots {
        fleet.watch_over(seed.await_condition(shoot, "Complete", ALL.saturating_sub(start.elapsed()))).await;
        seed.assert_complete(shoot).await;
    }
    fleet.verdict().unwrap();
    // A new term would begin with canaries of its own.
    let terms = product.logs().iter().filter(|line| line["message"] == "leading").count();
    assert_eq!(terms, 1, "it leads throughout");
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    let (mut lists, mut reads) = (0, 0);
    for shoot in &shoots {
        let project = shoot.project_id();
        let calls = |operation| {
            let of_project = journal.iter().filter(|call| call.project.as_deref() == Some(&*project));
            of_project.filter(|call| call.operation == operation).collect::<Vec<_>>()
        };
        for (operation, wanted) in [
            (Operation::PatchServer, SERVERS),
            (Operation::PatchNic, SERVERS),
            // The canaries are read once, and that of the servers is looked up once.
            (Operation::GetServer, 1),
            (Operation::ListServersBySelector, 1),
            (Operation::GetNic, 1),
        ] {
            assert_eq!(calls(operation).len(), wanted, "{operation:?} in {project}");
        }
        for operation in [Operation::ListServers, Operation::ListProjectNics, Operation::ListVolumes] {
            let found = calls(operation);
            let at_most = lists_at_most(&found, start);
            assert!((1..=at_most).contains(&found.len()), "{operation:?} in {project}, {at_most} at most: {found:#?}");
            lists += found.len();
        }
        reads += calls(Operation::GetServer).len() + calls(Operation::ListServersBySelector).len();
        reads += calls(Operation::GetNic).len();
    }
    let passes = product.metric("mcm_migration_webhook_sidetask_passes_total", &[]).await.unwrap();
    println!("{lists} LIST of three kinds in {passes} passes over {PROJECTS} shoots, {reads} reads of canaries");
    let others = journal.iter().filter(|call| {
        !matches!(
            call.operation,
            Operation::Token
                | Operation::PatchServer
                | Operation::ListServers
                | Operation::GetServer
                | Operation::ListServersBySelector
                | Operation::ListProjectNics
                | Operation::ListVolumes
                | Operation::PatchNic
                | Operation::GetNic
        )
    });
    assert_eq!(others.count(), 0, "nothing else is called");
}
