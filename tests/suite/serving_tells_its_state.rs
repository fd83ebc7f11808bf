//! The admin listener: alive while it answers, ready only when every check holds, and what it counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::serving_support::{DAY, Server, Setup, read_to_close};
use mcm_migration_webhook::serving::Readiness;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

async fn get(server: &Server, path: &str) -> (u16, String) {
    let answer = server.admin_get(path).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn readyz_names_each_failing_check_and_recovers_and_livez_does_not_care() {
    let stale = Arc::new(AtomicBool::new(true));
    let caches = {
        let stale = Arc::clone(&stale);
        move || {
            let stale = stale.load(Ordering::Relaxed);
            if stale { Err("machineclasses has been silent for 161 s".to_owned()) } else { Ok(()) }
        }
    };
    let readiness = Readiness::default().with("certificate", || Ok(())).with("caches", caches);
    let server = Server::start(Setup { readiness, ..Setup::default() }).await;
    assert_eq!(get(&server, "/readyz").await, (503, "caches: machineclasses has been silent for 161 s\n".to_owned()));
    assert_eq!(get(&server, "/livez").await, (200, "ok\n".to_owned()));
    stale.store(false, Ordering::Relaxed);
    assert_eq!(get(&server, "/readyz").await, (200, "ok\n".to_owned()));
}

#[tokio::test]
async fn the_metrics_are_open_metrics_and_say_when_the_certificate_ends() {
    let server = Server::start(Setup::default()).await;
    let answer = server.admin_get("/metrics").await.unwrap();
    let content_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(content_type.starts_with("application/openmetrics-text; version=1.0.0"), "{content_type}");
    let text = answer.text().await.unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    let end = server.metric("mcm_migration_webhook_certificate_not_after_seconds{certificate=\"leaf\"}").await;
    let tomorrow = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap() + DAY;
    assert!((end - tomorrow.as_secs_f64()).abs() < 60.0, "{end} is not tomorrow");
}

#[tokio::test]
async fn the_admin_listener_bounds_what_it_reads_as_well() {
    let server = Server::start(Setup::default()).await;
    let mut stream = TcpStream::connect(server.admin).await.unwrap();
    let request = format!("GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{}", "x".repeat(100_000));
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = read_to_close(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}
