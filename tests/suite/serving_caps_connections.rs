//! Beyond the cap, connections wait for a place and are served; nobody is turned away.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use crate::serving_support::{Server, Setup, eventually, head, post_raw, read_answer};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::time::timeout;

const CONNECTIONS: &str = "mcm_migration_webhook_admission_connections";

#[tokio::test]
async fn a_connection_beyond_the_cap_waits_until_an_answer_makes_room() {
    let held = Arc::new(Semaphore::new(0));
    let server = Server::start(Setup { max_connections: 2, held: Arc::clone(&held), ..Setup::default() }).await;
    let mut busy = [server.connect().await, server.connect().await];
    for stream in &mut busy {
        stream.write_all(&head("/held", 0)).await.unwrap();
    }
    let mut third = tokio::spawn({
        let url = server.url("/length");
        let client = server.pooling_client();
        async move { client.post(url).body("four").send().await.unwrap().text().await.unwrap() }
    });
    // It has no place as long as both are busy.
    timeout(Duration::from_millis(300), &mut third).await.expect_err("the third connection was served beside two");
    assert!((server.metric(CONNECTIONS).await - 2.0).abs() < 0.5);

    held.add_permits(2);
    for stream in &mut busy {
        let answer = read_answer(stream).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    assert_eq!(third.await.unwrap(), "4");
}

#[tokio::test]
async fn a_client_that_goes_away_gives_its_place_back() {
    let server = Server::start(Setup { max_connections: 1, ..Setup::default() }).await;
    for _ in 0..3 {
        let mut stream = server.connect().await;
        post_raw(&mut stream, "/length", b"four").await.unwrap();
        drop(stream);
    }
    eventually("no connection is left", async || server.metric(CONNECTIONS).await < 0.5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_of_many_times_the_cap_loses_no_call() {
    let server = Server::start(Setup { max_connections: 8, ..Setup::default() }).await;
    let client = server.pooling_client();
    let calls: Vec<_> = (0..400)
        .map(|_| {
            let call = client.post(server.url("/length")).body("four").send();
            tokio::spawn(async move { call.await.expect("a call failed").text().await.unwrap() })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap(), "4");
    }
}
