//! The webhook and the guard's policies: what the product's decisions make of a write, by what its caches may still show.
//!
//! Any replica may answer, and each watch lags by itself within the age at which a cache counts as stale (less than a tick). So the most
//! permissive mixture that the last tick has shown is what a decision may be made from; and a write may always meet no webhook at all.

use mcm_migration_core::decide::{
    Known, NamespaceFacts, Outcome, Ruling, decide_machine, decide_machine_class, decide_worker,
};
use mcm_migration_core::domain::{GuardLabel, McmContainers, Provider};
use mcm_migration_core::review::{Object, OldObject, Operation, parse_object};
use serde_json::json;

use crate::config::Config;
use crate::facts::{self, CLASS_NAMES, MACHINE_NAMES};
use crate::gates::{Gate, Out};
use crate::planner::{hide_openstack_classes, hide_pods, hide_template};
use crate::state::{
    ARMED, CLASSES, Class, EXISTS, Guard, Id, LABELLED, MACHINES, MARKED, MIGRATED, Machine, PAUSED, POS, Seed, Shown,
    TERMINATING, Template, W_ARMED, W_CLASS, W_CLOSED, W_LABELLED, W_PODS, W_TEMPLATE, Window,
};

/// What of the permissive is so now.
#[must_use]
pub fn now(seed: &Seed) -> Window {
    let mut open = 0;
    let mut set = |bit: u8, holds: bool| open |= if holds { bit } else { 0 };
    set(W_CLOSED, seed.guard == Guard::Closed);
    set(W_ARMED, seed.migration & (EXISTS | ARMED | PAUSED) == EXISTS | ARMED);
    set(W_TEMPLATE, seed.template != Template::OpenStack);
    set(W_PODS, seed.mcms[POS].shown == Shown::Gone);
    set(W_LABELLED, seed.migration & (EXISTS | LABELLED | PAUSED) == EXISTS | LABELLED);
    for c in 0..CLASSES {
        set(W_CLASS << c, seed.classes[c] != Class::OpenStack);
    }
    let bits = |holds: fn(&Machine) -> bool| {
        (0..MACHINES).filter(|m| holds(&seed.machines[*m])).fold(0, |bits, m| bits | 1 << m)
    };
    let done = |machine: &Machine| {
        !machine.exists()
            || (!machine.is(MARKED) && machine.id != Id::Legacy && !(machine.is(MIGRATED) && machine.id == Id::Empty))
    };
    Window { open, settled: bits(|machine| !machine.unsettled()), done: bits(done), flips: 0 }
}

/// The facts of the most permissive mixture of caches.
fn permissive(config: &Config, index: usize, seed: &Seed) -> NamespaceFacts {
    let mut facts = facts::facts(config, index, seed);
    let was = |bit: u8| seed.window.open & bit != 0;
    if let Some(namespace) = facts.namespace.as_mut().filter(|_| was(W_CLOSED)) {
        namespace.guard = Some(GuardLabel::Closed);
    }
    if was(W_ARMED) || was(W_LABELLED) {
        let migration = facts.migration.get_or_insert_default();
        migration.armed |= was(W_ARMED);
        migration.labelled |= was(W_LABELLED);
        migration.paused = false;
    }
    for (c, name) in CLASS_NAMES.iter().enumerate() {
        if let Some(provider) = facts.classes.get_mut(*name).filter(|_| was(W_CLASS << c)) {
            *provider = Provider::Stackit;
        }
    }
    if let Some(template) = facts.mcm_deployment.as_mut().filter(|_| was(W_TEMPLATE)) {
        *template = McmContainers { openstack: false, stackit: true };
    }
    if was(W_PODS) {
        hide_pods(&mut facts);
    }
    facts
}

/// A write of a Machine by anybody: what becomes of it where the gate may be open.
#[must_use]
pub fn write_machine(config: &Config, index: usize, seed: &Seed, m: usize, machine: Machine, out: Out) -> Machine {
    if machine.id != Id::Legacy {
        return machine;
    }
    let mut facts = permissive(config, index, seed);
    lie_about_gate(&mut facts, out);
    let annotation = |flag: u8| machine.is(flag).then_some("true");
    let object = json!({
        "metadata": {
            "name": MACHINE_NAMES[m], "finalizers": ["machine.sapcloud.io/machine-controller-manager"],
            "deletionTimestamp": machine.is(TERMINATING).then_some("2000-01-01T00:00:00Z"),
            "annotations": {
                "stackit.cloud/migrated-machine": annotation(MIGRATED),
                "stackit.cloud/machine-should-be-migrated": annotation(MARKED),
            },
        },
        "spec": {"providerID": facts::provider_id(m, machine.id), "class": {"name": CLASS_NAMES[config.class_of[m]]}},
    });
    let decision = decide(&object, |object| decide_machine(Operation::Update, object, Known::Fresh(&facts)));
    if decision.outcome != Outcome::Changed {
        return machine;
    }
    let new = decision.new_id.map(|id| id.to_string()).unwrap_or_default();
    assert!(new == facts::provider_id(m, Id::Rewritten), "{new} is no ID of the server of {m}");
    Machine { id: Id::Rewritten, flags: machine.flags | MARKED | MIGRATED }
}

