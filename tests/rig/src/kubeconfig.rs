//! Kubeconfig files, written as JSON, which is YAML too.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::certs::Pair;

/// How the user of a kubeconfig proves who they are.
#[derive(Clone, Copy, Debug)]
pub enum Credential<'a> {
    /// A client certificate.
    Certificate(&'a Pair),
    /// A bearer token.
    Token(&'a str),
}

/// Writes a kubeconfig for `url`, whose certificate `ca_pem` signed, readable by its owner alone.
pub fn write(path: &Path, url: &str, ca_pem: &str, credential: Credential<'_>) -> Result<()> {
    let user = match credential {
        Credential::Certificate(pair) => json!({
            "client-certificate-data": STANDARD.encode(&pair.cert),
            "client-key-data": STANDARD.encode(&pair.key),
        }),
        Credential::Token(token) => json!({ "token": token }),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "rig", "cluster": { "server": url, "certificate-authority-data": STANDARD.encode(ca_pem) } }],
        "users": [{ "name": "rig", "user": user }],
        "contexts": [{ "name": "rig", "context": { "cluster": "rig", "user": "rig" } }],
        "current-context": "rig",
    });
    write_private(path, &format!("{config:#}\n"))
}

/// Writes a copy of `from` to `to` that goes to `url`, whose certificate `ca_pem` signed.
pub fn redirect(from: &Path, to: &Path, url: &str, ca_pem: &str) -> Result<()> {
    let text = std::fs::read_to_string(from).with_context(|| format!("cannot read {}", from.display()))?;
    let mut config: Value =
        serde_json::from_str(&text).with_context(|| format!("{} was not written by the rig", from.display()))?;
    let cluster = config.pointer_mut("/clusters/0/cluster").context("a kubeconfig without a cluster")?;
    *cluster = json!({ "server": url, "certificate-authority-data": STANDARD.encode(ca_pem) });
    write_private(to, &format!("{config:#}\n"))
}

/// Writes a file with mode 0600.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}
