//! `certs` makes a CA and a pair that other programs accept, and overwrites nothing by itself.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use base64::Engine;

fn certs(out: &Path, more: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_mcm-migration-webhook");
    Command::new(binary).args(["certs", "--out"]).arg(out).args(more).output().unwrap()
}

/// Runs openssl, which the certificates of this program are made to satisfy too.
fn openssl(args: &[&str]) -> String {
    let output = Command::new("openssl").args(args).output().expect("this test needs openssl");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {args:?}: {text}");
    text
}

#[test]
fn openssl_accepts_the_pair_for_the_names_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/folder");
    let made = certs(&out, &["--name", "webhook.example.org", "--name", "192.0.2.7", "--days", "3"]);
    assert!(made.status.success(), "{made:?}");
    let file = |name: &str| out.join(name).to_str().unwrap().to_owned();
    let (ca, crt, key) = (file("ca.crt"), file("tls.crt"), file("tls.key"));
    for name in [["-verify_hostname", "webhook.example.org"], ["-verify_ip", "192.0.2.7"]] {
        let args = ["verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", &ca, name[0], name[1], &crt];
        assert!(openssl(&args).contains(": OK"));
    }
    let public = openssl(&["x509", "-in", &crt, "-noout", "-pubkey"]);
    assert_eq!(public, openssl(&["pkey", "-in", &key, "-pubout"]), "the key belongs to the certificate");
    assert_eq!(std::fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);

    let said = String::from_utf8(made.stdout).unwrap();
    let bundle = said.lines().find_map(|line| line.strip_prefix("caBundle: ")).unwrap();
    let bundle = base64::prelude::BASE64_STANDARD.decode(bundle).unwrap();
    assert_eq!(bundle, std::fs::read(&ca).unwrap());
}

#[test]
fn what_is_there_stays_unless_force_is_said() {
    let dir = tempfile::tempdir().unwrap();
    assert!(certs(dir.path(), &[]).status.success());
    let key = || std::fs::read_to_string(dir.path().join("tls.key")).unwrap();
    let first = key();
    let refused = certs(dir.path(), &[]);
    assert_eq!(refused.status.code(), Some(64), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"), "{refused:?}");
    assert_eq!(key(), first);
    assert!(certs(dir.path(), &["--force"]).status.success());
    assert_ne!(key(), first);
}