fn decide<T>(object: &serde_json::Value, with: impl FnOnce(&Object<'_>) -> T) -> T {
    let text = object.to_string();
    with(&parse_object(text.as_bytes()).unwrap())
}

fn lie_about_gate(facts: &mut NamespaceFacts, out: Out) {
    if let Some(namespace) = facts.namespace.as_mut().filter(|_| out.has(Gate::AdmissionGuard)) {
        namespace.guard = Some(GuardLabel::Closed);
    }
    if out.has(Gate::AdmissionArmed) {
        facts.migration.get_or_insert_default().armed = true;
    }
    if let Some(migration) = facts.migration.as_mut().filter(|_| out.has(Gate::AdmissionPaused)) {
        migration.paused = false;
    }
    if out.has(Gate::AdmissionClasses) {
        hide_openstack_classes(facts);
    }
    if out.has(Gate::AdmissionTemplate) {
        hide_template(facts);
    }
    if out.has(Gate::AdmissionPods) {
        hide_pods(facts);
    }
    if out.has(Gate::AdmissionProject) {
        facts.project = Some(facts::project());
    }
}

/// The gate forward: whether a class may turn to `stackit`, by some cache.
#[must_use]
pub fn class_may_flip(config: &Config, index: usize, seed: &Seed, c: usize, out: Out) -> bool {
    if out.has(Gate::GateForward) {
        return true;
    }
    if !config.lag_apart && !config.gate_is_prompt && seed.window.flips & (1 << c) != 0 {
        return true;
    }
    let mut facts = if config.lag_apart { permissive(config, index, seed) } else { facts::facts(config, index, seed) };
    if let Some(migration) = facts.migration.as_mut().filter(|_| out.has(Gate::ForwardWaived)) {
        migration.paused_by_rollback = false;
    }
    if out.has(Gate::ForwardPods) {
        hide_pods(&mut facts);
    }
    for (m, name) in MACHINE_NAMES.iter().enumerate() {
        let settled = out.has(Gate::ForwardSettled) || config.lag_apart && seed.window.settled & (1 << m) != 0;
        if let Some(machine) = facts.machines.get_mut(*name).filter(|_| settled) {
            machine.settled = true;
        }
    }
    let object = json!({"metadata": {"name": CLASS_NAMES[c]}, "provider": "stackit"}).to_string();
    let before: OldObject<'_> = serde_json::from_str(r#"{"provider": "OpenStack"}"#).unwrap();
    let object = parse_object(object.as_bytes()).unwrap();
    decide_machine_class(Operation::Update, &object, &before, Known::Fresh(&facts)).ruling != Ruling::Refused
}

/// A write of the Worker by Gardener: whether admission marks it, by some cache.
#[must_use]
pub fn worker_is_marked(config: &Config, index: usize, seed: &Seed, out: Out) -> bool {
    let mut facts = permissive(config, index, seed);
    for (m, name) in MACHINE_NAMES.iter().enumerate() {
        if out.has(Gate::WorkerDone) || seed.window.done & (1 << m) != 0 {
            facts.machines.remove(*name);
        }
    }
    if let Some(migration) = facts.migration.as_mut().filter(|_| out.has(Gate::WorkerLabelled)) {
        migration.labelled = true;
    }
    let (worker_name, worker) = match facts.workers.iter().next() {
        Some((name, worker)) => (name.clone(), worker.clone()),
        None => return false,
    };
    let operation = (!worker.operation.is_empty()).then_some(&*worker.operation);
    let object = json!({
        "metadata": {"name": &*worker_name, "annotations": {"gardener.cloud/operation": operation}},
        "spec": {"type": "stackit"},
        "status": {"lastOperation": {"type": &*worker.last_operation.type_, "state": &*worker.last_operation.state}},
    });
    decide(&object, |object| decide_worker(Operation::Update, object, Known::Fresh(&facts)).outcome == Outcome::Changed)
}

/// Policy `no-way-back`: whether it refuses an `OpenStack` class.
#[must_use]
pub fn no_way_back(config: &Config, seed: &Seed, out: Out) -> bool {
    seed.guard != Guard::None && seed.policies_see && !config.no_policies && !out.has(Gate::NoWayBack)
}

/// Policy `keep-ids`: whether it refuses that a `stackit://` ID changes.
#[must_use]
pub fn keep_ids(config: &Config, seed: &Seed, out: Out) -> bool {
    seed.guard == Guard::Closed && seed.policies_see && !config.no_policies && !out.has(Gate::KeepIds)
}

/// Policy `keep-guard`: whether it refuses that the label is removed. It has no selector, so it sees at once.
#[must_use]
pub fn keep_guard(config: &Config, seed: &Seed, out: Out) -> bool {
    seed.guard == Guard::Closed && !config.no_policies && !out.has(Gate::KeepGuard)
}

/// Policy `no-mixed`: whether it refuses a restored Machine with a `stackit://` ID.
#[must_use]
pub fn no_mixed(config: &Config, seed: &Seed, machine: Machine, out: Out) -> bool {
    matches!(machine.id, Id::Rewritten | Id::Born)
        && seed.classes.contains(&Class::OpenStack)
        && !config.no_policies
        && !out.has(Gate::NoMixed)
}
