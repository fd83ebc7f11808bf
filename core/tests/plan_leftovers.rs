//! What `sweep` may delete: never what is attached, never a live Machine's, never what this program did not label, never a storage driver's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod side_task;
mod worlds;

use std::collections::BTreeMap;

use mcm_migration_core::decide::{MachineFacts, MigrationFacts, NamespaceFacts, NamespaceLabels};
use mcm_migration_core::domain::{GuardLabel, Part, PartKind, ProjectId, Server, ServerId};
use mcm_migration_core::plan::{Alive, Kept, Leftover, Ownership, Remains, confirmed, leftovers, ownership};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use side_task::example::{CLASS, rewritten, server};
use side_task::generate::case;
use side_task::oracle::{closed, no_openstack};
use side_task::parts::made_apart;
use side_task::{NAMESPACE, providers, server_id, stackit_class};
use worlds::{PROJECT, switched_shoot};

const NAMES: usize = 6;

/// Everything that a sweep of one shoot goes by.
#[derive(Debug, Clone)]
struct Seen {
    facts: NamespaceFacts,
    servers: BTreeMap<ServerId, Server>,
    parts: Vec<Part>,
    /// Machines of the whole seed.
    machines: Vec<(String, MachineFacts)>,
}

impl Seen {
    fn leftovers(&self) -> Vec<Leftover> {
        let alive = Alive::of(self.machines.iter().map(|(name, machine)| (name.as_str(), machine)));
        let project = ProjectId::parse(PROJECT).unwrap();
        let (facts, servers, parts) = (&self.facts, &self.servers, &self.parts);
        leftovers(&Remains { namespace: NAMESPACE, facts, project, servers, parts, alive: &alive })
    }

    fn removable(&self) -> Vec<Part> {
        self.leftovers().into_iter().filter(|leftover| leftover.fate.is_ok()).map(|leftover| leftover.part).collect()
    }
}

fn name(n: usize) -> String {
    format!("{NAMESPACE}-w-{n}")
}

/// A guarded shoot of this seed with nothing of OpenStack left.
fn settled_shoot() -> NamespaceFacts {
    NamespaceFacts {
        namespace: Some(NamespaceLabels { guard: Some(GuardLabel::Closed), terminating: false }),
        migration: Some(MigrationFacts { armed: true, ..MigrationFacts::default() }),
        classes: providers(&[(CLASS.into(), stackit_class())].into()),
        ..switched_shoot()
    }
}

/// What a gone Machine leaves behind.
fn left(kind: PartKind, n: usize) -> Part {
    let mut part = made_apart(kind, server_id(n), &name(n));
    (part.server, part.idle) = (None, true);
    for (key, value) in [("machine", name(n)), ("shoot", NAMESPACE.to_owned()), ("server", server_id(n).to_string())] {
        part.labels.insert(format!("mcm-migration-{key}").into(), value.into());
    }
    part
}

fn part() -> impl Strategy<Value = Part> {
    let kind = select(PartKind::ALL.to_vec());
    (kind, 0..NAMES, 0..24_u8, 0..NAMES).prop_map(|(kind, n, odd, other)| {
        let mut part = left(kind, n);
        let mut set = |key: &str, value: String| drop(part.labels.insert(key.into(), value.into()));
        match odd {
            0 => part.server = Some(server_id(n)),
            1 => part.server = Some(server_id(90)),
            2 => part.idle = false,
            3 => part.labels.clear(),
            4 => part.name = name(other).into(),
            5 => part.name = "pvc-0d9f".into(),
            6 => set("mcm-migration-machine", name(other)),
            7 => set("mcm-migration-shoot", "shoot--p--other".to_owned()),
            8 => set("mcm-migration-server", server_id(other).to_string()),
            9 => set("mcm-migration-server", "none".to_owned()),
            10 => set("csi.example.org/cluster", "c".to_owned()),
            11 => part.of_network = true,
            12 => drop(part.labels.remove("mcm-migration-server")),
            13 => (part.name, part.labels) = ("pvc-1".into(), BTreeMap::new()),
            _ => {}
        }
        part
    })
}

