//! Candidates on a real API server, and a journal of what their work does, by one monotonic clock.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use mcm_migration_webhook::sidetask::election::{Election, ElectionConfig, ElectionError, Leadership, Standing};
use rig::{ApiProxy, ApiServer, ApiServerOptions, install, until};
use serde_json::{Value, json};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Long enough for a busy machine: a renewal may be answered late, and no term ends without a cause.
pub const LEASE: Duration = Duration::from_secs(6);
pub const RENEW: Duration = Duration::from_secs(4);
/// What is left between the end of one leader and the beginning of the next.
pub const BETWEEN: Duration = LEASE.saturating_sub(RENEW);
pub const RETRY: Duration = Duration::from_millis(300);
/// Long enough for anything that happens at all.
pub const DEADLINE: Duration = Duration::from_secs(120);

const NAMESPACE: &str = "default";
const ACCOUNT: &str = "candidate";

/// The rights that an election needs, and no more.
const RIGHTS: &str = r"
apiVersion: v1
kind: ServiceAccount
metadata: {name: candidate, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: candidate, namespace: default}
rules:
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: candidate, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: candidate}
subjects:
- {kind: ServiceAccount, name: candidate, namespace: default}
";

pub async fn server() -> &'static ApiServer {
    static SERVER: OnceCell<ApiServer> = OnceCell::const_new();
    SERVER
        .get_or_init(|| async {
            let server = ApiServer::start(ApiServerOptions::default()).await.unwrap();
            install::apply_manifests(&server, RIGHTS).await.unwrap();
            server
        })
        .await
}

/// A client with the rights of a candidate, through a proxy of its own.
pub async fn through_a_proxy() -> (ApiProxy, Client) {
    let server = server().await;
    let proxy = ApiProxy::start(server).unwrap();
    let kubeconfig = server.service_account_kubeconfig(NAMESPACE, ACCOUNT).await.unwrap();
    let client = rig::api_server::client(&proxy.kubeconfig_for(&kubeconfig).unwrap()).await.unwrap();
    (proxy, client)
}

/// A client with the rights of a candidate.
pub async fn client() -> Client {
    let server = server().await;
    let kubeconfig = server.service_account_kubeconfig(NAMESPACE, ACCOUNT).await.unwrap();
    rig::api_server::client(&kubeconfig).await.unwrap()
}

pub fn config(lease: &str, identity: &str) -> ElectionConfig {
    ElectionConfig::new(NAMESPACE, lease, identity, LEASE, RENEW, RETRY).unwrap()
}

/// One Lease, seen by the admin.
pub struct Record {
    api: Api<Lease>,
    name: &'static str,
}

impl Record {
    /// The Lease `name`, which may be absent.
    pub async fn of(name: &'static str) -> Self {
        Self { api: Api::namespaced(server().await.admin_client().await.unwrap(), NAMESPACE), name }
    }

