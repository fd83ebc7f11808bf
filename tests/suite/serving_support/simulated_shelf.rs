//! Secret, webhook configuration and time in memory. Each access stops once before it happens, so that a simulation decides who goes on.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use k8s_openapi::ByteString;
use mcm_migration_webhook::serving::UnixTime;
use mcm_migration_webhook::serving::certificates::rotation::{Lifetimes, Wanted};
use mcm_migration_webhook::serving::certificates::{
    RotationError, Round, SharedTls, Shelf, ShelfError, Stored, WebhookBundles, round,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime as PkiTime};

pub const NAME: &str = "mcm-migration-webhook.mcm-migration-system.svc";
pub const HOUR: Duration = Duration::from_secs(3600);
pub const DAY: Duration = Duration::from_secs(86_400);
pub const START: UnixTime = UnixTime(1_800_000_000);

pub fn wanted() -> Wanted {
    Wanted { names: BTreeSet::from([NAME.to_owned()]), lifetimes: Lifetimes::default() }
}

/// Secret, one webhook configuration, and the time.
pub struct Cluster {
    pub now: UnixTime,
    pub secret: BTreeMap<String, ByteString>,
    pub secret_version: u64,
    pub bundle: String,
    pub configuration_version: u64,
    /// When the configuration began to hold which bundle.
    pub history: Vec<(UnixTime, String)>,
}

#[derive(Clone)]
pub struct SimulatedShelf(Arc<Mutex<Cluster>>);

impl SimulatedShelf {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Cluster {
            now: START,
            secret: BTreeMap::new(),
            secret_version: 0,
            bundle: String::new(),
            configuration_version: 0,
            history: vec![(START, String::new())],
        })))
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut Cluster) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }

    pub fn now(&self) -> UnixTime {
        self.with(|cluster| cluster.now)
    }

    pub fn set_bundle(&self, bundle: &str) {
        self.with(|cluster| {
            bundle.clone_into(&mut cluster.bundle);
            cluster.configuration_version += 1;
            cluster.history.push((cluster.now, bundle.to_owned()));
        });
    }

    /// One undisturbed round.
    pub fn round(&self, wanted: &Wanted, known: Option<&SharedTls>) -> Result<Round, RotationError> {
        let mut future = Box::pin(round(self, wanted, known, || self.now()));
        loop {
            if let Poll::Ready(ended) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return ended;
            }
        }
    }
}

/// Ends at the second poll: until the simulation decides to go on, others act.
async fn others_act() {
    let mut acted = false;
    std::future::poll_fn(|_| if std::mem::replace(&mut acted, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

impl Shelf for SimulatedShelf {
    type Version = u64;

    async fn configurations(&self) -> Result<Vec<WebhookBundles>, ShelfError> {
        others_act().await;
        Ok(self.with(|cluster| {
            let bundles = BTreeMap::from([("machine.mcm-migration.stackit.cloud".to_owned(), cluster.bundle.clone())]);
            let version = cluster.configuration_version.to_string();
            vec![WebhookBundles { configuration: "simulated".to_owned(), version, bundles }]
        }))
    }

    async fn read(&self) -> Result<Stored<u64>, ShelfError> {
        others_act().await;
        self.with(|cluster| {
            let state = SharedTls::parse(&cluster.secret)
                .map_err(|source| ShelfError::Foreign { name: "simulated".to_owned(), source })?;
            Ok(Stored { state, version: cluster.secret_version })
        })
    }

    async fn write(&self, state: &SharedTls, version: u64) -> Result<(), ShelfError> {
        others_act().await;
        self.with(|cluster| {
            if cluster.secret_version != version {
                return Err(ShelfError::Conflict("simulated".to_owned()));
            }
            cluster.secret = state.data();
            cluster.secret_version += 1;
            Ok(())
        })
    }

    async fn publish(&self, to: &WebhookBundles, bundle: &str) -> Result<(), ShelfError> {
        others_act().await;
        if self.with(|cluster| cluster.configuration_version.to_string() != to.version) {
            return Err(ShelfError::Conflict("simulated".to_owned()));
        }
        self.set_bundle(bundle);
        Ok(())
    }
}

pub fn text(state: &SharedTls, key: &str) -> String {
    String::from_utf8(state.data()[key].0.clone()).unwrap()
}

/// Whether a client that trusts `bundle` accepts what `state` serves.
pub fn verify(state: &SharedTls, bundle: &str, now: UnixTime) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for ca in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(ca.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let verifier = verifier.map_err(|error| error.to_string())?;
    let leaf = CertificateDer::from_pem_slice(text(state, "tls.crt").as_bytes()).unwrap();
    let now = PkiTime::since_unix_epoch(Duration::from_secs(u64::try_from(now.0).unwrap()));
    let name = ServerName::try_from(NAME).unwrap();
    verifier.verify_server_cert(&leaf, &[], &name, &[], now).map(|_| ()).map_err(|error| error.to_string())
}
