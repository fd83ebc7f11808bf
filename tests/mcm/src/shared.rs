//! What the parts of one stand-in share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{Api, DynamicObject};
use rig::shoot::Provider;
use simulator::{Cloud, Server};
use tokio::sync::watch;

use crate::copy::Copy;
use crate::event::Event;
use crate::frost::Frost;
use crate::killed::Verdicts;
use crate::model::{Machine, Named as _, resource};
use crate::options::Options;

/// What the key in the metadata of an OpenStack-born server begins with.
pub(crate) const CLUSTER_KEY: &str = "kubernetes.io-cluster-";

/// Orphan runs, numbered from 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Runs {
    pub(crate) begun: u64,
    pub(crate) finished: u64,
}

/// Clients, both made on the runtime of the stand-ins.
#[derive(Clone)]
pub(crate) struct Access {
    /// What the process itself uses; may be cut off.
    pub(crate) client: Client,
    /// What is true, and what a kubelet writes.
    pub(crate) admin: Client,
}

pub(crate) struct Shared {
    pub(crate) provider: Provider,
    pub(crate) namespace: String,
    pub(crate) project: String,
    pub(crate) pod: String,
    pub(crate) options: Options,
    pub(crate) seed: u64,
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) access: Access,
    pub(crate) frost: Frost,
    pub(crate) verdicts: Verdicts,
    pub(crate) runs: watch::Sender<Runs>,
    pub(crate) events: Mutex<Vec<Event>>,
    /// The copy of the life that is under way.
    pub(crate) copy: watch::Sender<Option<Arc<Copy>>>,
    /// When each Machine, by its UID, was first seen without having come up.
    waiting: Mutex<HashMap<String, Instant>>,
}

impl Shared {
    pub(crate) fn new(
        provider: Provider,
        namespace: &str,
        project: &str,
        options: Options,
        cloud: Arc<Cloud>,
        access: Access,
    ) -> Self {
        let made_up = || format!("machine-controller-manager-{:08x}", rand::random::<u32>());
        Self {
            provider,
            namespace: namespace.to_owned(),
            project: project.to_owned(),
            pod: options.pod.clone().unwrap_or_else(made_up),
            seed: options.seed.unwrap_or_else(rand::random),
            options,
            cloud,
            access,
            frost: Frost::new(),
            verdicts: Verdicts::new(),
            runs: watch::channel(Runs::default()).0,
            events: Mutex::new(Vec::new()),
            copy: watch::channel(None).0,
            waiting: Mutex::new(HashMap::new()),
        }
    }

    /// Notes what happened.
    pub(crate) fn note(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Notes what happens again and again only once.
    pub(crate) fn note_once(&self, event: Event) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if !events.contains(&event) {
            events.push(event);
        }
    }

    /// The Machines of the namespace, by the process's own client.
    pub(crate) fn machines(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.access.client.clone(), &self.namespace, &resource(Machine::KIND))
    }

    /// `<label domain>/<key>`
    pub(crate) fn label(&self, key: &str) -> String {
        format!("{}/{key}", self.options.label_domain)
    }

    /// The servers that the OpenStack provider takes for the shoot's. It goes by the key `kubernetes.io-cluster-<technical ID>`
    /// of their metadata. Those that have no such key are taken by their names, which begin with the technical ID.
    pub(crate) fn servers_of_the_shoot(&self) -> Vec<Server> {
        let (key, prefix) = (format!("{CLUSTER_KEY}{}", self.namespace), format!("{}-", self.namespace));
        let mut servers = self.cloud.servers(&self.project);
        servers.retain(|server| {
            let tagged = server.metadata.keys().any(|key| key.starts_with(CLUSTER_KEY));
            if tagged { server.metadata.contains_key(&key) } else { server.name.starts_with(&prefix) }
        });
        servers
    }

    /// How long it has been known that the Machine has not come up.
    pub(crate) fn waiting_for(&self, machine: &Machine) -> Duration {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.entry(machine.uid.clone()).or_insert_with(Instant::now).elapsed()
    }
}
