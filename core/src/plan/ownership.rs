use crate::decide::{Because, NamespaceFacts, WorkerFacts};
use crate::domain::Reason;

/// Whose a shoot is, and what may be done to it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// Everything may be done.
    Ours,
    /// It is being restored here: its Machines go first, nothing is labelled.
    RestoringHere,
    /// It is being deleted here: its Machines hang otherwise; nothing is labelled.
    DeletingHere,
}

/// Reads whose the shoot is from its Namespace, Worker and Cluster. The most careful case that applies counts.
///
/// # Errors
/// Why nothing may be done to it here.
pub fn ownership(facts: &NamespaceFacts) -> Result<Ownership, Because> {
    match &facts.namespace {
        Some(namespace) if !namespace.terminating => {}
        _ => return Err(Because::of(Reason::NamespaceAbsent)),
    }
    if facts.workers.is_empty() {
        return Err(Because::of(Reason::WorkerAbsent));
    }
    let cluster = match &facts.cluster {
        Some(cluster) if !cluster.terminating => cluster,
        _ => return Err(Because::of(Reason::ClusterAbsent)),
    };
    if let Some((name, _)) = facts.workers.iter().find(|(_, worker)| is_leaving(worker)) {
        return Err(Because::about(Reason::WorkerMigrating, &**name));
    }
    if &*cluster.shoot_last_operation.type_ == "Migrate" {
        return Err(Because::about(Reason::WorkerMigrating, "Shoot"));
    }
    if cluster.shoot_spec_seed.is_empty() || cluster.seed != cluster.shoot_spec_seed {
        return Err(Because::about(Reason::NotOurs, &*cluster.shoot_spec_seed));
    }
    if facts.workers.values().any(|worker| worker.terminating) {
        return Ok(Ownership::DeletingHere);
    }
    if facts.workers.values().any(is_restoring) {
        return Ok(Ownership::RestoringHere);
    }
    if cluster.shoot_status_seed != cluster.shoot_spec_seed {
        return Err(Because::about(Reason::NotOurs, &*cluster.shoot_status_seed));
    }
    Ok(Ownership::Ours)
}

fn is_leaving(worker: &WorkerFacts) -> bool {
    matches!(&*worker.operation, "migrate" | "wait-for-state") || &*worker.last_operation.type_ == "Migrate"
}

fn is_restoring(worker: &WorkerFacts) -> bool {
    &*worker.operation == "restore"
        || (&*worker.last_operation.type_ == "Restore" && &*worker.last_operation.state != "Succeeded")
}
