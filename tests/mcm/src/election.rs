//! Leader election on the Lease `machine-controller`, by the rules of client-go.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ObjectMeta, PostParams};

use crate::shared::Shared;

/// The name of the Lease; both providers have the same.
const LEASE: &str = "machine-controller";

pub(crate) struct Election<'a> {
    shared: &'a Shared,
    leases: Api<Lease>,
    /// What was read last, and since when it has been so: clocks of others are not compared.
    seen: Option<(LeaseSpec, Instant)>,
}

impl<'a> Election<'a> {
    pub(crate) fn new(shared: &'a Shared) -> Self {
        Self { leases: Api::namespaced(shared.access.client.clone(), &shared.namespace), shared, seen: None }
    }

    /// Returns once the Lease is ours.
    pub(crate) async fn win(&mut self) {
        loop {
            self.shared.frost.thawed().await;
            if matches!(self.attempt().await, Ok(true)) {
                return;
            }
            tokio::time::sleep(self.shared.options.renew_period).await;
        }
    }

    /// Renews the Lease; returns when that failed for so long that the process has to end.
    pub(crate) async fn keep(&mut self) {
        let options = &self.shared.options;
        loop {
            tokio::time::sleep(options.renew_period).await;
            // A process that wakes up begins a new round, with all the time of one.
            self.shared.frost.thawed().await;
            let round = Instant::now();
            while !matches!(self.attempt().await, Ok(true)) {
                tokio::time::sleep(options.renew_period.min(options.renew_deadline)).await;
                if round.elapsed() >= options.renew_deadline {
                    return;
                }
            }
        }
    }

    /// Takes or renews the Lease; false if another holds it.
    async fn attempt(&mut self) -> Result<bool> {
        let patience = (self.shared.options.renew_deadline / 2).max(Duration::from_millis(100));
        tokio::time::timeout(patience, self.take_or_renew()).await?
    }

    async fn take_or_renew(&mut self) -> Result<bool> {
        let Some(mut lease) = self.leases.get_opt(LEASE).await? else {
            let metadata = ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() };
            let spec = Some(self.record(&LeaseSpec::default()));
            let made = self.leases.create(&PostParams::default(), &Lease { metadata, spec }).await?;
            self.see(made);
            return Ok(true);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != spec) {
            self.seen = Some((spec.clone(), Instant::now()));
        }
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let fresh = self.seen.as_ref().is_some_and(|(_, at)| at.elapsed() < self.shared.options.lease_duration);
        if !holder.is_empty() && holder != self.shared.pod && fresh {
            return Ok(false);
        }
        lease.spec = Some(self.record(&spec));
        if lease.metadata.resource_version.is_none() {
            bail!("a Lease without a resourceVersion");
        }
        let written = self.leases.replace(LEASE, &PostParams::default(), &lease).await?;
        self.see(written);
        Ok(true)
    }

    fn see(&mut self, lease: Lease) {
        self.seen = Some((lease.spec.unwrap_or_default(), Instant::now()));
    }

    fn record(&self, before: &LeaseSpec) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let ours = before.holder_identity.as_deref() == Some(&*self.shared.pod);
        let transitions = before.lease_transitions.unwrap_or_default();
        LeaseSpec {
            holder_identity: Some(self.shared.pod.clone()),
            lease_duration_seconds: i32::try_from(self.shared.options.lease_duration.as_secs().max(1)).ok(),
            acquire_time: before.acquire_time.clone().filter(|_| ours).or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(if ours { transitions } else { transitions + 1 }),
            ..LeaseSpec::default()
        }
    }
}
