//! The runner reads what the product logs, finds its listeners, and ends it. A shell script stands for the product.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;

use rig::Product;
use rig::product::field;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const DEADLINE: Duration = Duration::from_secs(60);

fn script(text: &str, env: &[(&str, &str)]) -> Product {
    Product::start(Path::new("/bin/sh"), &["-c", text], env).unwrap()
}

#[tokio::test]
async fn it_finds_the_listeners_and_reads_the_admin_one() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        // Not ready at first.
        for (status, body) in
            [("503 Service Unavailable", "machines"), ("200 OK", "ok"), ("200 OK", "calls{a=\"b\"} 7\n")]
        {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = [0; 1024];
            let _ = stream.read(&mut buffer).await.unwrap();
            let length = body.len();
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let product = script(
        r#"
        echo '{"level":"INFO","fields":{"message":"listening","listener":"admission","address":"[::]:4711"}}'
        echo "{\"message\":\"listening\",\"listener\":\"admin\",\"address\":\"$ADDRESS\"}"
        exec sleep 60"#,
        &[("ADDRESS", &address)],
    );

    assert_eq!(product.address("admission", DEADLINE).await.unwrap().to_string(), "127.0.0.1:4711");
    assert_eq!(product.address("admin", DEADLINE).await.unwrap().to_string(), address);
    product.ready(DEADLINE).await.unwrap();
    assert!((product.metric("calls", &[("a", "b")]).await.unwrap() - 7.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn sigterm_reaches_it_and_the_exit_code_comes_back() {
    let product = script(
        "trap 'echo \"{\\\"message\\\":\\\"ending\\\"}\"; exit 42' TERM; echo '{\"message\":\"up\"}'; while :; do sleep 0.05; done",
        &[],
    );
    product.await_log(|line| field(line, "message") == Some("up"), DEADLINE).await.unwrap();
    assert_eq!(product.exit_code().unwrap(), None);

    product.sigterm().unwrap();

    assert_eq!(product.wait(DEADLINE).await.unwrap(), 42);
    product.await_log(|line| field(line, "message") == Some("ending"), DEADLINE).await.unwrap();
}

#[tokio::test]
async fn a_product_that_ends_early_is_an_error_with_its_last_lines() {
    let product = script("echo 'panicked at the start' >&2; exit 3", &[]);

    let error = product.address("admin", Duration::from_secs(600)).await.unwrap_err();

    assert!(format!("{error:#}").contains("panicked at the start"), "{error:#}");
    assert_eq!(product.wait(DEADLINE).await.unwrap(), 3);
}

#[tokio::test]
async fn it_finds_no_cluster_that_it_is_not_given() {
    let product = script("echo \"\\\"${KUBECONFIG-none} ${KUBERNETES_SERVICE_HOST-none} $HOME\\\"\"", &[]);

    product.wait(DEADLINE).await.unwrap();

    product.await_log(|line| line == "none none /nonexistent", DEADLINE).await.unwrap();
}
