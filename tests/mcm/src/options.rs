//! What differs between stand-ins. The defaults are short where MCM's are long.

use std::time::Duration;

/// How one stand-in behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of its pod, which is its identity in the Lease; made up if not said.
    pub pod: Option<String>,
    /// The Node of its pod.
    pub node: String,
    /// How much later than the API server its copy of the Machines and MachineClasses is; what it reads at its start is fresh.
    pub delay: Duration,
    /// How often it looks for orphans besides its start and each deletion of a Machine. MCM: 15 min, Gardener: 30 min.
    pub orphan_period: Duration,
    /// How often it looks at Machines that are not finished. MCM: 15 s and more.
    pub retry: Duration,
    /// How long others have to wait before they may take its Lease; whole seconds. MCM: 15 s.
    pub lease_duration: Duration,
    /// How long it goes on without a renewal. MCM: 10 s.
    pub renew_deadline: Duration,
    /// How often it renews its Lease, or asks for it. MCM: 2 s.
    pub renew_period: Duration,
    /// How long its container takes to start again.
    pub restart_after: Duration,
    /// How long a watch lives at most; whole seconds. client-go: 5 to 10 min.
    pub watch_timeout: Duration,
    /// How long a Machine may be without having come up before it is `Failed`. Gardener's extension: 45 min.
    pub creation_timeout: Duration,
    /// Whether it makes servers for Machines without an ID, and how long after the server the ID is written.
    pub creates: Option<Duration>,
    /// Whether its calls go through a proxy of its own, so that it can be cut off.
    pub proxied: bool,
    /// The domain of the labels on servers.
    pub label_domain: String,
    /// The region of the cloud in which it makes servers whose class does not name one of STACKIT.
    pub region: String,
    /// Whether it says at the terminal, at once, what it would kill.
    pub loud: bool,
    /// What the random order of classes begins with; printed, and made up if not said.
    pub seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pod: None,
            node: "seed-node-1".to_owned(),
            delay: Duration::ZERO,
            orphan_period: Duration::from_millis(300),
            retry: Duration::from_millis(500),
            lease_duration: Duration::from_secs(5),
            renew_deadline: Duration::from_secs(4),
            renew_period: Duration::from_millis(500),
            restart_after: Duration::from_millis(500),
            watch_timeout: Duration::from_secs(290),
            creation_timeout: Duration::from_secs(45 * 60),
            creates: None,
            proxied: false,
            label_domain: "kubernetes.io".to_owned(),
            region: "eu01".to_owned(),
            loud: true,
            seed: None,
        }
    }
}

impl Options {
    /// Its pod has this name.
    #[must_use]
    pub fn pod(self, name: impl Into<String>) -> Self {
        Self { pod: Some(name.into()), ..self }
    }

    /// Its copy is this much late.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// It looks for orphans this often.
    #[must_use]
    pub fn orphan_period(self, period: Duration) -> Self {
        Self { orphan_period: period, ..self }
    }

    /// The times of its Lease: how long others wait, how long it goes on without a renewal, how often it renews.
    #[must_use]
    pub fn lease(self, duration: Duration, renew_deadline: Duration, renew_period: Duration) -> Self {
        Self { lease_duration: duration, renew_deadline, renew_period, ..self }
    }

    /// It makes servers for Machines without an ID, and writes the ID so long after the server is there.
    #[must_use]
    pub fn creates(self, id_after: Duration) -> Self {
        Self { creates: Some(id_after), ..self }
    }

    /// Machines that have not come up within this are `Failed`.
    #[must_use]
    pub fn creation_timeout(self, timeout: Duration) -> Self {
        Self { creation_timeout: timeout, ..self }
    }

    /// It is meant to kill, and says nothing about it at the terminal.
    #[must_use]
    pub fn quiet(self) -> Self {
        Self { loud: false, ..self }
    }

    /// It can be cut off (see [`crate::Mcm::cut_off`]).
    #[must_use]
    pub fn proxied(self) -> Self {
        Self { proxied: true, ..self }
    }

    /// The order of classes is the one that belongs to this seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }
}