fn seen() -> impl Strategy<Value = Seen> {
    let facts = prop_oneof![3 => Just(settled_shoot()), 1 => case(0).prop_map(|case| case.facts)];
    let servers = vec((0..NAMES, 0..NAMES), 0..2);
    let machines = vec((0..NAMES, 0..NAMES, 0..6_u8), 0..3);
    (facts, vec(part(), 0..8), servers, machines).prop_map(|(facts, parts, servers, machines)| Seen {
        facts,
        parts,
        servers: servers.into_iter().map(|(n, named)| (server_id(n), server(n, &name(named)))).collect(),
        machines: machines
            .into_iter()
            .map(|(n, id, odd)| {
                let mut machine = rewritten(id);
                match odd {
                    0 => machine.provider_id = "".into(),
                    1 => (machine.provider_id, machine.settled) = ("".into(), true),
                    2 => machine.provider_id = format!("openstack:///RegionOne/{}", server_id(id)).into(),
                    3 => machine.terminating = true,
                    _ => {}
                }
                (name(n), machine)
            })
            .collect(),
    })
}

fn label<'a>(part: &'a Part, key: &str) -> &'a str {
    part.labels.get(&*format!("mcm-migration-{key}")).map_or("", |value| value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn only_what_was_labelled_and_is_nobodys_is_deleted(seen in seen()) {
        for part in seen.removable() {
            prop_assert!(part.server.is_none() && part.idle && !part.of_network, "attached: {:?}", part);
            prop_assert!(!part.name.starts_with("pvc-") && !part.labels.keys().any(|key| key.contains("csi")));
            prop_assert_eq!(label(&part, "machine"), &*part.name);
            prop_assert_eq!(label(&part, "shoot"), NAMESPACE);
            let server = label(&part, "server");
            prop_assert!(ServerId::parse(server).is_ok());
            for (machine, facts) in &seen.machines {
                prop_assert!(*machine != *part.name, "{} lives", machine);
                prop_assert!(!facts.provider_id.ends_with(server), "{} has its server", machine);
            }
            for there in seen.servers.values() {
                prop_assert!(there.id.as_str() != server && there.name != part.name, "its server is there");
            }
            let facts = &seen.facts;
            prop_assert!(closed(facts) && no_openstack(facts) && ownership(facts) == Ok(Ownership::Ours));
            prop_assert!(!facts.migration.is_some_and(|migration| migration.paused));
            prop_assert_eq!(facts.project.map(|project| project.to_string()), Some(PROJECT.to_owned()));
        }
    }

    #[test]
    fn what_is_deleted_was_seen_twice_and_the_very_same(before in seen(), after in seen()) {
        let (first, second) = (before.removable(), after.removable());
        let both = confirmed(&before.leftovers(), &after.leftovers());
        for part in &both {
            prop_assert!(first.contains(part) && second.contains(part));
        }
    }

    #[test]
    fn what_a_gone_machine_left_behind_is_found(seen in seen(), n in 0..NAMES) {
        let mut seen = Seen { facts: settled_shoot(), ..seen };
        seen.machines.retain(|(machine, facts)| *machine != name(n) && !facts.provider_id.ends_with(server_id(n).as_str()));
        seen.servers.retain(|id, server| *id != server_id(n) && *server.name != *name(n));
        seen.parts = PartKind::ALL.map(|kind| left(kind, n)).into();
        prop_assert_eq!(seen.removable().len(), 2);
        prop_assert_eq!(confirmed(&seen.leftovers(), &seen.leftovers()).len(), 2);
    }
}

#[test]
fn what_is_only_told_says_why() {
    let part = left(PartKind::Nic, 0);
    let shown = |part: Part, machines: Vec<(String, MachineFacts)>, servers: Vec<Server>| {
        let servers = servers.into_iter().map(|server| (server.id, server)).collect();
        let seen = Seen { facts: settled_shoot(), servers, parts: vec![part], machines };
        seen.leftovers().pop().map(|leftover| leftover.fate)
    };
    assert_eq!(shown(part.clone(), vec![], vec![]), Some(Ok(())));
    assert_eq!(shown(part.clone(), vec![(name(0), rewritten(0))], vec![]), None, "it is no leftover");
    assert_eq!(shown(part.clone(), vec![], vec![server(0, "x")]), Some(Err(Kept::ServerThere(server_id(0)))));
    let mut bare = part;
    bare.labels.clear();
    assert_eq!(shown(bare.clone(), vec![], vec![]), Some(Err(Kept::Unlabelled)));
    let settled = MachineFacts { settled: true, ..MachineFacts::default() };
    assert_eq!(shown(bare, vec![(name(0), settled)], vec![]), Some(Err(Kept::SettledNoServer)));
}
