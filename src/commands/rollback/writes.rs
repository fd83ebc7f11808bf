//! The writes to the API server, each after what it relies on was read again.

use jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, Patch};
use mcm_migration_core::decide::Because;
use mcm_migration_core::domain::{GuardLabel, LegacyProviderId, ProviderId, Reason, keys};
use mcm_migration_core::plan::Say;
use mcm_migration_core::plan::way_back::{Next, Step, may_write_back, may_write_old};
use serde_json::{Value, json};

use super::sight::Sight;
use crate::seed::{CallError, call, status_patch};
use crate::world::{MachineMigration, MachineMigrationSpec, machine_to_write_back, owner_and_mcm};

/// Why a step was not done: the shoot is looked at again, and planned anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failed {
    /// What the plan was made from is no longer so.
    #[error("{0}")]
    Changed(String),
    /// The API server or the cloud did not do it.
    #[error("{0}")]
    Because(String),
}

impl From<CallError> for Failed {
    fn from(error: CallError) -> Self {
        if error.is_conflict() { Self::Changed(error.to_string()) } else { Self::Because(error.to_string()) }
    }
}

impl From<Vec<Because>> for Failed {
    fn from(reasons: Vec<Because>) -> Self {
        Self::Changed(reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    }
}

fn not_read(error: &dyn std::fmt::Display) -> Failed {
    Failed::Because(error.to_string())
}

/// Carries out one write to the API server. Looks at the cloud are none of it.
pub(super) async fn write(sight: &mut Sight, step: &Step) -> Result<(), Failed> {
    match step {
        Step::Pause => pause(sight).await,
        Step::OpenGuard => guard(sight, step, Some(GuardLabel::ROLLING_BACK)).await,
        Step::TakeGuardOff => guard(sight, step, None).await,
        Step::Disarm => disarm(sight, step).await,
        Step::LiftPause => lift_pause(sight, step).await,
        Step::WriteBack { machine, provider_id } => write_back(sight, machine, provider_id).await,
        Step::Clean { machine } => clean(sight, machine).await,
        Step::UnmarkWorker { worker } => unmark(sight, worker).await,
        Step::List { .. } | Step::ListParts { .. } | Step::Unlabel { .. } | Step::UnlabelPart { .. } => Ok(()),
    }
}

async fn pause(sight: &Sight) -> Result<(), Failed> {
    let (seed, namespace) = (&sight.seed, &sight.namespace);
    match seed.migration(namespace).await? {
        None => {
            let mut migration = MachineMigration::new(keys::MACHINE_MIGRATION, MachineMigrationSpec { paused: true });
            migration.metadata.annotations =
                Some([(keys::PAUSED_BY_ROLLBACK.to_owned(), keys::TRUE.to_owned())].into());
            seed.make_this_migration(namespace, migration).await?;
        }
        Some(migration) if migration.spec.paused => {}
        Some(migration) => {
            let version = &migration.metadata.resource_version;
            let annotations = json!({keys::PAUSED_BY_ROLLBACK: keys::TRUE});
            let patch =
                json!({"metadata": {"resourceVersion": version, "annotations": annotations}, "spec": {"paused": true}});
            let after = seed.patch_migration(namespace, &patch).await?;
            took(after.spec.paused, "the pause")?;
        }
    }
    Ok(())
}

async fn lift_pause(sight: &mut Sight, step: &Step) -> Result<(), Failed> {
    let migration = sight.seed.migration(&sight.namespace).await?;
    let Some(migration) = migration else { return Err(Failed::Changed("the MachineMigration is gone".to_owned())) };
    still(sight, step).await?;
    let version = &migration.metadata.resource_version;
    let annotations = json!({keys::PAUSED_BY_ROLLBACK: Value::Null});
    let patch =
        json!({"metadata": {"resourceVersion": version, "annotations": annotations}, "spec": {"paused": false}});
    let after = sight.seed.patch_migration(&sight.namespace, &patch).await?;
    took(!after.spec.paused, "the lifted pause")
}

/// Everything is read again, every Machine's ID too, between the Namespace's version and the write that relies on it.
async fn guard(sight: &mut Sight, step: &Step, value: Option<&str>) -> Result<(), Failed> {
    let version = sight.seed.namespace_version(&sight.namespace).await?;
    let version = version.ok_or_else(|| Failed::Changed("the Namespace is gone".to_owned()))?;
    still(sight, step).await?;
    took(sight.seed.set_guard(&sight.namespace, &version, value).await?, "the guard's label")
}

async fn disarm(sight: &mut Sight, step: &Step) -> Result<(), Failed> {
    let migration = sight.seed.migration(&sight.namespace).await?;
    let Some(migration) = migration else { return Err(Failed::Changed("the MachineMigration is gone".to_owned())) };
    still(sight, step).await?;
    let message = Reason::RolledBack.meaning();
    // What was true of the way forward must not be taken for true should the shoot go forward again.
    let say = ["Guarded", "Armed", "Labelled", "Complete"].map(|type_| Say {
        type_,
        holds: false,
        reason: Reason::RolledBack,
        message: message.to_owned(),
    });
    if let Some(patch) = status_patch(&migration, &say, None, Timestamp::now()) {
        sight.seed.patch_status(&sight.namespace, &patch).await?;
    }
    Ok(())
}

/// Whether the step still is what comes next, after everything was read again.
async fn still(sight: &mut Sight, step: &Step) -> Result<(), Failed> {
    sight.look().await.map_err(|because| not_read(&because))?;
    match sight.next() {
        Next::Do(steps) if steps == [step.clone()] => Ok(()),
        other => Err(Failed::Changed(format!("what comes next is another step now: {other:?}"))),
    }
}

async fn write_back(sight: &Sight, machine: &str, provider_id: &str) -> Result<(), Failed> {
    let (client, namespace) = (sight.seed.client(), &sight.namespace);
    let mut facts = owner_and_mcm(&client, namespace).await.map_err(|error| not_read(&error))?;
    let read = machine_to_write_back(&client, namespace, machine).await.map_err(|error| not_read(&error))?;
    let Some((now, version, annotation)) = read else {
        return Err(Failed::Changed(format!("Machine {machine} is gone")));
    };
    let previous = LegacyProviderId::parse(provider_id)
        .ok_or_else(|| Failed::from(vec![Because::about(Reason::PreviousIdUnknown, machine)]))?;
    if annotation.is_some_and(|annotation| *annotation != *provider_id) {
        return Err(Failed::Changed(format!("Machine {machine} says another previous ID now")));
    }
    let labels = sight.way_back().labels_of(&now, sight.now());
    facts.machines.insert(machine.into(), now);
    may_write_back(&facts, machine, &previous, labels)?;
    let patch = json!({"metadata": {"resourceVersion": version, "annotations": left_over()}, "spec": {"providerID": provider_id}});
    let after = patch_object(sight, MACHINES, machine, &patch).await?;
    took(after["spec"]["providerID"] == provider_id, &format!("the old ID of Machine {machine}"))
}

async fn clean(sight: &Sight, machine: &str) -> Result<(), Failed> {
    let (client, namespace) = (sight.seed.client(), &sight.namespace);
    let facts = owner_and_mcm(&client, namespace).await.map_err(|error| not_read(&error))?;
    may_write_old(&facts)?;
    let read = machine_to_write_back(&client, namespace, machine).await.map_err(|error| not_read(&error))?;
    let Some((now, version, _)) = read else { return Err(Failed::Changed(format!("Machine {machine} is gone"))) };
    if matches!(ProviderId::of(&now.provider_id), ProviderId::Stackit(_) | ProviderId::Foreign(_)) {
        return Err(Failed::Changed(format!("Machine {machine} has another ID now")));
    }
    let patch = json!({"metadata": {"resourceVersion": version, "annotations": left_over()}});
    patch_object(sight, MACHINES, machine, &patch).await.map(drop)
}

async fn unmark(sight: &Sight, worker: &str) -> Result<(), Failed> {
    let (client, namespace) = (sight.seed.client(), &sight.namespace);
    let read =
        call(format!("cannot read Worker {namespace}/{worker}"), api(sight, WORKERS).get_metadata(worker)).await?;
    let facts = owner_and_mcm(&client, namespace).await.map_err(|error| not_read(&error))?;
    may_write_old(&facts)?;
    let annotations = json!({keys::WORKER_MIGRATED: Value::Null});
    let patch = json!({"metadata": {"resourceVersion": read.metadata.resource_version, "annotations": annotations}});
    let after = patch_object(sight, WORKERS, worker, &patch).await?;
    took(after["metadata"]["annotations"][keys::WORKER_MIGRATED].is_null(), &format!("the mark of Worker {worker}"))
}

/// What the migration left on a Machine, taken off. `migrated-machine` stays: STACKIT's provider deletes the NIC and the volume of such a Machine
/// only when it is there, should the shoot go forward again.
fn left_over() -> Value {
    json!({
        keys::MACHINE_SHOULD_BE_MIGRATED: Value::Null,
        keys::PREVIOUS_PROVIDER_ID: Value::Null,
        keys::SETTLED: Value::Null,
        keys::EXCEPTION: Value::Null,
    })
}

/// Group, kind and plural.
type Kind = (&'static str, &'static str, &'static str);
const MACHINES: Kind = ("machine.sapcloud.io", "Machine", "machines");
const WORKERS: Kind = ("extensions.gardener.cloud", "Worker", "workers");

fn api(sight: &Sight, (group, kind, plural): Kind) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: group.to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: format!("{group}/v1alpha1"),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    Api::namespaced_with(sight.seed.client(), &sight.namespace, &resource)
}

async fn patch_object(sight: &Sight, kind: Kind, name: &str, patch: &Value) -> Result<Value, Failed> {
    let doing = format!("cannot write {} {}/{name}", kind.1, sight.namespace);
    let patched = call(doing, api(sight, kind).patch(name, &sight.seed.patching(), &Patch::Merge(patch))).await?;
    serde_json::to_value(patched).map_err(|error| not_read(&error))
}

fn took(took: bool, what: &str) -> Result<(), Failed> {
    if took { Ok(()) } else { Err(Failed::Because(format!("the API server took the write and left {what} out"))) }
}
