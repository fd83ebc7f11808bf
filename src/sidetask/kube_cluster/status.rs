//! The status of the MachineMigration.

use jiff::Timestamp;
use mcm_migration_core::plan::{Counts, Phase, Report, Say};

use super::{ClusterError, Written};
use crate::seed::{Seed, Shown, status_patch};
use crate::world::{self, MachineCounts, MachineException, MachineMigration};

/// How often a write is begun again because somebody changed the object in between.
const TRIES: usize = 5;

pub(super) async fn say(
    seed: &Seed,
    namespace: &str,
    version: Option<&str>,
    say: &[Say],
) -> Result<Written, ClusterError> {
    match version {
        None => settle(seed, namespace, say, None).await,
        Some(version) => {
            let migration = read(seed, namespace).await?;
            if migration.metadata.resource_version.as_deref() != Some(version) {
                let text = format!("cannot write the status of the MachineMigration of {namespace}: it was changed");
                return Err(ClusterError::Conflict(text));
            }
            once(seed, namespace, &migration, say, None).await
        }
    }
}

pub(super) async fn report(seed: &Seed, namespace: &str, report: &Report) -> Result<Written, ClusterError> {
    let shown = Shown {
        phase: phase(report.phase),
        reason: report.reason,
        machines: counts(&report.counts),
        exceptions: exceptions(report),
    };
    settle(seed, namespace, &report.conditions, Some(&shown)).await
}

/// Writes onto whatever is there, also when others write meanwhile.
async fn settle(seed: &Seed, namespace: &str, say: &[Say], shown: Option<&Shown>) -> Result<Written, ClusterError> {
    let mut tries = TRIES;
    loop {
        let migration = read(seed, namespace).await?;
        match once(seed, namespace, &migration, say, shown).await {
            Err(ClusterError::Conflict(_)) if tries > 1 => tries -= 1,
            other => return other,
        }
    }
}

/// Writes onto what was read, where it differs.
#[allow(
    clippy::disallowed_methods,
    reason = "the time stamps of conditions are wall-clock time; nothing is decided by them"
)]
async fn once(
    seed: &Seed,
    namespace: &str,
    migration: &MachineMigration,
    say: &[Say],
    shown: Option<&Shown>,
) -> Result<Written, ClusterError> {
    let now = Timestamp::now();
    let Some(patch) = status_patch(migration, say, shown, now) else { return Ok(Written::Took(true)) };
    let after = seed.patch_status(namespace, &patch).await?;
    Ok(Written::Took(status_patch(&after, say, shown, now).is_none()))
}

async fn read(seed: &Seed, namespace: &str) -> Result<MachineMigration, ClusterError> {
    let absent = || ClusterError::Gone(format!("there is no MachineMigration in {namespace}"));
    seed.migration(namespace).await?.ok_or_else(absent)
}

fn phase(phase: Phase) -> world::Phase {
    match phase {
        Phase::Pending => world::Phase::Pending,
        Phase::Guarded => world::Phase::Guarded,
        Phase::Armed => world::Phase::Armed,
        Phase::Rewritten => world::Phase::Rewritten,
        Phase::Labelled => world::Phase::Labelled,
        Phase::Complete => world::Phase::Complete,
        Phase::RollingBack => world::Phase::RollingBack,
    }
}

fn exceptions(report: &Report) -> Vec<MachineException> {
    let excepted = report.exceptions.iter();
    excepted
        .map(|(name, why)| MachineException { machine: name.to_string(), reason: why.as_str().to_owned() })
        .collect()
}

fn counts(counts: &Counts) -> MachineCounts {
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    MachineCounts {
        total: count(counts.total),
        legacy: count(counts.legacy),
        terminating_legacy: count(counts.terminating_legacy),
        waiting: counts.waiting.iter().map(|(reason, n)| (reason.camel_case().to_owned(), count(*n))).collect(),
        quarantined: count(counts.quarantined),
        labelled: count(counts.labelled),
        exceptions: count(counts.exceptions),
    }
}
