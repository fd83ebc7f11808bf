//! The binary: the first SIGTERM ends it in good order, the second at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use crate::support::{DEADLINE, Offline};

#[tokio::test]
async fn after_the_first_signal_it_is_unready_answers_calls_and_ends_with_0() {
    let served = Offline::start(&["--shutdown-delay", "2s"], |_| {}).await;
    assert_eq!(served.product.admin_get("/readyz").await.unwrap(), (200, "ok\n".to_owned()));
    served.product.sigterm().unwrap();
    rig::until("it is unready", DEADLINE, || async {
        Ok((served.product.admin_get("/readyz").await?.0 == 503).then_some(()))
    })
    .await
    .unwrap();
    let request = crate::support::request("UPDATE", crate::support::machine());
    served.ask("/mutate/machine", request).await;
    assert_eq!(served.product.admin_get("/livez").await.unwrap().0, 200);
    assert_eq!(served.product.wait(DEADLINE).await.unwrap(), 0);
}

#[tokio::test]
async fn the_second_signal_ends_it_at_once_with_1() {
    let served = Offline::start(&["--shutdown-delay", "1h"], |_| {}).await;
    served.product.sigterm().unwrap();
    served.product.await_log(|line| rig::product::field(line, "message") == Some("stopping"), DEADLINE).await.unwrap();
    served.product.sigterm().unwrap();
    assert_eq!(served.product.wait(DEADLINE).await.unwrap(), 1);
    // It may have ended before its last line is read.
    rig::until("it says why", DEADLINE, || async {
        let said = |line: &serde_json::Value| line.as_str().is_some_and(|text| text.contains("second signal"));
        Ok(served.product.logs().iter().any(said).then_some(()))
    })
    .await
    .unwrap();
}
