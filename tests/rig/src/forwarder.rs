//! A TCP forwarder that stands for the Service in front of the product's replicas.
//!
//! As kube-proxy does: it learns late of a replica that becomes ready or stops being so, spreads new connections over the
//! ones it believes ready, leaves established connections where they are, and does not try another replica when one
//! refuses.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::background::Background;
use crate::{install_tls_provider, wait};

/// How long a change takes from a replica to the forwarder, as endpoint propagation does.
pub const LATE: Duration = Duration::from_secs(2);
/// How often `/readyz` of each replica is asked.
const PROBE: Duration = Duration::from_millis(100);
/// How long an answer may take: the readiness probe's `timeoutSeconds` in the manifests.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The forwarder. Dropping it closes everything.
#[derive(Debug)]
pub struct Forwarder {
    address: SocketAddr,
    shared: Arc<Shared>,
    background: Background,
}

#[derive(Debug, Default)]
struct Shared {
    replicas: Mutex<Vec<Arc<Replica>>>,
    next: AtomicUsize,
    ids: AtomicUsize,
}

/// Names a replica of one forwarder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplicaId(usize);

#[derive(Debug)]
struct Replica {
    id: ReplicaId,
    admission: SocketAddr,
    admin: SocketAddr,
    believed_ready: AtomicBool,
    removed: AtomicBool,
    opened: AtomicUsize,
    open: AtomicUsize,
}

impl Forwarder {
    /// Listens on a loopback port. Without replicas it closes connections at once.
    pub fn start() -> Result<Self> {
        install_tls_provider();
        let background = Background::start("forwarder")?;
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no loopback port for the forwarder")?;
        listener.set_nonblocking(true).context("cannot set up the forwarder's socket")?;
        let address = listener.local_addr().context("the forwarder has no address")?;
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        background.handle()?.spawn(async move {
            if let Ok(listener) = TcpListener::from_std(listener) {
                accept(listener, accepting).await;
            }
        });
        Ok(Self { address, shared, background })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `https://127.0.0.1:<port>`, for the `clientConfig` of webhooks.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Adds a replica: where it serves, and where its `/readyz` is. It gets connections two seconds after it is ready.
    pub fn add(&self, admission: SocketAddr, admin: SocketAddr) -> Result<ReplicaId> {
        let id = ReplicaId(self.shared.ids.fetch_add(1, Ordering::Relaxed));
        let replica = Arc::new(Replica {
            id,
            admission,
            admin,
            believed_ready: AtomicBool::new(false),
            removed: AtomicBool::new(false),
            opened: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
        });
        self.shared.lock().push(Arc::clone(&replica));
        self.background.handle()?.spawn(probe(replica));
        Ok(id)
    }

    /// Takes a replica out, two seconds late as well. Its established connections stay.
    pub fn remove(&self, id: ReplicaId) {
        if let Some(replica) = self.shared.find(id) {
            replica.removed.store(true, Ordering::Relaxed);
        }
    }

    /// How many replicas get new connections.
    #[must_use]
    pub fn ready_replicas(&self) -> usize {
        self.shared.lock().iter().filter(|replica| replica.believed_ready.load(Ordering::Relaxed)).count()
    }

    /// Waits until exactly `count` replicas get new connections.
    pub async fn await_ready(&self, count: usize, deadline: Duration) -> Result<()> {
        let what = format!("{count} replicas behind the forwarder");
        wait::until(&what, deadline, || async { Ok((self.ready_replicas() == count).then_some(())) }).await
    }

    /// How many connections a replica has been given.
    #[must_use]
    pub fn opened(&self, id: ReplicaId) -> usize {
        self.shared.find(id).map_or(0, |replica| replica.opened.load(Ordering::Relaxed))
    }

    /// How many of them are established now.
    #[must_use]
    pub fn open(&self, id: ReplicaId) -> usize {
        self.shared.find(id).map_or(0, |replica| replica.open.load(Ordering::Relaxed))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Replica>>> {
        self.replicas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: ReplicaId) -> Option<Arc<Replica>> {
        self.lock().iter().find(|replica| replica.id == id).cloned()
    }

    /// The next replica in turn among those believed ready.
    fn choose(&self) -> Option<Arc<Replica>> {
        let replicas = self.lock();
        let ready: Vec<_> = replicas.iter().filter(|replica| replica.believed_ready.load(Ordering::Relaxed)).collect();
        let turn = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(ready.len())?;
        ready.get(turn).copied().cloned()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Nobody ready: the connection is closed, as a Service without endpoints refuses it.
        if let Some(replica) = shared.choose() {
            tokio::spawn(forward(client, replica));
        }
    }
}

async fn forward(mut client: TcpStream, replica: Arc<Replica>) {
    replica.opened.fetch_add(1, Ordering::Relaxed);
    let Ok(mut server) = TcpStream::connect(replica.admission).await else { return };
    // The kernel's own forwarding adds no delay either.
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    replica.open.fetch_add(1, Ordering::Relaxed);
    // An error is a connection that one side has cut; so is the other one then.
    let _ = copy_bidirectional(&mut client, &mut server).await;
    replica.open.fetch_sub(1, Ordering::Relaxed);
}

/// Asks for readiness for ever, and acts on each change [`LATE`].
async fn probe(replica: Arc<Replica>) {
    let Ok(client) = reqwest::Client::builder().timeout(PROBE_TIMEOUT).no_proxy().build() else { return };
    let url = format!("http://{}/readyz", replica.admin);
    let mut seen = false;
    let mut changes: VecDeque<(Instant, bool)> = VecDeque::new();
    loop {
        let removed = replica.removed.load(Ordering::Relaxed);
        let ready = !removed && client.get(&url).send().await.is_ok_and(|answer| answer.status().is_success());
        if ready != seen {
            seen = ready;
            changes.push_back((Instant::now() + LATE, ready));
        }
        while let Some((due, ready)) = changes.front().copied()
            && due <= Instant::now()
        {
            replica.believed_ready.store(ready, Ordering::Relaxed);
            changes.pop_front();
        }
        if removed && changes.is_empty() {
            return;
        }
        tokio::time::sleep(PROBE).await;
    }
}
