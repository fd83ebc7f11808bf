//! Who connects and then says nothing, or only a little, keeps no place for long.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::serving_support::{Server, Setup, post_raw, read_to_close};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

#[tokio::test]
async fn a_handshake_that_never_comes_is_cut() {
    let server = Server::start(Setup::default()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(read_to_close(&mut stream).await, "");
    assert!(server.metric("mcm_migration_webhook_tls_handshake_failures_total").await >= 1.0);
}

#[tokio::test]
async fn a_first_request_that_never_comes_is_cut() {
    let server = Server::start(Setup::default()).await;
    let mut stream = server.connect().await;
    assert_eq!(read_to_close(&mut stream).await, "");
}

#[tokio::test]
async fn headers_that_trickle_are_cut() {
    let server = Server::start(Setup::default()).await;
    let stream = server.connect().await;
    let (mut from, mut to) = tokio::io::split(stream);
    let began = Instant::now();
    let trickle = async {
        to.write_all(b"POST /length HTTP/1.1\r\n").await.unwrap();
        // A header line every now and then is no progress.
        while to.write_all(b"X: y\r\n").await.is_ok() && to.flush().await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        answer = read_to_close(&mut from) => assert_eq!(answer, ""),
        () = trickle => {}
    }
    assert!(began.elapsed().as_secs() < 50, "cut after {:?}", began.elapsed());
}

#[tokio::test]
async fn headers_larger_than_any_callers_are_refused() {
    let server = Server::start(Setup::default()).await;
    let mut stream = server.connect().await;
    let large = format!("POST /length HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "y".repeat(32 << 10));
    // What the server no longer wants to read may fail to be written.
    drop(stream.write_all(large.as_bytes()).await);
    let answer = read_to_close(&mut stream).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[tokio::test]
async fn a_connection_that_rests_between_two_calls_is_kept() {
    let server = Server::start(Setup::default()).await;
    let mut stream = server.connect().await;
    post_raw(&mut stream, "/length", b"one").await.unwrap();
    // Longer than the time for a first request.
    let mut byte = [0];
    let rest = timeout(std::time::Duration::from_secs(11), tokio::io::AsyncReadExt::read(&mut stream, &mut byte));
    rest.await.expect_err("the server closed an idle connection");
    let answer = post_raw(&mut stream, "/length", b"three").await.unwrap();
    assert!(answer.ends_with("\r\n\r\n5"), "{answer}");
}
