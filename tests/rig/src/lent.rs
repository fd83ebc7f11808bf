//! API servers that one test hands on to the next.
//!
//! To start one and to install what a test needs costs more than most tests do afterwards. So a test may take one that an
//! earlier test of the same process has done with: what that test made is taken out of etcd, and what it changed is put
//! back, before the next one sees it.

use std::any::{Any as _, TypeId};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::etcd::Keys;
use crate::reset::Late;
use crate::{ApiServer, ApiServerOptions, in_force, objects, reset};

/// How many wait for a test at most; what is beyond ends.
const IDLE: usize = 4;
/// How often what appears anew is removed: clients of the earlier test may still have been about.
const ROUNDS: usize = 50;
/// How long nothing may appear, twice in a row. Roles and their bindings have no other sign that the API server has
/// noticed their end: a test whose user has the name of an earlier test's user may for a moment have that one's rights.
const SETTLED: Duration = Duration::from_millis(100);

static WAITING: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// The name of a state and the function that leads to it: a name that two use for different states is no harm.
type Kind = (&'static str, Option<TypeId>);

/// An API server and what it was when it was new and set up.
#[derive(Debug, Clone)]
struct Kept {
    kind: Kind,
    server: Arc<ApiServer>,
    before: Arc<Keys>,
}

/// An API server for one test. It goes to another one when this is dropped, unless it was stopped or frozen meanwhile
/// or the test has failed.
#[derive(Debug)]
pub struct Lent(Kept);

impl Lent {
    /// One with what `set_up` installs, in the state in which `set_up` left it. `kind` names that state: all who say the
    /// same `kind` with the same `set_up` hand on to each other.
    ///
    /// Counters and audit events of `set_up` and of earlier tests are not seen through [`ApiServer::metric`] and
    /// [`ApiServer::audit_events`].
    pub async fn take(
        kind: &'static str,
        set_up: impl AsyncFnOnce(&ApiServer) -> Result<()> + 'static,
    ) -> Result<Self> {
        let kind = (kind, Some(set_up.type_id()));
        while let Some(Kept { kind, server, before }) = waiting(kind) {
            // One that cannot be cleaned is as good as none.
            match clean(&server, &before).await {
                Ok(before) => return Ok(Self(Kept { kind, server, before: Arc::new(before) })),
                Err(error) => crate::say(&format!("an API server is not handed on: {error:#}")),
            }
        }
        let server = ApiServer::start(ApiServerOptions::default()).await?;
        set_up(&server).await?;
        let before = Arc::new(server.store().etcd()?.keys(true).await?);
        server.forget_the_past().await?;
        Ok(Self(Kept { kind, server: Arc::new(server), before }))
    }
}

/// One that is handed on to nobody.
impl From<ApiServer> for Lent {
    fn from(server: ApiServer) -> Self {
        server.spoil();
        Self(Kept { kind: ("own", None), server: Arc::new(server), before: Arc::default() })
    }
}

impl Deref for Lent {
    type Target = ApiServer;

    fn deref(&self) -> &ApiServer {
        &self.0.server
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if std::thread::panicking() || self.0.server.is_spoilt() {
            return;
        }
        let mut all = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        // The one that nobody has wanted for longest.
        let ends = (all.len() >= IDLE).then(|| all.remove(0));
        all.push(self.0.clone());
        // It takes a while to end; others need not wait for it.
        drop(all);
        drop(ends);
    }
}

fn waiting(kind: Kind) -> Option<Kept> {
    let mut all = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    let at = all.iter().position(|kept| kept.kind == kind)?;
    Some(all.remove(at))
}

/// Makes an API server what it was, and waits until it acts accordingly; gives the keys with their new revisions.
async fn clean(server: &ApiServer, before: &Keys) -> Result<Keys> {
    let etcd = server.store().etcd()?;
    let mut before = before.clone();
    let mut late = BTreeSet::new();
    let mut definitions = Vec::new();
    let mut quiet = false;
    for _ in 0..ROUNDS {
        let reset = reset::plan(&before, &etcd.keys(false).await?);
        ensure!(!reset.definitions, "the last test has changed a definition");
        match (reset.changes.is_empty(), quiet) {
            (true, true) => {
                server.forget_kinds()?;
                server.forget_the_past().await?;
                return Ok(before);
            }
            (true, false) => {
                await_change(server, std::mem::take(&mut late), std::mem::take(&mut definitions)).await?;
                quiet = true;
            }
            (false, _) => {
                for one in &reset.late {
                    if let Late::Definition(name) = one {
                        definitions.push(definition(server, name).await?);
                    }
                }
                late.extend(reset.late);
                for (key, revision) in etcd.change(&reset.changes).await? {
                    if let Some(entry) = before.get_mut(&key) {
                        entry.revision = revision;
                    }
                }
                quiet = false;
            }
        }
        tokio::time::sleep(SETTLED).await;
    }
    bail!("somebody still writes to it")
}

/// Waits until the API server does no longer act on what was there; `definitions` are those that are gone.
async fn await_change(server: &ApiServer, late: BTreeSet<Late>, definitions: Vec<Value>) -> Result<()> {
    for crd in &definitions {
        in_force::await_end_of_crd(server, crd).await?;
    }
    for one in late {
        match one {
            Late::Policies => in_force::await_policies(server).await?,
            Late::Webhooks(kind) => in_force::await_webhooks(server, kind).await?,
            // Waited for above.
            Late::Definition(_) => {}
        }
    }
    Ok(())
}

/// A definition as it is, which tells the paths that it has made.
async fn definition(server: &ApiServer, name: &str) -> Result<Value> {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": name },
    });
    let there = objects::get(&server.admin_client().await?, &crd).await?;
    serde_json::to_value(there.with_context(|| format!("the definition {name} is gone"))?).context("no JSON")
}
