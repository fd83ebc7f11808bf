//! From the signal to the end, every call is answered: on connections kept, on new ones, and those under way.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what was measured shows with --nocapture")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::serving_support::{
    SOON, Server, Setup, client_builder, eventually, head, post_raw, read_answer, read_to_close,
};
use mcm_migration_webhook::serving::ServingError;
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_load_no_call_is_lost_until_the_delay_is_over() {
    let delay = Duration::from_secs(6);
    let server = Server::start(Setup { shutdown_delay: delay, ..Setup::default() }).await;
    let (answered, until) = (Arc::new(AtomicU32::new(0)), CancellationToken::new());
    let clients: Vec<_> = [0, 0, 0, 4, 4, 4]
        .into_iter()
        .map(|idle| {
            let client = client_builder(&[&server.ca]).pool_max_idle_per_host(idle).build().unwrap();
            let (answered, until, url) = (Arc::clone(&answered), until.clone(), server.url("/length"));
            tokio::spawn(async move {
                while !until.is_cancelled() {
                    let answer = client.post(&url).body("four").send().await.expect("a call failed");
                    assert_eq!(answer.text().await.unwrap(), "4");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    eventually("calls are answered", async || answered.load(Ordering::Relaxed) > 50).await;
    let before = answered.load(Ordering::Relaxed);
    server.shutdown.stop();
    // Clients hear late that the server goes, but before the delay is over.
    tokio::time::sleep(delay / 2).await;
    until.cancel();
    for client in clients {
        client.await.unwrap();
    }
    let after = answered.load(Ordering::Relaxed) - before;
    println!("{after} calls answered after the signal");
    assert!(after > 10, "only {after} calls after the signal");
    timeout(SOON, server.ended).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn after_the_signal_answers_close_their_connections_new_ones_are_served_and_idle_ones_are_closed() {
    let held = Arc::new(Semaphore::new(0));
    let delay = Duration::from_secs(3);
    let server = Server::start(Setup { shutdown_delay: delay, held: Arc::clone(&held), ..Setup::default() }).await;
    let (mut used, mut idle, mut busy) = (server.connect().await, server.connect().await, server.connect().await);
    for stream in [&mut used, &mut idle] {
        let answer = post_raw(stream, "/length", b"four").await.unwrap();
        assert!(!answer.contains("connection: close"), "{answer}");
    }
    busy.write_all(&head("/held", 0)).await.unwrap();

    server.shutdown.stop();
    eventually("it is unready at once", async || server.admin_get("/readyz").await.unwrap().status() == 503).await;
    let mut new = server.connect().await;
    for stream in [&mut used, &mut new] {
        let answer = post_raw(stream, "/length", b"four").await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("connection: close"), "{answer}");
    }
    let mut silent = server.connect().await;

    // The end of the delay shows in the end of the connection that carries no call.
    assert_eq!(read_to_close(&mut idle).await, "");
    assert!(tokio::net::TcpStream::connect(server.address).await.is_err(), "new connections are still accepted");
    assert_eq!(server.admin_get("/livez").await.unwrap().status(), 200);
    // A call that was under way, and one whose connection had been accepted before.
    held.add_permits(1);
    for answer in [read_answer(&mut busy).await, post_raw(&mut silent, "/length", b"four").await] {
        let answer = answer.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("connection: close"), "{answer}");
    }
    let admin = server.admin;
    timeout(SOON, server.ended).await.unwrap().unwrap().unwrap();
    tokio::net::TcpStream::connect(admin).await.expect_err("the admin listener outlived the server");
}

#[tokio::test]
async fn connections_that_still_wait_for_a_place_when_the_delay_is_over_are_served() {
    let held = Arc::new(Semaphore::new(0));
    let setup = Setup { max_connections: 1, held: Arc::clone(&held), ..Setup::default() };
    let server = Server::start(setup).await;
    let mut busy = server.connect().await;
    busy.write_all(&head("/held", 0)).await.unwrap();
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let call = server.pooling_client().post(server.url("/length")).body("four").send();
            tokio::spawn(async move { call.await.expect("a call failed").text().await.unwrap() })
        })
        .collect();
    eventually("all are connected", async || established(server.address.port()) >= 5).await;
    server.shutdown.stop();
    for call in waiting {
        assert_eq!(call.await.unwrap(), "4");
    }
    held.add_permits(1);
    assert!(read_answer(&mut busy).await.unwrap().starts_with("HTTP/1.1 200 "));
    timeout(SOON, server.ended).await.unwrap().unwrap().unwrap();
}

/// How many connections to a local port the kernel holds as established, whether accepted by the process or not.
fn established(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let local = format!(":{port:04X}");
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|fields| fields[1].ends_with(&local) && fields[3] == "01").count()
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let server = Server::start(Setup { shutdown_delay: SOON * 10, ..Setup::default() }).await;
    let mut busy = server.connect().await;
    busy.write_all(&head("/held", 0)).await.unwrap();
    server.shutdown.stop();
    server.shutdown.abort();
    let ended = timeout(SOON, server.ended).await.expect("it goes on").unwrap();
    assert!(matches!(ended, Err(ServingError::Aborted { connections: 1 })), "{ended:?}");
}

#[tokio::test]
async fn the_drain_timeout_ends_what_does_not_end_by_itself() {
    let server = Server::start(Setup { drain_timeout: Duration::from_millis(100), ..Setup::default() }).await;
    let mut busy = server.connect().await;
    busy.write_all(&head("/held", 0)).await.unwrap();
    server.shutdown.stop();
    timeout(SOON, server.ended).await.expect("it goes on").unwrap().unwrap();
    assert_eq!(read_to_close(&mut busy).await, "");
}
