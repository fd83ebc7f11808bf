//! What `serve` cannot work with ends it with one sentence on standard error, which names the flag or the file and says what to do,
//! and with the exit code that tells a wrong configuration from an API server that is not there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{binary, repository};

/// Usage or configuration.
const USAGE: i32 = 64;

/// The API server is not there; a start later may go well.
const RESTART: i32 = 75;

/// What is given, the exit code, and what the sentence has to say.
type Row<'a> = (&'a [&'a str], i32, &'a [&'a str]);

/// Flags with which nothing but what a row adds can be wrong.
const WELL: [&str; 3] = ["--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--side-task=false"];

#[test]
fn a_bad_flag_is_named_with_what_to_write_instead() {
    let address = "is not an IP address with a port; write for example 127.0.0.1:8443";
    let rows: [Row<'_>; 12] = [
        (&["--tls-self-managed", "--listen=foo"], USAGE, &["'--listen <ADDRESS>'", "`foo`", address]),
        (&["--tls-self-managed", "--listen=localhost:8443"], USAGE, &["'--listen <ADDRESS>'", address]),
        (&["--tls-self-managed", "--admin-listen=:8080"], USAGE, &["'--admin-listen <ADDRESS>'", "`:8080`", address]),
        (
            &["--tls-self-managed", "--cache-max-age=soon"],
            USAGE,
            &["'--cache-max-age <DURATION>'", "`soon` is not a duration; write for example 15s or 2m30s"],
        ),
        (
            &["--tls-self-managed", "--shutdown-delay=15"],
            USAGE,
            &["'--shutdown-delay <DURATION>'", "write for example 15s"],
        ),
        (
            &["--tls-self-managed", "--drain-timeout=-5s"],
            USAGE,
            &["'--drain-timeout <DURATION>'", "write for example 15s"],
        ),
        (&["--tls-self-managed", "--max-connections=0"], USAGE, &["'--max-connections <N>'", "1..=65536"]),
        (
            &["--tls-self-managed", "--log=audit=loud"],
            USAGE,
            &["--log `audit=loud`", "write for example info or info,audit=debug"],
        ),
        (&["--tls-self-managed", "--listn=[::]:1"], USAGE, &["'--listn'", "a similar argument exists: '--listen'"]),
        (&[], USAGE, &["--tls-cert-dir <DIR>|--tls-self-managed", "not provided"]),
        (
            &["--tls-self-managed", "--tls-cert-dir=certs"],
            USAGE,
            &["'--tls-self-managed'", "cannot be used with", "'--tls-cert-dir <DIR>'"],
        ),
        (
            &["--tls-self-managed", "--objects=objects"],
            USAGE,
            &["'--tls-self-managed'", "cannot be used with", "'--objects <DIR>'"],
        ),
    ];
    for (args, code, says) in rows {
        assert_ends(args, code, says);
    }
}

#[test]
fn a_folder_that_holds_no_certificate_to_serve_with_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str| {
        let dir = folder.path().join(name);
        let output = Command::new(binary()).args(["certs", "--out"]).arg(&dir).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        dir
    };
    let (good, other) = (made("good"), made("other"));
    let missing = folder.path().join("missing");
    let half = made("half");
    std::fs::remove_file(half.join("tls.key")).unwrap();
    let garbage = made("garbage");
    std::fs::write(garbage.join("tls.crt"), "no certificate").unwrap();
    let keyless = made("keyless");
    std::fs::write(keyless.join("tls.key"), "no key").unwrap();
    let mixed = made("mixed");
    std::fs::copy(other.join("tls.key"), mixed.join("tls.key")).unwrap();

    let folder_with = "--tls-cert-dir names a folder with tls.crt and tls.key that this process may read";
    let renew = "renew them, or make a development pair with `certs`";
    let rows: [(&Path, [&str; 2]); 5] = [
        (&missing, ["tls.crt: No such file", folder_with]),
        (&half, ["tls.key: No such file", folder_with]),
        (&garbage, ["the certificate is no PEM file", renew]),
        (&keyless, ["the key is no PEM file", renew]),
        (&mixed, ["the key does not belong to the certificate", renew]),
    ];
    let objects = format!("--objects={}", repository("examples/objects").display());
    for (dir, [wrong, advice]) in rows {
        let flag = format!("--tls-cert-dir={}", dir.display());
        assert_ends(&[&objects, &flag], USAGE, &[dir.to_str().unwrap(), wrong, advice]);
    }

    // With a good pair it gets as far as the socket.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (listen, good) =
        (format!("--listen={}", taken.local_addr().unwrap()), format!("--tls-cert-dir={}", good.display()));
    let address = listen.trim_start_matches("--listen=").to_owned();
    let says = [&*address, "(--listen)", "in use", "choose an address of this host and a free port"];
    assert_ends(&[&objects, &good, &listen], USAGE, &says);

    let nowhere = folder.path().join("nowhere");
    let objects = format!("--objects={}", nowhere.display());
    assert_ends(&[&objects, &good], USAGE, &[nowhere.to_str().unwrap(), "--objects"]);
}

#[test]
fn a_kubeconfig_that_leads_to_no_api_server_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    // Bound and not listened to: nobody else can answer there.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    let nobody = tokio::net::TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("https://{}", nobody.local_addr().unwrap());
    let config = |server: &str| {
        format!(
            r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "seed",
                "clusters": [{{"name": "seed", "cluster": {{"server": "{server}"}}}}],
                "users": [{{"name": "olga", "user": {{"token": "t0p-s3cret"}}}}],
                "contexts": [{{"name": "seed", "context": {{"cluster": "seed", "user": "olga"}}}}]}}"#
        )
    };
    let missing = folder.path().join("missing.kubeconfig");
    let broken = written("broken.kubeconfig", "apiVersion: v1\nclusters:\n  - name: [\nusers: t0p-s3cret\n");
    // The parser would quote this one in its message.
    let mistyped = written("mistyped.kubeconfig", "apiVersion: v1\nusers: t0p-s3cret\n");
    let empty = written("empty.kubeconfig", "");
    let without = written(
        "without.kubeconfig",
        &config(&url).replace("current-context\": \"seed\"", "current-context\": \"other\""),
    );
    let no_url = written("no-url.kubeconfig", &config("seed example"));
    let unreached = written("unreached.kubeconfig", &config(&url));

    let check = "check the file named by --kubeconfig and its current context";
    let rows: [(&Path, i32, [&str; 2]); 7] = [
        (&missing, USAGE, ["No such file", check]),
        (&broken, USAGE, ["it is no YAML of a kubeconfig (line 3, column 11)", check]),
        (&mistyped, USAGE, ["it is no YAML of a kubeconfig (line", check]),
        (&empty, USAGE, ["context", check]),
        (&without, USAGE, ["context", check]),
        (&no_url, USAGE, ["url", check]),
        (&unreached, RESTART, ["refused", "check the address, and that it can be reached from here"]),
    ];
    for (file, code, [wrong, advice]) in rows {
        let flag = format!("--kubeconfig={}", file.display());
        // Which one it is: the file, or the address that stands in it.
        let which = if code == RESTART { &*url } else { file.to_str().unwrap() };
        for tls in ["--tls-self-managed", "--tls-cert-dir=nowhere"] {
            assert_ends(&[tls, &flag], code, &[which, wrong, advice]);
        }
    }
    let flag = format!("--kubeconfig={}", unreached.display());
    let says = ["context", "nobodys", "--kubeconfig"];
    assert_ends(&["--tls-self-managed", &flag, "--context=nobodys"], USAGE, &says);
    // Found by the variable, as kubectl finds it; and neither by a flag, nor by a variable, nor in a pod.
    let variable = [("KUBECONFIG", &*broken)];
    let says = ["no API server found", "(line 3, column 11)", "--kubeconfig or KUBECONFIG"];
    assert_ends_with(&variable, &["--tls-self-managed"], USAGE, &says);
    assert_ends_with(
        &variable,
        &["--tls-self-managed", "--context=seed"],
        USAGE,
        &["the context seed", "(line 3, column 11)"],
    );
    assert_ends(&["--tls-self-managed"], USAGE, &["no API server found", "--kubeconfig or KUBECONFIG"]);
}

