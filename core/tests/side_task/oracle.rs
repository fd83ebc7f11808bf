//! What design and domain ask, as plainly as possible and by other means than the code: from the list of looks itself.

use mcm_migration_core::decide::{McmPodFacts, NamespaceFacts};
use mcm_migration_core::domain::{GuardLabel, Provider, ServerId};
use mcm_migration_core::plan::{Moment, NodeSeen};

use super::{Case, Look, secs};

/// Neither the MachineClasses nor the Deployment nor a pod has to do with OpenStack.
pub fn no_openstack(facts: &NamespaceFacts) -> bool {
    !facts.classes.values().any(|provider| *provider == Provider::OpenStack)
        && !facts.mcm_deployment.is_some_and(|template| template.openstack)
        && no_openstack_pod(facts)
}

pub fn no_openstack_pod(facts: &NamespaceFacts) -> bool {
    facts.mcm_pods.values().all(|pod| pod.ended || !pod.containers.openstack)
}

/// The switch has begun and nobody creates servers in OpenStack any more.
pub fn switched(facts: &NamespaceFacts) -> bool {
    facts.mcm_deployment.is_some_and(|template| template.stackit && !template.openstack) && no_openstack_pod(facts)
}

pub fn closed(facts: &NamespaceFacts) -> bool {
    facts.namespace.as_ref().is_some_and(|namespace| namespace.guard == Some(GuardLabel::Closed))
}

/// The gate of the admission path, class by class.
pub fn gate_is_open(facts: &NamespaceFacts, class: &str) -> bool {
    closed(facts)
        && facts.migration.is_some_and(|migration| migration.armed && !migration.paused)
        && facts.classes.get(class) == Some(&Provider::Stackit)
        && no_openstack(facts)
        && facts.project.is_some()
}

/// Servers that the IDs of the other Machines end with.
pub fn named_by_others(facts: &NamespaceFacts, name: &str, server: ServerId) -> bool {
    let others = facts.machines.iter().filter(|(other, _)| &***other != name);
    others.into_iter().any(|(_, machine)| machine.provider_id.ends_with(&format!("/{server}")))
}

/// Since when every look, up to the last, has shown the Machine's present ID.
pub fn id_since(case: &Case, name: &str) -> Option<Moment> {
    let id = &case.facts.machines.get(name)?.provider_id;
    let shows = |look: &&Look| look.facts.machines.get(name).is_some_and(|machine| machine.provider_id == *id);
    case.looks.iter().rev().take_while(shows).last().map(|look| look.at)
}

/// Since when no look has shown that the OpenStack provider is there or may come back.
pub fn openstack_gone(case: &Case) -> Option<Moment> {
    looks_without_openstack(case).last().map(|look| look.at)
}

fn looks_without_openstack(case: &Case) -> impl Iterator<Item = &Look> {
    let mut lost = false;
    case.looks.iter().rev().take_while(move |look| {
        // What was seen before the caches were lost counts no more.
        let before = lost;
        lost |= look.lost;
        let template = look.facts.mcm_deployment.is_some_and(|template| template.openstack);
        !before && !template && no_openstack_pod(&look.facts)
    })
}

/// Whether the Machine was in the first list of Machines after the last OpenStack pod was gone; none without such a list.
pub fn was_there(case: &Case, name: &str) -> Option<bool> {
    let looks: Vec<&Look> = looks_without_openstack(case).collect();
    let first = looks.into_iter().rev().find(|look| look.listed)?;
    Some(first.facts.machines.contains_key(name))
}

/// Every Node is Ready for long enough, those excepted that are known to be off.
pub fn nodes_are_ready(case: &Case) -> bool {
    let rule = &case.settings.nodes;
    let ready = |node: &NodeSeen| node.ready_since.is_some_and(|since| case.now >= since + rule.ready_for);
    case.nodes.as_ref().is_some_and(|nodes| nodes.iter().all(|node| rule.except.contains(&node.name) || ready(node)))
}

