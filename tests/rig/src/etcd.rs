//! Reading and writing etcd beside the API server, by its JSON gateway.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

/// How many operations etcd takes in one transaction.
const TRANSACTION: usize = 100;
/// How long etcd may take over one of them.
const PATIENCE: Duration = Duration::from_secs(60);

/// One key as etcd has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Grows with each write.
    pub(crate) revision: u64,
    /// Whether etcd removes it by itself, as it does with Events.
    pub(crate) expires: bool,
    /// In base64; empty where only keys were asked for.
    pub(crate) value: String,
}

/// All keys of a cluster, as text.
pub(crate) type Keys = BTreeMap<String, Entry>;

/// A change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Delete {
        key: String,
    },
    /// `value` is in base64.
    Put {
        key: String,
        value: String,
    },
}

/// etcd at a URL.
#[derive(Debug)]
pub(crate) struct Etcd {
    http: reqwest::Client,
    url: String,
}

#[derive(Deserialize)]
struct Range {
    #[serde(default)]
    kvs: Vec<Kv>,
}

#[derive(Deserialize)]
struct Kv {
    key: String,
    mod_revision: String,
    #[serde(default)]
    value: String,
    lease: Option<String>,
}

impl Etcd {
    pub(crate) fn new(url: String) -> Result<Self> {
        let http = reqwest::Client::builder().timeout(PATIENCE).build().context("cannot make an HTTP client")?;
        Ok(Self { http, url })
    }

    /// Everything that an API server keeps there; with `values`, also what is in it.
    pub(crate) async fn keys(&self, values: bool) -> Result<Keys> {
        let (from, to) = (STANDARD.encode("/registry/"), STANDARD.encode("/registry0"));
        let range = json!({ "key": from, "range_end": to, "keys_only": !values });
        let range: Range = serde_json::from_value(self.call("range", &range).await?).context("not etcd's answer")?;
        range.kvs.into_iter().map(entry).collect()
    }

    /// Makes the changes, as many at a time as etcd takes; gives the keys that were put, with their new revisions.
    pub(crate) async fn change(&self, changes: &[Change]) -> Result<Vec<(String, u64)>> {
        let mut put = Vec::new();
        for some in changes.chunks(TRANSACTION) {
            let operations: Vec<Value> = some.iter().map(operation).collect();
            let answer = self.call("txn", &json!({ "success": operations })).await?;
            let revision = answer.pointer("/header/revision").and_then(Value::as_str).unwrap_or_default();
            let revision: u64 = revision.parse().context("a transaction of etcd without a revision")?;
            put.extend(some.iter().filter_map(|change| match change {
                Change::Put { key, .. } => Some((key.clone(), revision)),
                Change::Delete { .. } => None,
            }));
        }
        Ok(put)
    }

    async fn call(&self, what: &str, body: &Value) -> Result<Value> {
        let answer = self.http.post(format!("{}/v3/kv/{what}", self.url)).json(body).send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        ensure!(status.is_success(), "etcd answers {status} to {what}: {text}");
        serde_json::from_str(&text).context("etcd's answer is no JSON")
    }
}

fn entry(kv: Kv) -> Result<(String, Entry)> {
    let key = STANDARD.decode(&kv.key).context("a key that is not base64")?;
    let key = String::from_utf8(key).context("a key that is not UTF-8")?;
    let revision = kv.mod_revision.parse().context("a revision that is no number")?;
    Ok((key, Entry { revision, expires: kv.lease.is_some_and(|lease| lease != "0"), value: kv.value }))
}

fn operation(change: &Change) -> Value {
    match change {
        Change::Delete { key } => json!({ "request_delete_range": { "key": STANDARD.encode(key) } }),
        Change::Put { key, value } => json!({ "request_put": { "key": STANDARD.encode(key), "value": value } }),
    }
}
