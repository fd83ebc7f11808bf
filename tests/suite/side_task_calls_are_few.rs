//! How often the cloud is called: one PATCH a server and one a part of it, one LIST of each kind a project, region and pass, and the canaries' reads.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use crate::side_task_support::{LONG, Seed, assert_harmless};
use futures::StreamExt;
use mcm_stand_in::{Fleet, Options};
use rig::Shoot;
use simulator::Operation;

const PROJECTS: usize = 10;
const SERVERS: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_servers_cost_a_thousand_patches_and_one_list_a_pass() {
    let seed = Seed::start().await;
    let shoots: Vec<Shoot> = futures::stream::iter(0..PROJECTS)
        .map(|number| seed.create(Shoot::new(&format!("s{number}")).legacy_machines(SERVERS)))
        .buffered(4)
        .collect()
        .await;
    let options = Options::default().orphan_period(Duration::from_secs(2));
    let fleet = Fleet::for_shoots(&seed.server, &shoots, &seed.cloud(), &options).await.unwrap();
    let product = seed.one_replica(&[]).await;
    for shoot in &shoots {
        fleet.watch_over(seed.await_condition(shoot, "Complete", LONG * 3)).await;
        seed.assert_complete(shoot).await;
    }
    fleet.verdict().unwrap();
    let journal = seed.cloud().journal();
    assert_harmless(&journal);
    let count = |operation, project: &str| {
        journal.iter().filter(|call| call.operation == operation && call.project.as_deref() == Some(project)).count()
    };
    let (mut patches, mut lists, mut reads) = (0, 0, 0);
    let (mut part_patches, mut part_lists) = (0, [0, 0]);
    for shoot in &shoots {
        let project = shoot.project_id();
        patches += count(Operation::PatchServer, &project);
        lists += count(Operation::ListServers, &project);
        reads += count(Operation::GetServer, &project) + count(Operation::ListServersBySelector, &project);
        assert_eq!(count(Operation::GetServer, &project), 1, "the canary of {project} is read once");
        assert_eq!(count(Operation::ListServersBySelector, &project), 1, "and looked up once");
        part_patches += count(Operation::PatchNic, &project);
        part_lists[0] += count(Operation::ListProjectNics, &project);
        part_lists[1] += count(Operation::ListVolumes, &project);
        assert_eq!(
            count(Operation::GetNic, &project),
            1,
            "the canary of the network interfaces of {project} is read once"
        );
    }
    let passes = product.metric("mcm_migration_webhook_sidetask_passes_total", &[]).await.unwrap();
    println!("{patches} PATCH, {lists} LIST in {passes} passes over {PROJECTS} shoots, {reads} reads of canaries");
    println!(
        "{part_patches} PATCH of network interfaces; {} LIST of them, {} of volumes",
        part_lists[0], part_lists[1]
    );
    assert_eq!((patches, part_patches), (PROJECTS * SERVERS, PROJECTS * SERVERS));
    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    let most = lists.max(part_lists[0]).max(part_lists[1]) as f64;
    assert!(most <= passes, "more than one LIST a pass");
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
