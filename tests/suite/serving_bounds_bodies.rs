//! A body of 7 MiB is taken in; a larger, slower or broken one costs one answer, bounded memory and its connection.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "what was measured shows with --nocapture")]

use std::time::Duration;

use crate::serving_support::{SOON, Server, Setup, head, post_raw, read_answer, read_to_close};
use tokio::io::{AsyncWriteExt, split};

const LIMIT: usize = 7 << 20;

#[tokio::test]
async fn a_body_at_the_limit_is_taken_in_and_one_byte_more_is_413() {
    let server = Server::start(Setup::default()).await;
    let mut stream = server.connect().await;
    let answer = post_raw(&mut stream, "/length", &vec![b'x'; LIMIT]).await.unwrap();
    assert!(answer.ends_with(&format!("\r\n\r\n{LIMIT}")), "{answer}");
    let answer = post_raw(&mut stream, "/length", &vec![b'x'; LIMIT + 1]).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_body_that_grows_beyond_the_limit_is_413() {
    let server = Server::start(Setup::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(b"POST /length HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
    let chunk = [b"100000\r\n".to_vec(), vec![b'x'; 1 << 20], b"\r\n".to_vec()].concat();
    for _ in 0..7 {
        stream.write_all(&chunk).await.unwrap();
    }
    stream.write_all(b"1\r\nx\r\n").await.unwrap();
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    let answer = read_answer(&mut stream).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_body_that_stalls_is_408_and_ends_the_connection() {
    let server = Server::start(Setup::default()).await;
    let mut stream = server.connect().await;
    stream.write_all(&[head("/length", 100), b"some".to_vec()].concat()).await.unwrap();
    let answer = read_to_close(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_handler_that_stalls_is_503_without_a_hint_to_come_again() {
    let server = Server::start(Setup::default()).await;
    let mut stream = server.connect().await;
    let answer = post_raw(&mut stream, "/held", b"").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 ") && !answer.contains("retry-after"), "{answer}");
}

#[tokio::test]
async fn no_answer_says_when_to_come_again() {
    let server = Server::start(Setup::default()).await;
    let answer = server.pooling_client().get(server.url("/hint")).send().await.unwrap();
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers().get("retry-after"), None);
}

#[tokio::test]
async fn a_handler_that_panics_is_500_and_the_next_call_is_answered() {
    let server = Server::start(Setup::default()).await;
    let client = server.pooling_client();
    assert_eq!(client.get(server.url("/panic")).send().await.unwrap().status(), 500);
    let answer = client.post(server.url("/length")).body("four").send().await.unwrap();
    assert_eq!(answer.text().await.unwrap(), "4");
}

#[tokio::test]
async fn an_endless_body_costs_bounded_memory() {
    let server = Server::start(Setup::default()).await;
    let stream = server.connect().await;
    let before = resident_bytes();
    let (mut from, mut to) = split(stream);
    let sent = async move {
        to.write_all(&head("/length", usize::MAX >> 1)).await.unwrap();
        let some = vec![b'x'; 1 << 20];
        let (mut sent, mut most) = (0_usize, 0);
        // The server reads on, so that its answer arrives, and then cuts the connection.
        while let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(1), to.write_all(&some)).await {
            sent += some.len();
            most = most.max(resident_bytes());
        }
        (sent, most)
    };
    let ((sent, most), answer) =
        tokio::time::timeout(SOON, async { tokio::join!(sent, read_to_close(&mut from)) }).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let grown = most.saturating_sub(before);
    println!("sent {} MiB, grown by {} MiB", sent >> 20, grown >> 20);
    assert!(sent > 10 * LIMIT, "the test sent {sent} bytes only");
    // The other tests of this file run beside it, with a few bodies of 7 MiB.
    assert!(grown < 10 * LIMIT, "{grown} bytes more after {sent} bytes of body");
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
