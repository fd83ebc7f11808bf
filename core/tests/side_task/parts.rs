//! Network interfaces and volumes of servers, and which of them are a Machine's, in the plainest form.

use std::collections::BTreeMap;

use mcm_migration_core::domain::{NetworkId, NicId, Part, PartId, PartKind, ServerId, VolumeId};
use mcm_migration_core::plan::ListedParts;
use proptest::collection::vec;
use proptest::prelude::*;

use super::generate::{MACHINES, NOW, machine_name};
use super::{NAMESPACE, NETWORK, secs, server_id};

/// The network interface or the root volume that the OpenStack provider makes apart for a server.
pub fn made_apart(kind: PartKind, server: ServerId, name: &str) -> Part {
    let id = server.as_str();
    let id = match kind {
        PartKind::Nic => PartId::Nic { network: NetworkId::parse(NETWORK).unwrap(), nic: NicId::parse(id).unwrap() },
        PartKind::Volume => PartId::Volume(VolumeId::parse(id).unwrap()),
    };
    let bootable = kind == PartKind::Volume;
    Part {
        id,
        name: name.into(),
        server: Some(server),
        idle: false,
        bootable,
        of_network: false,
        labels: BTreeMap::new(),
    }
}

/// What such a part must carry.
pub fn wanted(name: &str, server: ServerId) -> BTreeMap<String, String> {
    [
        ("mcm-migration-machine".to_owned(), name.to_owned()),
        ("mcm-migration-shoot".to_owned(), NAMESPACE.to_owned()),
        ("mcm-migration-server".to_owned(), server.to_string()),
    ]
    .into()
}

pub fn carries(part: &Part, wanted: &BTreeMap<String, String>) -> bool {
    wanted.iter().all(|(key, value)| part.labels.get(&**key).is_some_and(|is| **is == **value))
}

/// Whether it is the Machine's, asked by other means than the code: what a storage driver, a person or the network itself made is not.
pub fn is_the_machines(part: &Part, name: &str, server: ServerId) -> bool {
    let named = part.name.as_bytes() == name.as_bytes() && part.server.is_some_and(|of| of.as_str() == server.as_str());
    let by_others = part.of_network || part.labels.keys().any(|key| key.contains("csi"));
    let right = match part.id {
        PartId::Nic { network, .. } => network.as_str() == NETWORK,
        PartId::Volume(_) => part.bootable,
    };
    named && right && !by_others
}

/// The LIST of a kind, in which nearly every server has its own part and now and then something is odd.
pub fn listed(kind: PartKind) -> impl Strategy<Value = Option<ListedParts>> {
    let age = prop_oneof![9 => 0..=60_u64, 1 => 61..3_000_u64, 1 => 3_600..5_000_u64];
    let odd = vec((0..24_u8, 0..8_u8), MACHINES);
    (prop_oneof![9 => Just(true), 1 => Just(false)], age, odd).prop_map(move |(there, age, odd)| {
        let parts = odd.into_iter().enumerate().map(|(n, (odd, labels))| part(kind, n, odd, labels));
        there.then(|| ListedParts::new(parts, secs(NOW - age)))
    })
}

fn part(kind: PartKind, n: usize, odd: u8, labels: u8) -> Part {
    let mut part = made_apart(kind, server_id(n), &machine_name(n));
    let mut set = |key: &str, value: &str| drop(part.labels.insert(key.into(), value.into()));
    match labels {
        0..3 => {}
        3..6 => wanted(&machine_name(n), server_id(n)).iter().for_each(|(key, value)| set(key, value)),
        6 => set("mcm-migration-machine", "somebody"),
        _ => set("team", "blue"),
    }
    match odd {
        0 => part.name = "somebody".into(),
        1 => part.server = None,
        2 => part.bootable = !part.bootable,
        3 => part.of_network = true,
        4 => drop(part.labels.insert("csi.example.org/cluster".into(), "c".into())),
        5 => {
            if let PartId::Nic { network, .. } = &mut part.id {
                *network = NetworkId::parse(server_id(99).as_str()).unwrap();
            }
        }
        6 => part.server = Some(server_id(n + 1)),
        _ => {}
    }
    part
}
