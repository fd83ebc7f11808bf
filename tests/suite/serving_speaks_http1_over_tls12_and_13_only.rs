//! The admission listener speaks HTTP/1.1 over TLS 1.2 and 1.3, and nothing else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::serving_support::{Server, Setup, client_config, client_config_for, post_raw, read_to_close};
use rustls::{ProtocolVersion, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn version_of(only: &'static SupportedProtocolVersion) -> Option<ProtocolVersion> {
    let server = Server::start(Setup::default()).await;
    let config = client_config_for(&server.ca, &[only]);
    let mut stream = server.connect_with(config).await.unwrap();
    let answer = post_raw(&mut stream, "/length", b"four").await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n4"), "{answer}");
    stream.get_ref().1.protocol_version()
}

#[tokio::test]
async fn tls_1_2_is_accepted() {
    assert_eq!(version_of(&rustls::version::TLS12).await, Some(ProtocolVersion::TLSv1_2));
}

#[tokio::test]
async fn tls_1_3_is_accepted() {
    assert_eq!(version_of(&rustls::version::TLS13).await, Some(ProtocolVersion::TLSv1_3));
}

#[tokio::test]
async fn tls_1_1_is_refused_with_a_protocol_version_alert() {
    let server = Server::start(Setup::default()).await;
    // A ClientHello of TLS 1.1: version 3.2, a random, no session, three cipher suites of its time, no compression,
    // ECDSA with SHA-256 on P-256: nothing but the version is wrong with it.
    let mut hello = vec![3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0, 6, 0xc0, 0x09, 0xc0, 0x13, 0x00, 0x2f, 1, 0]);
    hello.extend([0, 16, 0, 13, 0, 4, 0, 2, 4, 3, 0, 10, 0, 4, 0, 2, 0, 23]);
    let length = u8::try_from(hello.len()).unwrap();
    let message = [vec![22, 3, 1, 0, length + 4, 1, 0, 0, length], hello].concat();
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&message).await.unwrap();
    let mut alert = Vec::new();
    stream.read_to_end(&mut alert).await.unwrap();
    assert_eq!(alert[0], 21, "an alert: {alert:?}");
    assert_eq!(alert[5..7], [2, 70], "fatal, protocol_version: {alert:?}");
    assert!(server.metric("mcm_migration_webhook_tls_handshake_failures_total").await >= 1.0);
}

#[tokio::test]
async fn http_2_is_not_negotiated() {
    let server = Server::start(Setup::default()).await;
    let mut config = client_config(&server.ca);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = server.connect_with(config.clone()).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    config.alpn_protocols = vec![b"h2".to_vec()];
    server.connect_with(config).await.expect_err("a client that speaks HTTP/2 alone is refused");
}

#[tokio::test]
async fn an_http_2_preface_is_refused_whatever_was_negotiated() {
    let server = Server::start(Setup::default()).await;
    let mut stream = server.connect().await;
    // The preface and an empty SETTINGS frame.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let answer = read_to_close(&mut stream).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer:?}");
}
