//! The step *label*, of what the OpenStack provider made apart for a server: network interface and root volume.
//!
//! The STACKIT provider v0.6.0 deletes neither. A label that is put while the Machine lives proves later, to the command `sweep`, whose they were.

use std::collections::BTreeMap;

use crate::decide::{Because, MachineFacts};
use crate::domain::{NetworkId, Part, PartId, PartKind, Reason, Region, Server, ServerId, keys};

use super::label::{is_label_value, may_be_labelled, missing};
use super::{Action, ClassDetails, Kind, Moment, Plan, Settings, Shoot};

/// A Machine whose server carries every label of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owner<'a> {
    pub(super) name: &'a str,
    pub(super) machine: &'a MachineFacts,
    pub(super) class: &'a ClassDetails,
    pub(super) region: &'a Region,
    pub(super) server: &'a Server,
}

/// Plans the labels of the parts of one server. Says whether they are known to be in place.
///
/// # Errors
/// Why they are not.
pub(super) fn plan(
    shoot: &Shoot<'_>,
    owner: &Owner<'_>,
    now: Moment,
    settings: &Settings,
    plan: &mut Plan,
) -> Result<bool, Because> {
    let wanted = part_labels(shoot.namespace, owner.name, owner.server.id);
    if let Some(value) = wanted.values().find(|value| !is_label_value(value)) {
        return Err(Because::about(Reason::NameTooLong, &**value));
    }
    let (mut known, mut because, mut gates) = (true, None, None);
    for kind in PartKind::ALL {
        if let Some(trouble) = shoot.cloud.part_trouble(owner.region, kind) {
            if owner.machine.marked {
                because.get_or_insert_with(|| trouble.clone());
            } else {
                known = false;
                plan.wait_once(Kind::Shoot, "", trouble.clone());
            }
            continue;
        }
        let list = Action::ListParts { region: owner.region.clone(), kind };
        let listed = shoot.cloud.parts.get(&(owner.region.clone(), kind));
        // Three lists are looked at together: one that may be acted on must not ask for another while these come in.
        let longest = settings.drift_every.max(Settings::LIST_MAX_AGE);
        let Some(listed) = listed.filter(|listed| listed.age(now) <= longest) else {
            plan.act_once(list);
            known = false;
            continue;
        };
        for part in listed.attached.get(&owner.server.id).into_iter().flatten() {
            if !is_made_apart(part, owner.name, owner.server.id, owner.class.network) {
                continue;
            }
            let labels = missing(&wanted, &part.labels);
            if labels.is_empty() {
                continue;
            }
            // Asked once, and only where something is to be written.
            let gates = gates.get_or_insert_with(|| {
                may_be_labelled(shoot, owner.name, owner.machine, owner.server, now, settings, plan)
            });
            if let Err(not_yet) = gates {
                because.get_or_insert_with(|| not_yet.clone());
                continue;
            }
            if listed.age(now) <= Settings::LIST_MAX_AGE {
                let (machine, region) = (owner.name.into(), owner.region.clone());
                plan.act(Action::LabelPart { machine, region, server: owner.server.id, part: part.id, labels });
            } else {
                plan.act_once(list.clone());
            }
            because.get_or_insert_with(|| Because::of(Reason::LabelsUnconfirmed));
        }
    }
    because.map_or(Ok(known), Err)
}

/// What a part of a migrated server carries. The key `<domain>/machineclass`, by which the STACKIT provider selects, is not among them.
#[must_use]
pub fn part_labels(namespace: &str, machine: &str, server: ServerId) -> BTreeMap<Box<str>, Box<str>> {
    [(keys::PART_MACHINE, machine), (keys::PART_SHOOT, namespace), (keys::PART_SERVER, server.as_str())]
        .map(|(key, value)| (key.into(), value.into()))
        .into()
}

/// Whether the OpenStack provider made it apart for the server of the Machine: it has the Machine's name, is attached to that very server, and is
/// a network interface in the network of its class, or a volume that can be booted from. A storage driver names its volumes after the claim, and
/// people name theirs otherwise; a network interface that was made along with the server has no such name.
///
/// Source: gardener/machine-controller-manager-provider-openstack `pkg/driver/executor`: the port when the class has a subnet, the volume when it
/// has a root disk type.
#[must_use]
pub fn is_made_apart(part: &Part, machine: &str, server: ServerId, network: Option<NetworkId>) -> bool {
    let is_its = &*part.name == machine && part.server == Some(server) && !part.of_network && !part.is_of_csi();
    is_its
        && match part.id {
            PartId::Nic { network: of, .. } => network.is_none_or(|network| network == of),
            PartId::Volume(_) => part.bootable,
        }
}
