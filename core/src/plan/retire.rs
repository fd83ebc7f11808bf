//! The step *retire*: a class that is left `OpenStack` and that nothing wants any more.

use serde_json::json;

use crate::decide::{Because, NamespaceFacts};
use crate::domain::{Provider, Reason};

use super::settle::openstack_is_gone;
use super::{Action, Kind, Plan, Settings, Shoot};

pub(super) fn plan(shoot: &Shoot<'_>, settings: &Settings, plan: &mut Plan) {
    if !openstack_is_gone(shoot.facts) {
        return;
    }
    let left = shoot.facts.classes.iter().filter(|(_, provider)| **provider == Provider::OpenStack);
    for (class, _) in left {
        match retire(shoot, class, settings) {
            Ok(action) => plan.act(action),
            Err(because) => plan.wait(Kind::MachineClass, class, because),
        }
    }
}

fn retire(shoot: &Shoot<'_>, class: &str, settings: &Settings) -> Result<Action, Because> {
    let facts = shoot.facts;
    if !facts.workers.values().all(|worker| worker.terminating) {
        every_wanted_deployment_is_switched(facts)?;
    }
    if let Some((machine, _)) = facts.machines.iter().find(|(_, m)| &*m.class == class && m.is_unsettled()) {
        return Err(Because::about(Reason::InFlight, &**machine));
    }
    let (sibling, provider_spec) = if let Some((name, spec)) = sibling(shoot, class) {
        (Some(name), spec)
    } else {
        // Enough to delete, and refused for creating.
        let details = shoot.classes.get(class).ok_or_else(|| Because::about(Reason::ClassUnknown, class))?;
        let region = details.region(&settings.regions);
        let region = region.ok_or_else(|| Because::about(Reason::RegionUnknown, &*details.region))?;
        (None, json!({"region": region.as_str()}))
    };
    Ok(Action::Retire { class: class.into(), sibling, provider_spec })
}

/// Whether Gardener has switched everything that it still wants. What it wants stands in the Worker's status; an empty status is one that
/// was not written yet.
fn every_wanted_deployment_is_switched(facts: &NamespaceFacts) -> Result<(), Because> {
    for (name, worker) in facts.workers.iter().filter(|(_, worker)| !worker.terminating) {
        if worker.wanted_machine_deployments.is_empty() {
            return Err(Because::about(Reason::ClassStillWanted, &**name));
        }
        for wanted in &worker.wanted_machine_deployments {
            let class = facts.machine_deployments.get(wanted);
            let provider = class.and_then(|class| facts.classes.get(class));
            if provider != Some(&Provider::Stackit) {
                return Err(Because::about(Reason::ClassStillWanted, &**wanted));
            }
        }
    }
    Ok(())
}

/// The class of the same pool and zone with another hash; else any other `stackit` class. Gardener names them
/// `<technical ID>-<pool>-z<N>-<hash>` (gardener-extension-provider-stackit `pkg/controller/worker/machines.go`).
fn sibling(shoot: &Shoot<'_>, class: &str) -> Option<(Box<str>, serde_json::Value)> {
    let pool = |name: &str| name.rsplit_once('-').map(|(pool, _)| pool.to_owned());
    let switched = || shoot.classes.iter().filter(|(_, details)| details.provider == Provider::Stackit);
    let same = switched().find(|(name, _)| pool(name).is_some() && pool(name) == pool(class));
    same.or_else(|| switched().next()).map(|(name, details)| (name.clone(), details.provider_spec.clone()))
}
