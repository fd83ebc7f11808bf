use std::iter::once_with;

use crate::domain::{GuardLabel, Reason, is_true, keys};
use crate::review::{Object, Operation, Shape};

use super::machine::is_last_write;
use super::{Because, Decision, Known, MachineFacts, NamespaceFacts, Patch};

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

pub(super) fn no_migration_of_the_control_plane(object: &Object<'_>) -> Result<(), Reason> {
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
    left_to_do(facts).next().map_or(Ok(()), Err)
}

/// Everything that keeps a namespace from being done, each asked only when the one before it has been taken. Of the Machines
/// each one that is not done.
pub(super) fn left_to_do(facts: &NamespaceFacts) -> impl Iterator<Item = Because> {
    let rolling_back =
        once_with(move || (facts.guard() == Some(GuardLabel::RollingBack)).then_some(Reason::RollingBack));
    let paused = once_with(move || facts.migration.is_some_and(|migration| migration.paused).then_some(Reason::Paused));
    let openstack = once_with(move || about(Reason::OpenstackClassInNamespace, facts.openstack_class()));
    let foreign = once_with(move || about(Reason::ClassIsForeign, facts.foreign_class()));
    let no_class = once_with(move || (!facts.has_stackit_class()).then_some(Reason::NoClass));
    let deployed = once_with(move || facts.openstack_mcm_deployed().then_some(Reason::OpenstackMcmDeployed));
    let alive = once_with(move || about(Reason::OpenstackMcmAlive, facts.openstack_mcm_pod()));
    let machines =
        facts.machines.iter().filter_map(|(name, machine)| Some(Because::about(not_done(machine)?, &**name)));
    let unlabelled = once_with(move || {
        facts.migration.is_some_and(|migration| !migration.labelled).then_some(Reason::LabelsUnconfirmed)
    });
    let of_the_shoot = rolling_back.chain(paused).flatten().map(Because::of);
    let of_the_classes = openstack.chain(foreign).flatten().chain(no_class.flatten().map(Because::of));
    let of_openstack = deployed.flatten().map(Because::of).chain(alive.flatten());
    of_the_shoot.chain(of_the_classes).chain(of_openstack).chain(machines).chain(unlabelled.flatten().map(Because::of))
}

fn about(reason: Reason, subject: Option<&str>) -> Option<Because> {
    subject.map(|subject| Because::about(reason, subject))
}

fn not_done(machine: &MachineFacts) -> Option<Reason> {
    if machine.is_legacy() {
        return Some(Reason::MachinesLegacy);
    }
    // An operator, or the side task after its grace, has said that this one no longer holds up the Worker.
    if machine.marked && machine.exception.is_none() {
        return Some(Reason::MachinesMarked);
    }
    (machine.migrated && machine.provider_id.is_empty()).then_some(Reason::MachinesWithoutId)
}
