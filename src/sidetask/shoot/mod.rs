//! One shoot: when it is passed over, and what is remembered of it between two passes.

mod cloud_check;
mod cloud_steps;
mod exception_steps;
mod guard_steps;
mod machine_steps;
mod notices;
mod part_steps;
mod pass;
mod session;
mod step;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use mcm_migration_core::decide::{Known, MachineFacts, NamespaceFacts};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{Backoff, CloudView, Kind, Moment, Ownership, Seen, ownership};

use super::context::Context;
use super::metrics::Standing;
use super::watchdog::Watchdog;
use super::{Clock, Clouds, Cluster, Fence, Owners};
use session::Session;

/// How often the caches are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Two passes are at least this far apart.
const REST: Duration = Duration::from_secs(1);
/// How often the Lease of a shoot in quarantine is read, at most and at least: several times within what is asked of it.
const LEASE_EVERY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

/// One shoot, as this leader knows it.
pub(super) struct Shoot<C: Cluster, P: Clouds, K, F, O> {
    context: Arc<Context<C, P, K, F, O>>,
    namespace: Box<str>,
    watchdog: Arc<Watchdog<C, O>>,
    seen: Seen,
    cloud: CloudView,
    backoff: Backoff,
    session: Option<Session<P::Project>>,
    /// Whether this leader has proved the guard over several connections.
    proved: bool,
    /// What has been told by Event, and when it was last so.
    told: BTreeMap<(Kind, Box<str>, Reason), Moment>,
    standing: Standing,
    lease_read: Option<Moment>,
    /// When the caches were last shown to what is remembered, or found stale.
    observed: Option<Moment>,
    /// Whether the last plan waited for what the Lease proves.
    wants_evidence: bool,
    fingerprint: Option<u64>,
    next: Moment,
}

