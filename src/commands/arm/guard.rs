//! The step *guard*: the MachineMigration, `Armed: False`, then the namespace's label.

use std::time::Instant;

use jiff::Timestamp;
use mcm_migration_core::decide::{Because, NamespaceFacts};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::plan::{GuardStep, Say, guard_steps, qualifies_for_guard};

use crate::seed::{CallError, Seed, status_patch};
use crate::world::{MachineMigration, snapshot};

/// How often a step is begun again because an object that it relies on changed in between.
pub(super) const TRIES: usize = 5;

/// Why a shoot goes no further.
#[derive(Debug)]
pub(super) enum Stop {
    /// It does not qualify.
    No(Vec<Because>),
    /// A step failed.
    Failed(Reason, String),
}

impl Stop {
    pub(super) fn not_read(error: &dyn std::fmt::Display) -> Self {
        Self::Failed(Reason::ReadFailed, error.to_string())
    }

    pub(super) fn not_written(error: &dyn std::fmt::Display) -> Self {
        Self::Failed(Reason::WriteFailed, error.to_string())
    }
}

/// A shoot whose guard is closed, not yet proved.
pub(super) struct Closed {
    /// What qualified it, read before the writes.
    pub(super) facts: NamespaceFacts,
    /// When the label was set; none when it was there already.
    pub(super) labelled: Option<Instant>,
}

/// Everything that decides, read now, of a shoot that qualifies for the guard.
pub(super) async fn qualified(seed: &Seed, namespace: &str) -> Result<NamespaceFacts, Stop> {
    let facts = snapshot(&seed.client(), namespace).await.map_err(|error| Stop::not_read(&error))?;
    qualifies_for_guard(&facts).map_err(Stop::No)?;
    Ok(facts)
}

/// Closes the guard of a shoot that qualifies, as far as it is not closed.
pub(super) async fn close(seed: &Seed, namespace: &str) -> Result<Closed, Stop> {
    for _ in 0..TRIES {
        // Read before the facts: whoever changes the Namespace after that makes the write of the label fail.
        let version = seed.namespace_version(namespace).await.map_err(|error| Stop::not_read(&error))?;
        let facts = qualified(seed, namespace).await?;
        // Made in between: without a version the label would be set on whatever is there.
        let Some(version) = version else { continue };
        match take(seed, namespace, &version, &guard_steps(&facts)).await {
            Ok(labelled) => return Ok(Closed { facts, labelled }),
            Err(error) if error.is_conflict() => {}
            Err(error) => return Err(Stop::not_written(&error)),
        }
    }
    Err(restless(namespace))
}

pub(super) fn restless(namespace: &str) -> Stop {
    Stop::not_written(&format!(
        "the Namespace or the MachineMigration of {namespace} was changed by others at each of {TRIES} tries"
    ))
}

async fn take(seed: &Seed, namespace: &str, version: &str, steps: &[GuardStep]) -> Result<Option<Instant>, CallError> {
    let mut labelled = None;
    for step in steps {
        match step {
            GuardStep::MakeMigration => drop(seed.make_migration(namespace).await.map_err(explain_missing_kind)?),
            GuardStep::Disarm => {
                let message = "The guard has to be closed and proved before anything is rewritten.";
                say(seed, namespace, &[Say::armed(false, Reason::NotArmed, message)]).await?;
            }
            GuardStep::CloseGuard => {
                if !seed.close_guard(namespace, version).await? {
                    return Err(CallError::NoAnswer {
                        doing: format!("cannot set the guard's label on Namespace {namespace}"),
                        message: "the API server took the write and left the label out; a webhook of somebody else removes it"
                            .to_owned(),
                    });
                }
                labelled = Some(Instant::now());
            }
        }
    }
    Ok(labelled)
}

/// The API server answers 404 to the making of an object only when it does not know the kind (or the namespace is gone).
fn explain_missing_kind(error: CallError) -> CallError {
    match error {
        CallError::Refused { doing, code: 404, message } => CallError::Refused {
            doing,
            code: 404,
            message: format!("{message} (install manifests/guard first: it holds the definition of MachineMigrations)"),
        },
        other => other,
    }
}

/// Makes the MachineMigration say so, whatever others write into it meanwhile.
pub(super) async fn say(seed: &Seed, namespace: &str, say: &[Say]) -> Result<(), CallError> {
    let mut tries = TRIES;
    loop {
        let migration = seed.migration(namespace).await?.ok_or_else(|| absent(namespace))?;
        match say_once(seed, namespace, &migration, say).await {
            Err(error) if error.is_conflict() && tries > 1 => tries -= 1,
            other => return other,
        }
    }
}

/// Makes the MachineMigration say so, if it is still the one that was read.
pub(super) async fn say_once(
    seed: &Seed,
    namespace: &str,
    migration: &MachineMigration,
    say: &[Say],
) -> Result<(), CallError> {
    match status_patch(migration, say, None, Timestamp::now()) {
        None => Ok(()),
        Some(patch) => seed.patch_status(namespace, &patch).await.map(drop),
    }
}

/// A MachineMigration that was there a moment ago: as good as a change by others.
pub(super) fn absent(namespace: &str) -> CallError {
    CallError::Refused {
        doing: format!("cannot write the status of the MachineMigration of {namespace}"),
        code: 409,
        message: "it was deleted in between".to_owned(),
    }
}