#[track_caller]
fn assert_ends(args: &[&str], code: i32, says: &[&str]) {
    assert_ends_with(&[], args, code, says);
}

/// Runs `serve`, and expects this exit code and one sentence that says all of this.
#[track_caller]
fn assert_ends_with(variables: &[(&str, &Path)], args: &[&str], code: i32, says: &[&str]) {
    let mut command = Command::new(binary());
    command.arg("serve").args(args);
    // A flag may be given once.
    command.args(WELL.iter().filter(|well| !args.iter().any(|arg| arg.split('=').next() == well.split('=').next())));
    let output = command
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", "/nonexistent")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    let sentence = said.strip_prefix("mcm-migration-webhook: ").unwrap_or_else(|| panic!("{args:?}: {said}"));
    let sentence = sentence.strip_suffix('\n').unwrap_or_else(|| panic!("{args:?}: no end of line: {said}"));
    assert!(!sentence.contains('\n'), "{args:?}: more than one line: {said}");
    for part in says {
        assert!(sentence.contains(part), "{args:?}: `{part}` is not in: {sentence}");
    }
    // Nor is it told a second time in the log, and a key never.
    for text in [&*said, &*String::from_utf8_lossy(&output.stdout)] {
        assert!(!text.contains("panicked") && !text.contains("t0p-s3cret"), "{args:?}: {text}");
    }
}