    /// The Lease `name`, made as one that was released, so that the first candidate takes it at once.
    pub async fn released(name: &'static str) -> Self {
        Self::made(name, json!({ "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 7 })).await
    }

    pub async fn made(name: &'static str, spec: Value) -> Self {
        let record = Self::of(name).await;
        let lease = serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap();
        record.api.create(&PostParams::default(), &lease).await.unwrap();
        record
    }

    pub async fn get(&self) -> Option<Lease> {
        self.api.get_opt(self.name).await.unwrap()
    }

    /// The spec as it stands on the wire.
    pub async fn spec(&self) -> Value {
        self.get().await.map_or(Value::Null, |lease| serde_json::to_value(lease.spec).unwrap())
    }

    pub async fn patch(&self, patch: Value) {
        self.api.patch(self.name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub async fn delete(&self) {
        self.api.delete(self.name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits for a renewal that is later than all so far.
    pub async fn renewed(&self) {
        let before = self.spec().await["renewTime"].clone();
        until("the lease is renewed", DEADLINE, || async {
            Ok((self.spec().await["renewTime"] != before).then_some(()))
        })
        .await
        .unwrap();
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Started,
    /// The work found that it still held the leadership after this moment.
    Acted,
    /// The work learned that it holds it no more.
    Told,
    Ended,
}

#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub at: Instant,
    pub who: &'static str,
    pub what: What,
}

/// What all work did, in the order in which it did it.
#[derive(Debug, Clone, Default)]
pub struct Journal(Arc<Mutex<Vec<Entry>>>);

impl Journal {
    pub fn write(&self, who: &'static str, what: What) {
        self.write_at(Instant::now(), who, what);
    }

    pub fn write_at(&self, at: Instant, who: &'static str, what: What) {
        self.0.lock().unwrap().push(Entry { at, who, what });
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap().clone()
    }

    /// Who started last and has not ended.
    pub fn leader(&self) -> Option<&'static str> {
        self.entries().iter().rfind(|entry| entry.what != What::Acted).and_then(|entry| match entry.what {
            What::Started => Some(entry.who),
            _ => None,
        })
    }

    pub fn count(&self, what: What) -> usize {
        self.entries().iter().filter(|entry| entry.what == what).count()
    }

    pub fn last(&self, who: &str, what: What) -> Option<Instant> {
        self.entries().iter().rfind(|entry| entry.who == who && entry.what == what).map(|entry| entry.at)
    }

    /// Waits until `who` leads and acts.
    pub async fn leads(&self, who: &'static str) -> Instant {
        until(&format!("{who} leads"), DEADLINE, || async { Ok((self.leader() == Some(who)).then_some(())) })
            .await
            .unwrap();
        self.last(who, What::Started).unwrap()
    }

    /// Waits until somebody leads.
    pub async fn somebody_leads(&self) -> &'static str {
        until("somebody leads", DEADLINE, || async { Ok(self.leader()) }).await.unwrap()
    }

    /// Waits until what `who` did last is `what`.
    pub async fn did(&self, who: &'static str, what: What) -> Instant {
        let last = || self.entries().iter().rfind(|entry| entry.who == who).map(|entry| entry.what);
        until(&format!("{who}: {what:?}"), DEADLINE, || async { Ok((last() == Some(what)).then_some(())) })
            .await
            .unwrap();
        self.last(who, what).unwrap()
    }

    /// The work of one term never met that of another. Gives the number of terms.
    pub fn no_two_met(&self) -> usize {
        let mut leader = None;
        let mut terms = 0;
        for entry in self.entries() {
            match entry.what {
                What::Started => {
                    assert_eq!(leader, None, "{} began while another had not ended", entry.who);
                    leader = Some(entry.who);
                    terms += 1;
                }
                What::Acted | What::Told => assert_eq!(leader, Some(entry.who)),
                What::Ended => assert_eq!(leader.take(), Some(entry.who)),
            }
        }
        terms
    }
}

/// Writes the end of the work when it is dropped, however that comes.
pub struct Guard(pub Journal, pub &'static str);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.write(self.1, What::Ended);
    }
}

/// Acts all the time while the leadership holds; then takes `slow` to end.
pub async fn busy(journal: Journal, who: &'static str, leadership: Leadership, slow: Duration) {
    journal.write(who, What::Started);
    let _guard = Guard(journal.clone(), who);
    let acting = async {
        loop {
            let at = Instant::now();
            if leadership.holds() {
                journal.write_at(at, who, What::Acted);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = acting => {}
        () = leadership.lost() => {}
    }
    assert!(!leadership.holds());
    journal.write(who, What::Told);
    tokio::time::sleep(slow).await;
}

/// A candidate that runs.
pub struct Candidate {
    pub name: &'static str,
    pub standing: watch::Receiver<Standing>,
    pub stop: CancellationToken,
    pub task: JoinHandle<Result<(), ElectionError>>,
}

impl Candidate {
    /// A candidate with some work of its own.
    pub fn with_work<W, F>(client: Client, lease: &str, name: &'static str, work: W) -> Self
    where
        W: FnMut(Leadership) -> F + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let election = Election::new(client, config(lease, name));
        let stop = CancellationToken::new();
        let standing = election.standing();
        let task = tokio::spawn(election.run(stop.clone().cancelled_owned(), work));
        Self { name, standing, stop, task }
    }

    /// A candidate whose work is [`busy`] and ends at once.
    pub fn busy(client: Client, lease: &str, name: &'static str, journal: &Journal) -> Self {
        let journal = journal.clone();
        Self::with_work(client, lease, name, move |leadership| busy(journal.clone(), name, leadership, Duration::ZERO))
    }

    /// Waits until it knows that `holder` holds the Lease.
    pub async fn sees(&mut self, holder: &str) {
        let seen = self.standing.wait_for(|standing| standing.holder.as_deref() == Some(holder));
        tokio::time::timeout(DEADLINE, seen).await.unwrap().unwrap();
    }

    /// Shuts it down.
    pub async fn stopped(self) -> Result<(), ElectionError> {
        self.stop.cancel();
        self.ended().await
    }

    /// Waits until it ends.
    pub async fn ended(self) -> Result<(), ElectionError> {
        tokio::time::timeout(DEADLINE, self.task).await.unwrap().unwrap()
    }
}
