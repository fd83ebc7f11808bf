use mcm_migration_core::decide::{
    Because, Decision, Known, decide_machine, decide_worker, machine_reasons, worker_reasons,
};
use mcm_migration_core::domain::Reason;
use mcm_migration_core::review::Request;

use crate::world::World;

/// What a path that changes objects answers for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// `POST /mutate/machine`: `machines` of `machine.sapcloud.io`.
    Machine,
    /// `POST /mutate/worker`: `workers` of `extensions.gardener.cloud`.
    Worker,
}

impl Path {
    /// The route.
    #[must_use]
    pub fn route(self) -> &'static str {
        match self {
            Self::Machine => "/mutate/machine",
            Self::Worker => "/mutate/worker",
        }
    }

    /// The group and the plural of the resource.
    #[must_use]
    pub fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::Machine => ("machine.sapcloud.io", "machines"),
            Self::Worker => ("extensions.gardener.cloud", "workers"),
        }
    }

    fn decide(self, request: &Request<'_>, known: Known<'_>) -> Decision {
        match self {
            Self::Machine => decide_machine(request.operation, &request.object, known),
            Self::Worker => decide_worker(request.operation, &request.object, known),
        }
    }
}

/// Whether a request is about objects of this group and plural, and not about a subresource of theirs.
#[must_use]
pub(super) fn is_about(request: &Request<'_>, (group, resource): (&str, &str)) -> bool {
    request.resource.group == group && request.resource.resource == resource && request.resource.sub_resource.is_empty()
}

/// The namespace of a request; the object's own where an old API server leaves the request's empty.
#[must_use]
pub(super) fn namespace_of<'r>(request: &'r Request<'_>) -> &'r str {
    if request.namespace.is_empty() { request.object.metadata.namespace.text() } else { &request.namespace }
}

/// Decides on one request by what is known now. With `dry_run` the program may not change anything.
#[must_use]
pub fn evaluate(path: Path, request: &Request<'_>, world: &World, dry_run: bool) -> Decision {
    if !is_about(request, path.resource()) {
        return Decision::passed(Because::about(Reason::NotOurObject, &*request.resource.resource));
    }
    let decision = world.consult(namespace_of(request), |known| path.decide(request, known));
    if dry_run { decision.without_patch() } else { decision }
}

/// Every reason of a decision by the same knowledge, the decision's own first. For a person who asks; no request waits for it.
#[must_use]
pub fn reasons(path: Path, request: &Request<'_>, world: &World, decision: &Decision) -> Vec<Because> {
    world.consult(namespace_of(request), |known| match path {
        Path::Machine => machine_reasons(decision, &request.object, known),
        Path::Worker => worker_reasons(decision, &request.object, known),
    })
}
