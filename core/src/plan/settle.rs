//! The step *settle*: each Machine without an ID gets the ID of its server or is let go, while its class is still `OpenStack`.

use std::collections::BTreeSet;

use crate::decide::{Because, MachineFacts, NamespaceFacts};
use crate::domain::{LegacyProviderId, Provider, Reason, Server, ServerId, ServerStatus};

use super::{
    Action, ClassDetails, Kind, Moment, NodesNotYet, Ownership, Plan, Settings, Shoot, every_node_ready_long_enough,
};

pub(super) fn plan(shoot: &Shoot<'_>, owner: Ownership, now: Moment, settings: &Settings, plan: &mut Plan) {
    for (name, machine) in shoot.facts.machines.iter().filter(|(_, machine)| machine.is_unsettled()) {
        match shoot.facts.classes.get(&machine.class) {
            Some(Provider::OpenStack) => {
                if let Err(because) = settle(shoot, name, machine, now, settings, plan) {
                    plan.wait(Kind::Machine, name, because);
                }
            }
            // A Machine that STACKIT creates has no ID for a while; one that came here with its shoot, or from OpenStack, never gets one.
            Some(Provider::Stackit) if owner == Ownership::RestoringHere || machine.migrated => {
                plan.wait(
                    Kind::Machine,
                    name,
                    Because::about(Reason::InFlightUnresolved, "its class is `stackit` already"),
                );
            }
            _ => {}
        }
    }
}

/// Whether nobody creates servers in OpenStack for this shoot any more, and its switch has begun.
pub(super) fn openstack_is_gone(facts: &NamespaceFacts) -> bool {
    facts.switch_has_begun() && facts.openstack_mcm_pod().is_none()
}

fn settle(
    shoot: &Shoot<'_>,
    name: &str,
    machine: &MachineFacts,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) -> Result<(), Because> {
    if !openstack_is_gone(shoot.facts) {
        // Before the switch the OpenStack provider gives it its ID; while one of its pods lives on, it may still do so.
        return if shoot.facts.switch_has_begun() { Err(Because::of(Reason::InFlight)) } else { Ok(()) };
    }
    let gone = shoot.seen.other_gone().ok_or_else(|| Because::of(Reason::InFlight))?;
    // Where that is not known, one that wakes up on a hung Node may have asked for its server: the cloud is asked, as for those that were there.
    if shoot.seen.was_there(name) == Some(false) {
        return settle_without_server(shoot, name, gone, now, settings, plan);
    }
    let class =
        shoot.classes.get(&machine.class).ok_or_else(|| Because::about(Reason::ClassUnknown, &*machine.class))?;
    let region =
        class.region(&settings.regions).ok_or_else(|| Because::about(Reason::RegionUnknown, &*class.region))?;
    if let Some(trouble) = shoot.cloud.trouble(&region) {
        return Err(match trouble.reason {
            Reason::CloudUnavailable => trouble.clone(),
            _ => Because::about(Reason::InFlightUnresolved, trouble.to_string()),
        });
    }
    let Some(listed) = shoot.cloud.fresh(&region, now) else {
        plan.list(&region);
        return Err(Because::of(Reason::InFlight));
    };
    let mut named = listed.servers.values().filter(|server| &*server.name == name);
    let (first, second) = (named.next(), named.next());
    // By the moment that the LIST shows, so that an old one ends no wait.
    let left = settings.inflight_timeout.saturating_sub(listed.at.saturating_sub(gone));
    let others = servers_of_others(shoot.facts, name);
    match (first, second) {
        (Some(server), _) if others.contains(&server.id) => {
            Err(Because::about(Reason::InFlightUnresolved, "another Machine has the server of its name"))
        }
        (Some(_), Some(_)) => Err(Because::about(Reason::InFlightUnresolved, "several servers have its name")),
        (None, _) if left.is_zero() => settle_without_server(shoot, name, gone, now, settings, plan),
        (Some(server), None) if is_ready(server) => adopt(shoot, name, class, &region, server, plan),
        (Some(server), None) if left.is_zero() => {
            Err(Because::about(Reason::InFlightUnresolved, format!("its server is {:?} for too long", server.status)))
        }
        _ => {
            match settings.inflight_timeout.checked_sub(now.saturating_sub(gone)) {
                Some(left) if !left.is_zero() => plan.again_in(left),
                // The time is over, and the LIST is from before: only another one can tell.
                _ => plan.list(&region),
            }
            Err(Because::of(Reason::InFlight))
        }
    }
}

/// A pod that is gone from the API may still run on a Node that hangs, and ask for a server when it wakes up, of a Machine that was made meanwhile
/// too. So every Node must have been Ready for longer than that one can act.
fn settle_without_server(
    shoot: &Shoot<'_>,
    name: &str,
    gone: Moment,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) -> Result<(), Because> {
    let nodes = shoot.nodes.ok_or_else(|| Because::about(Reason::SeedNodeLost, "not listed yet"))?;
    every_node_ready_long_enough(nodes, gone, now, &settings.nodes).map_err(|not_yet| {
        if let NodesNotYet::Wait { left, .. } = &not_yet {
            plan.again_in(*left);
        }
        not_yet.because()
    })?;
    plan.act(Action::SettleNoServer { machine: name.into() });
    Ok(())
}

/// A server that will not change by itself any more.
fn is_ready(server: &Server) -> bool {
    matches!(server.status, ServerStatus::Active | ServerStatus::Error)
}

fn adopt(
    shoot: &Shoot<'_>,
    name: &str,
    class: &ClassDetails,
    region: &super::Region,
    server: &Server,
    plan: &mut Plan,
) -> Result<(), Because> {
    // The OpenStack provider adds them once the server is ACTIVE, the STACKIT one only when it creates; without them the Node is Ready and
    // its pods cannot be reached. A server in error has no pods.
    if server.status == ServerStatus::Active
        && !class.pod_network_cidrs.is_empty()
        && !shoot.cloud.addressed.contains(&server.id)
    {
        let network =
            class.network.ok_or_else(|| Because::about(Reason::InFlightUnresolved, "its class names no network"))?;
        plan.act(Action::Address {
            machine: name.into(),
            region: region.clone(),
            server: server.id,
            network,
            addresses: class.pod_network_cidrs.clone(),
        });
        return Err(Because::of(Reason::InFlight));
    }
    let provider_id = format!("openstack:///{}/{}", class.region, server.id);
    if LegacyProviderId::parse(&provider_id).is_none() {
        return Err(Because::about(Reason::RegionUnknown, &*class.region));
    }
    plan.act(Action::SettleId { machine: name.into(), provider_id });
    Ok(())
}

/// The servers that the IDs of the other Machines name, in whatever form.
fn servers_of_others(facts: &NamespaceFacts, name: &str) -> BTreeSet<ServerId> {
    let others = facts.machines.iter().filter(|(other, _)| &***other != name);
    others.filter_map(|(_, machine)| server_of(machine)).collect()
}

/// The server that a Machine's ID names: its last segment, in whatever form the ID is.
pub(super) fn server_of(machine: &MachineFacts) -> Option<ServerId> {
    ServerId::parse(machine.provider_id.rsplit('/').next()?).ok()
}
