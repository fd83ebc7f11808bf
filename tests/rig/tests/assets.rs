//! What somebody reads who has no API server to test with.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

use rig::assets;

/// Set in the process that looks for the programs and prints what it found; environments belong to whole processes.
const CHILD: &str = "RIG_TEST_ASSETS";

#[tokio::test]
async fn found() {
    if std::env::var_os(CHILD).is_some() {
        let text = match assets::ensure().await {
            Ok(assets) => format!("found {}", assets.kubectl.display()),
            Err(error) => format!("{error:#}"),
        };
        std::fs::write(std::env::var_os(CHILD).unwrap(), text).unwrap();
    }
}

fn found_with(env: &[(&str, &Path)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "found"]).env_remove(assets::ASSETS_VARIABLE).env_remove(assets::VERSION_VARIABLE);
    let output = command.envs(env.iter().copied()).env(CHILD, &note).output().unwrap();
    std::fs::read_to_string(&note).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn the_folder_of_envtest_is_used_when_it_is_set() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["kube-apiserver", "etcd", "kubectl"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }

    let text = found_with(&[(assets::ASSETS_VARIABLE, folder.path())]);

    assert_eq!(text, format!("found {}", folder.path().join("kubectl").display()));
}

/// A folder with an API server that says this version of itself.
fn folder_of_version(version: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["kube-apiserver", "etcd", "kubectl"] {
        // By another process: a child of this one could hold the file open for writing, and then it cannot be run.
        let write = r#"printf '#!/bin/sh\necho Kubernetes %s\n' "$1" >"$2" && chmod +x "$2""#;
        let path = folder.path().join(name);
        let status = Command::new("sh").args(["-c", write, "sh", version]).arg(path).status().unwrap();
        assert!(status.success());
    }
    folder
}

#[test]
fn a_folder_of_another_version_than_the_one_asked_for_is_refused() {
    for (wanted, there) in [("1.34", "v1.36.3"), ("1.3", "v1.34.4"), ("v1.37", "v1.36.3")] {
        let folder = folder_of_version(there);
        let text =
            found_with(&[(assets::ASSETS_VARIABLE, folder.path()), (assets::VERSION_VARIABLE, Path::new(wanted))]);
        let begin = format!("KUBEBUILDER_ASSETS and MCM_TEST_KUBERNETES={wanted} contradict each other: ");
        assert!(text.starts_with(&begin) && text.ends_with("; unset one of them"), "{text}");
        assert!(text.contains(&there[1..]), "{text}");
    }
}

#[test]
fn a_folder_of_the_version_asked_for_is_used() {
    for wanted in ["1.36", "v1.36", "1.36.3", ""] {
        let folder = folder_of_version("v1.36.3");
        let text =
            found_with(&[(assets::ASSETS_VARIABLE, folder.path()), (assets::VERSION_VARIABLE, Path::new(wanted))]);
        assert_eq!(text, format!("found {}", folder.path().join("kubectl").display()));
    }
}

#[test]
fn a_folder_without_the_programs_is_named() {
    let folder = tempfile::tempdir().unwrap();

    let text = found_with(&[(assets::ASSETS_VARIABLE, folder.path())]);

    let wanted = "kube-apiserver is missing; KUBEBUILDER_ASSETS must name a folder with kube-apiserver, etcd and kubectl, or be unset";
    assert!(text.ends_with(wanted), "{text}");
}

#[test]
fn without_go_and_without_the_folder_one_sentence_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();

    let text = found_with(&[("PATH", folder.path()), ("CARGO_TARGET_DIR", folder.path())]);

    assert_eq!(
        text,
        "the tests need a real API server: install Go (https://go.dev/dl), or set KUBEBUILDER_ASSETS to a folder with kube-apiserver, etcd and kubectl"
    );
}

#[test]
fn a_version_without_a_module_is_named() {
    let text = found_with(&[(assets::VERSION_VARIABLE, Path::new("1.12"))]);

    assert!(text.contains("MCM_TEST_KUBERNETES=1.12"), "{text}");
}