/// What one look at the caches says.
enum Look {
    /// A pass may have something to do.
    Concern { fingerprint: u64, quarantined: bool },
    /// Nothing of it migrates, or it is not ours.
    NoConcern,
    /// The caches are stale: nothing is concluded.
    Blind,
}

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    pub(super) fn new(context: Arc<Context<C, P, K, F, O>>, namespace: &str) -> Self {
        Self {
            watchdog: Arc::new(Watchdog::new(namespace, context.owners.clone())),
            context,
            namespace: namespace.into(),
            seen: Seen::default(),
            cloud: CloudView::default(),
            backoff: Backoff::default(),
            session: None,
            proved: false,
            told: BTreeMap::new(),
            standing: Standing::default(),
            lease_read: None,
            observed: None,
            wants_evidence: false,
            fingerprint: None,
            next: Moment::ZERO,
        }
    }

    /// Looks and passes, until it is dropped.
    pub(super) async fn follow(mut self) {
        loop {
            self.look_and_pass().await;
            self.context.clock.sleep(LOOK_EVERY).await;
        }
    }

    async fn look_and_pass(&mut self) {
        // The Nodes first: a standby counts as healthy only from where its Node was watched.
        if self.context.nodes().is_none() {
            if self.observed.is_some() {
                self.observe();
                self.waits_for_nodes();
            }
            return;
        }
        match self.look() {
            Look::Blind => {}
            Look::NoConcern => {
                self.seen.lose_troubles();
                self.session = None;
                self.cloud = CloudView::default();
                self.stands(Standing::default());
            }
            Look::Concern { fingerprint, quarantined } => {
                if quarantined {
                    self.read_lease().await;
                }
                let now = self.context.clock.now();
                let changed = self.fingerprint != Some(fingerprint);
                if now >= self.next || changed {
                    self.fingerprint = Some(fingerprint);
                    let pause = self.guarded_pass().await;
                    self.next = self.context.clock.now().saturating_add(pause.max(REST));
                }
            }
        }
    }

    /// While the Nodes cannot be listed there is no pass, and so no status; the metric says that a shoot with something to tell waits, and for what.
    fn waits_for_nodes(&mut self) {
        if self.standing != Standing::default() {
            let waiting = BTreeMap::from([(Reason::ReadFailed, 1)]);
            self.stands(Standing { waiting, ..self.standing.clone() });
            // What it says otherwise is found out again as soon as they are known.
            self.next = Moment::ZERO;
        }
    }

    /// A pass that ends when the shoot is no longer ours, whatever is under way.
    async fn guarded_pass(&mut self) -> Duration {
        let context = Arc::clone(&self.context);
        let watch = Arc::clone(&self.watchdog);
        let ended = tokio::select! {
            biased;
            because = watch.lost(&*context.cluster, &context.clock) => Err(because),
            passed = self.pass() => passed,
        };
        match ended {
            Ok(pause) => {
                context.metrics.pass("done");
                pause
            }
            Err(because) => {
                self.seen.lose_troubles();
                context.metrics.pass("ended");
                tracing::info!(namespace = &*self.namespace, reason = %because.reason, subject = because.subject, "the pass ended");
                context.config.pass_every
            }
        }
    }

    /// Shows the caches to what is remembered.
    fn look(&mut self) -> Look {
        let now = self.context.clock.now();
        self.observed = Some(now);
        // Labels of a finished shoot that somebody took off ask for evidence as well.
        let (seen, wants_evidence) = (&mut self.seen, self.wants_evidence);
        self.context.cluster.look(&self.namespace, |known| match known {
            Known::Stale(_) => {
                seen.lose_sight();
                Look::Blind
            }
            Known::Fresh(facts) => {
                seen.observe(facts, ownership(facts) == Ok(Ownership::RestoringHere), now);
                if !is_concern(facts) {
                    return Look::NoConcern;
                }
                let quarantined =
                    |machine: &MachineFacts| machine.marked && machine.provider_id.starts_with("stackit:");
                let mut hasher = DefaultHasher::new();
                facts.hash(&mut hasher);
                Look::Concern {
                    fingerprint: hasher.finish(),
                    quarantined: wants_evidence || facts.machines.values().any(quarantined),
                }
            }
        })
    }

    /// Goes on looking while a pass takes its time: what comes and goes meanwhile would be missed.
    fn observe(&mut self) {
        let now = self.context.clock.now();
        if self.observed.is_none_or(|observed| now.saturating_sub(observed) >= LOOK_EVERY) {
            self.look();
        }
    }

    async fn read_lease(&mut self) {
        let clock = &self.context.clock;
        let asked = clock.now();
        let every = (self.context.config.settings.evidence_after / 4).clamp(LEASE_EVERY.0, LEASE_EVERY.1);
        if self.lease_read.is_some_and(|read| asked.saturating_sub(read) < every) {
            return;
        }
        self.lease_read = Some(asked);
        match self.context.cluster.lease(&self.namespace).await {
            Ok(lease) => self.seen.observe_lease(lease, asked, clock.now()),
            Err(error) => tracing::debug!(namespace = &*self.namespace, %error, "the Lease was not read"),
        }
    }

    fn stands(&mut self, standing: Standing) {
        self.context.metrics.moved(&self.standing, &standing);
        self.standing = standing;
    }
}

impl<C: Cluster, P: Clouds, K, F, O> Drop for Shoot<C, P, K, F, O> {
    fn drop(&mut self) {
        self.context.metrics.moved(&self.standing, &Standing::default());
    }
}

/// Whether a pass may have something to do: the shoot is of our kind, and something of it migrates, migrated, or is guarded.
fn is_concern(facts: &NamespaceFacts) -> bool {
    let ours = ownership(facts).is_ok() && facts.workers.values().all(|worker| worker.is_stackit);
    let migrates = |machine: &MachineFacts| machine.is_legacy() || machine.marked || machine.migrated;
    let class = || facts.switch_has_begun() && facts.openstack_class().is_some();
    ours && (facts.guard().is_some() || facts.machines.values().any(migrates) || class())
}