/// Quarantine and evidence of design.md, rule 4 of the side task.
pub fn quarantine_is_proved(case: &Case, name: &str) -> Result<(), String> {
    let since = id_since(case, name).ok_or("the ID was not seen")?;
    let old = |moment: Moment| case.now >= moment + case.settings.quarantine;
    if !old(since) {
        return Err(format!("seen at {since:?} only"));
    }
    if !nodes_are_ready(case) {
        return Err("a Node is lost".to_owned());
    }
    let last = &case.looks.last().ok_or("no look")?.facts.mcm_pods;
    let alive: Vec<(&str, &McmPodFacts)> =
        last.iter().filter(|(_, pod)| !pod.ended).map(|(name, pod)| (&**name, pod)).collect();
    if alive.is_empty() {
        return Ok(());
    }
    let (holder, changed_after) = lease(case).ok_or("no Lease")?;
    let proved = |moment: Moment| old(moment) && changed_after.is_some_and(|after| after >= moment + secs(60));
    let ready_since = |pod: &McmPodFacts| {
        let nodes = case.nodes.iter().flatten();
        nodes.into_iter().find(|node| *node.name == *pod.node).map(|node| node.ready_since)
    };
    let (_, holds) = alive.iter().find(|(name, _)| *name == holder).ok_or("nobody holds the Lease")?;
    if !holds.containers.stackit || holds.containers.openstack {
        return Err("the holder is not the STACKIT provider".to_owned());
    }
    let awake =
        ready_since(holds).flatten().is_none_or(|ready| changed_after.is_some_and(|after| after >= ready + secs(60)));
    if !awake || !proved(since) {
        return Err("the holder did not renew".to_owned());
    }
    for (name, pod) in alive.iter().filter(|(_, pod)| pod.uid != holds.uid) {
        let healthy = || {
            let ready = ready_since(pod).flatten()?;
            let held = held(case, name, &pod.uid).unwrap_or_default();
            Some(pod.containers.stackit && !pod.containers.openstack && proved(since.max(ready).max(held)))
        };
        if !pod.node.is_empty() && !restarted_after(case, &pod.uid, since) && healthy() != Some(true) {
            return Err(format!("{name} may act"));
        }
    }
    Ok(())
}

/// The holder by the last read, and the moment after which `renewTime` changed last.
fn lease(case: &Case) -> Option<(String, Option<Moment>)> {
    let mut known = None::<(String, String, Moment, Option<Moment>)>;
    for look in &case.looks {
        let Some(read) = &look.lease else { continue };
        known = read.as_ref().map(|lease| {
            let changed_after = match &known {
                Some((_, renewed, _, after)) if *renewed == *lease.renewed => *after,
                Some((_, _, at, _)) => Some(*at),
                None => None,
            };
            (lease.holder.to_string(), lease.renewed.to_string(), look.at, changed_after)
        });
    }
    known.map(|(holder, _, _, after)| (holder, after))
}

/// When the pod was last seen as the holder.
fn held(case: &Case, name: &str, uid: &str) -> Option<Moment> {
    let holds = |look: &&Look| {
        let alive = look.facts.mcm_pods.get(name).is_some_and(|pod| &*pod.uid == uid && !pod.ended);
        alive && look.lease.iter().flatten().any(|lease| &*lease.holder == name)
    };
    case.looks.iter().rev().find(holds).map(|look| look.at)
}

fn restarted_after(case: &Case, uid: &str, since: Moment) -> bool {
    let mut before = None;
    let mut restarted = false;
    for look in &case.looks {
        for pod in look.facts.mcm_pods.values().filter(|pod| &*pod.uid == uid && !pod.ended) {
            restarted |= look.at > since && before.is_some_and(|before| before != pod.restarts);
            before = Some(pod.restarts);
        }
    }
    restarted
}
