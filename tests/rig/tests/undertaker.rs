//! What the rig started ends with it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rig::{ApiServer, ApiServerOptions};

/// Set in the process that is killed.
const VICTIM: &str = "RIG_TEST_VICTIM";

#[tokio::test]
async fn a_killed_test_process_leaves_no_server_and_no_folder() {
    if std::env::var_os(VICTIM).is_some() {
        let server = ApiServer::start(ApiServerOptions::default()).await.unwrap();
        std::fs::write(
            std::env::var_os(VICTIM).unwrap(),
            format!("{}\n{}", server.etcd_id(), server.folder().display()),
        )
        .unwrap();
        std::future::pending::<()>().await;
    }
    // A first build has no deadline; what the other process then needs has.
    rig::assets::ensure().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_test_process_leaves_no_server_and_no_folder"])
        .env(VICTIM, &note)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let text = rig::until("the server of the other process", Duration::from_secs(120), || async {
        Ok(std::fs::read_to_string(&note).ok().filter(|text| text.contains('\n')))
    })
    .await
    .unwrap();
    let (etcd, servers) = text.split_once('\n').unwrap();
    let process = Path::new("/proc").join(etcd);
    assert!(process.exists() && Path::new(servers).exists());

    victim.kill().unwrap();
    victim.wait().unwrap();

    rig::until("the other process's servers are gone", Duration::from_secs(60), || async {
        Ok((!process.exists() && !Path::new(servers).exists()).then_some(()))
    })
    .await
    .unwrap();
}
