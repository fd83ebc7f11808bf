use crate::domain::{GuardLabel, Reason, is_true, keys};
use crate::review::{Object, Operation, Shape};

use super::machine::is_last_write;
use super::{Because, Decision, Known, NamespaceFacts, Patch};

/// Decides on a write of a Worker: whether it gets the annotation that every Machine of its namespace is done.
#[must_use]
pub fn decide_worker(operation: Operation, object: &Object<'_>, known: Known<'_>) -> Decision {
    // Never on CREATE: a restored Worker comes before its Machines.
    if operation != Operation::Update || object.shape != Shape::Right {
        return Decision::passed(Because::of(Reason::NotOurObject));
    }
    if is_last_write(operation, object) {
        return Decision::passed(Because::of(Reason::FinalizersGone));
    }
    let annotations = &object.metadata.annotations;
    if is_true(annotations.worker_migrated.text()) {
        return Decision::passed(Because::of(Reason::AlreadyMarked));
    }
    if object.metadata.shape != Shape::Right || annotations.shape == Shape::Other {
        return Decision::passed(Because::about(Reason::ObjectUnreadable, "metadata.annotations"));
    }
    if object.metadata.deletion_timestamp.is_there() {
        return Decision::passed(Because::of(Reason::WorkerTerminating));
    }
    if let Err(reason) = no_migration_of_the_control_plane(object) {
        return Decision::passed(Because::of(reason));
    }
    let facts = match known {
        Known::Fresh(facts) => facts,
        Known::Stale(resource) => return Decision::passed(Because::about(Reason::CacheStale, resource)),
    };
    if let Err(because) = every_machine_is_done(facts) {
        return if facts.guard().is_some() { Decision::held(because) } else { Decision::passed(because) };
    }
    let mut patch = Patch::default();
    patch.set_annotations(annotations.shape, [(keys::WORKER_MIGRATED, keys::TRUE)]);
    Decision::changed(Because::of(Reason::WorkerMarked), patch)
}

fn no_migration_of_the_control_plane(object: &Object<'_>) -> Result<(), Reason> {
    let last = &object.status.last_operation;
    match object.metadata.annotations.gardener_operation.text() {
        "migrate" | "wait-for-state" => return Err(Reason::WorkerMigrating),
        "restore" => return Err(Reason::WorkerRestoring),
        _ => {}
    }
    match (last.type_.text(), last.state.text()) {
        ("Migrate", _) => Err(Reason::WorkerMigrating),
        ("Restore", state) if state != "Succeeded" => Err(Reason::WorkerRestoring),
        _ => Ok(()),
    }
}

/// Whether a namespace has nothing left to migrate. Zero Machines are done.
///
/// # Errors
/// What is left.
pub fn every_machine_is_done(facts: &NamespaceFacts) -> Result<(), Because> {
    if facts.guard() == Some(GuardLabel::RollingBack) {
        return Err(Because::of(Reason::RollingBack));
    }
    if facts.migration.is_some_and(|migration| migration.paused) {
        return Err(Because::of(Reason::Paused));
    }
    if let Some(class) = facts.openstack_class() {
        return Err(Because::about(Reason::OpenstackClassInNamespace, class));
    }
    if let Some(class) = facts.foreign_class() {
        return Err(Because::about(Reason::ClassIsForeign, class));
    }
    if !facts.has_stackit_class() {
        return Err(Because::of(Reason::NoClass));
    }
    if facts.openstack_mcm_deployed() {
        return Err(Because::of(Reason::OpenstackMcmDeployed));
    }
    if let Some(pod) = facts.openstack_mcm_pod() {
        return Err(Because::about(Reason::OpenstackMcmAlive, pod));
    }
    for (name, machine) in &facts.machines {
        if machine.is_legacy() {
            return Err(Because::about(Reason::MachinesLegacy, &**name));
        }
        // An operator, or the side task after its grace, has said that this one no longer holds up the Worker.
        if machine.marked && machine.exception.is_none() {
            return Err(Because::about(Reason::MachinesMarked, &**name));
        }
        if machine.migrated && machine.provider_id.is_empty() {
            return Err(Because::about(Reason::MachinesWithoutId, &**name));
        }
    }
    match facts.migration {
        Some(migration) if !migration.labelled => Err(Because::of(Reason::LabelsUnconfirmed)),
        _ => Ok(()),
    }
}
