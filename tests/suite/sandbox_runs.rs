//! The README's first command: the sandbox from its start to its summary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

/// The example that `cargo test` builds beside the binary.
fn sandbox() -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_mcm-migration-webhook")).parent().unwrap();
    let example = folder.join("examples/sandbox");
    assert!(
        example.is_file(),
        "{} is missing: `cargo test` builds it, and so does `cargo build --example sandbox`",
        example.display()
    );
    example
}

#[tokio::test]
async fn the_sandbox_migrates_its_shoots_and_says_so() {
    // Built once, here, where that is still to be done.
    rig::assets::ensure().await.unwrap();
    let sandbox = tokio::process::Command::new(sandbox())
        // With cargo it would see to it that the binary is fresh, which cargo has just done.
        .env_remove("CARGO")
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(std::time::Duration::from_secs(300), sandbox).await.expect("it ends").unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}\n{complaints}");
    for part in [
        "2 replicas, with a token of the shipped ServiceAccount",
        "What happened",
        "Who did it",
        "✓ Every shoot ended as it should",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
    // The Machine of the summary: old and new ID, one below the other.
    let lines: Vec<&str> = said.lines().map(str::trim).skip_while(|line| *line != "spec.providerID").collect();
    let [_, before, after, ..] = lines[..] else { panic!("no change of an ID in:\n{said}") };
    assert!(before.starts_with("- ") && before.contains("openstack:///"), "{before}");
    assert!(after.starts_with("+ ") && after.contains("stackit://"), "{after}");
}
