//! The certificate of a mounted Secret is renewed again and again under load, and a broken one changes nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::serving_support::{
    DAY, Metrics, Server, Setup, client_builder, client_config, eventually, leaf_for_localhost, new_ca, post_raw,
    swap_in,
};
use mcm_migration_webhook::serving::certificates::authority::{Issued, issue};
use mcm_migration_webhook::serving::{CertificateFolder, UnixTime};
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;

const RELOAD_FAILURES: &str = "mcm_migration_webhook_certificate_reload_failures_total";

fn write(dir: &std::path::Path, version: u32, certificate: &Issued, key: &Issued) {
    swap_in(dir, version, &certificate.certificate, key.key.expose_secret());
}

/// Serves what a folder holds, which is `first`.
async fn serve_folder(dir: &std::path::Path, ca: Issued, first: &Issued) -> Server {
    crate::serving_support::install_provider();
    write(dir, 1, first, first);
    let metrics = Metrics::new();
    let (folder, store) = CertificateFolder::open(dir, metrics.serving.clone()).await.unwrap();
    tokio::spawn(folder.watch(Arc::clone(&store), Duration::from_millis(20)));
    Server::start_with(Setup::default(), metrics, ca, store).await
}

/// Whether a new connection that trusts this CA alone is served.
async fn is_served(server: &Server, ca: &Issued) -> bool {
    server.connect_with(client_config(ca)).await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_renewals_and_a_broken_pair_between_them_lose_no_call() {
    let dir = tempfile::tempdir().unwrap();
    let cas = [new_ca(), new_ca(), new_ca()];
    let leaves = cas.each_ref().map(leaf_for_localhost);
    let server = serve_folder(dir.path(), cas[0].clone(), &leaves[0]).await;
    let mut kept = server.connect().await;

    // Clients that keep their connections, and clients that never do. The CAs are changed here without any care, so they trust all.
    let (answered, stop) = (Arc::new(AtomicU32::new(0)), CancellationToken::new());
    let clients = [0, 0, 8].map(|idle| {
        let client = client_builder(&cas.each_ref()).pool_max_idle_per_host(idle).build().unwrap();
        let (answered, stop, url) = (Arc::clone(&answered), stop.clone(), server.url("/length"));
        tokio::spawn(async move {
            while !stop.is_cancelled() {
                let answer = client.post(&url).body("four").send().await.expect("a call failed");
                assert_eq!(answer.text().await.unwrap(), "4");
                answered.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    let more_answers = async || {
        let before = answered.load(Ordering::Relaxed);
        eventually("calls are answered", async || answered.load(Ordering::Relaxed) > before + 20).await;
    };

    more_answers().await;
    write(dir.path(), 2, &leaves[1], &leaves[1]);
    eventually("the second certificate is served", async || is_served(&server, &cas[1]).await).await;
    more_answers().await;

    write(dir.path(), 3, &leaves[2], &leaves[0]);
    eventually("the broken pair is noticed", async || server.metric(RELOAD_FAILURES).await >= 1.0).await;
    more_answers().await;
    assert!(is_served(&server, &cas[1]).await, "the last good pair stays");

    write(dir.path(), 4, &leaves[2], &leaves[2]);
    eventually("the third certificate is served", async || is_served(&server, &cas[2]).await).await;
    more_answers().await;
    assert!(!is_served(&server, &cas[1]).await, "the second certificate is gone");

    let answer = post_raw(&mut kept, "/length", b"four").await.expect("the first connection is still there");
    assert!(answer.ends_with("\r\n\r\n4"), "{answer}");
    stop.cancel();
    for client in clients {
        client.await.unwrap();
    }
}

#[tokio::test]
async fn whatever_else_is_in_the_folder_the_last_good_pair_stays_and_is_complained_about_once() {
    let dir = tempfile::tempdir().unwrap();
    let ca = new_ca();
    let leaf = leaf_for_localhost(&ca);
    let server = serve_folder(dir.path(), ca.clone(), &leaf).await;
    let key = leaf.key.expose_secret();
    let (now, names) = (UnixTime::now(), BTreeSet::from(["localhost".to_owned()]));
    let expired = issue(&ca, &names, now.minus(2 * DAY), now.minus(DAY)).unwrap();
    let early = issue(&ca, &names, now.plus(DAY), now.plus(2 * DAY)).unwrap();
    let broken = [
        ("", key),
        ("nothing", key),
        (leaf.certificate.as_str(), ""),
        (ca.certificate.as_str(), key),
        (expired.certificate.as_str(), expired.key.expose_secret()),
        (early.certificate.as_str(), early.key.expose_secret()),
    ];
    for (version, (certificate, key)) in (2..).zip(broken) {
        swap_in(dir.path(), version, certificate, key);
        let complaints = f64::from(version - 1);
        eventually("it is noticed", async || server.metric(RELOAD_FAILURES).await >= complaints).await;
        assert!(is_served(&server, &ca).await);
    }
    // A missing file too, and once more what is served already.
    std::fs::remove_file(dir.path().join("tls.key")).unwrap();
    eventually("it is noticed", async || server.metric(RELOAD_FAILURES).await >= 7.0).await;
    assert!(is_served(&server, &ca).await);
    write(dir.path(), 9, &leaf, &leaf);
    // More polls than one, which would each have complained again.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!((server.metric(RELOAD_FAILURES).await - 7.0).abs() < 0.5, "complained more than once");
}

#[tokio::test]
async fn at_the_start_an_unusable_folder_is_an_error_that_says_what_to_do_and_shows_no_key() {
    crate::serving_support::install_provider();
    let dir = tempfile::tempdir().unwrap();
    let open = async || CertificateFolder::open(dir.path(), Metrics::new().serving).await.unwrap_err().to_string();
    assert!(open().await.contains("--tls-cert-dir"), "{}", open().await);
    let ca = new_ca();
    let (leaf, other) = (leaf_for_localhost(&ca), leaf_for_localhost(&ca));
    write(dir.path(), 1, &leaf, &other);
    assert!(open().await.contains("the key does not belong to the certificate"), "{}", open().await);
    // A key whose armour is broken: PEM errors like to quote lines.
    let damaged = other.key.expose_secret().replace("-----\n", "-----");
    swap_in(dir.path(), 2, &leaf.certificate, &damaged);
    let secret = other.key.expose_secret().lines().nth(1).unwrap().to_owned();
    assert!(!open().await.contains(&secret[..16]), "{}", open().await);
}
