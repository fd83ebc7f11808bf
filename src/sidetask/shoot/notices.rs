//! Events about what needs a look.

use std::collections::BTreeMap;
use std::time::Duration;

use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{Kind, Plan, Wait};

use super::Shoot;
use crate::sidetask::metrics::Standing;
use crate::sidetask::{Clock, Clouds, Cluster, Fence, Notice, Owners};

/// Events of one pass at most; the rest is told at the next ones.
const AT_ONCE: usize = 20;
/// What has passed for this long is told again when it comes back: an Event lives for an hour.
const AGAIN_AFTER: Duration = Duration::from_secs(3600);

impl<C: Cluster, P: Clouds, K: Clock, F: Fence, O: Owners> Shoot<C, P, K, F, O> {
    /// Tells what is new, once each.
    pub(super) async fn tell(&mut self, plan: &Plan) {
        let now = self.context.clock.now();
        self.told.retain(|_, seen| now.saturating_sub(*seen) < AGAIN_AFTER);
        let mut left = AT_ONCE;
        for wait in plan.waits.iter().filter(|wait| is_alarm(wait.because.reason)) {
            if let Some(seen) = self.told.get_mut(&key(wait)) {
                *seen = now;
                continue;
            }
            if left == 0 || !self.context.fence.holds() {
                break;
            }
            self.told.insert(key(wait), now);
            left -= 1;
            let (namespace, reason) = (&*self.namespace, wait.because.reason);
            let (name, why) = (&*wait.name, &*wait.because.subject);
            tracing::warn!(namespace, name, reason = reason.name(), why, "needs a look");
            if self.context.config.dry_run {
                continue;
            }
            let message = format!("{} {}", reason.meaning(), reason.what_to_do());
            let message = if why.is_empty() { message } else { format!("{message} ({why})") };
            let notice = Notice { kind: wait.kind, name: wait.name.clone(), warning: true, reason, message };
            self.context.cluster.notify(&self.namespace, notice).await;
        }
    }

    pub(super) fn waiting(plan: &Plan) -> Standing {
        let mut waiting = BTreeMap::new();
        for wait in &plan.waits {
            *waiting.entry(wait.because.reason).or_default() += 1;
        }
        Standing { waiting, ..Standing::default() }
    }
}

fn key(wait: &Wait) -> (Kind, Box<str>, Reason) {
    (wait.kind, wait.name.clone(), wait.because.reason)
}

/// Whether somebody has to act; all else passes by itself, or is an operator's own wish.
fn is_alarm(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::InFlightUnresolved
            | Reason::RewriteMissed
            | Reason::NoLeaseEvidence
            | Reason::McmUnproven
            | Reason::NameTooLong
            | Reason::ServerGone
            | Reason::ServerDeferred
            | Reason::NameMismatch
            | Reason::ProjectMismatch
            | Reason::LegacyLabelled
            | Reason::ClassLabelForeign
            | Reason::LabelRefused
            | Reason::LabelUnverified
            | Reason::BootVolumeUncared
            | Reason::RegionUnknown
            | Reason::CredentialsInvalid
            | Reason::CloudForbidden
            | Reason::CloudRefused
            | Reason::RestoreSlow
            | Reason::GuardOpen
            | Reason::GuardUnproven
            | Reason::ProviderIdMalformed
            | Reason::ProjectUnknown
    )
}
