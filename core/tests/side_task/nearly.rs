//! Random shoots in which nearly everything is as one step asks for it, and now and then one thing is not.

use mcm_migration_core::decide::{MachineFacts, McmPodFacts, MigrationFacts, NamespaceFacts, NamespaceLabels};
use mcm_migration_core::domain::{GuardLabel, McmContainers};
use mcm_migration_core::plan::{LeaseSighting, NodeSeen};
use proptest::collection::vec;
use proptest::prelude::*;

use super::generate::{CLASSES, MACHINES, NOW, case, chance, machine_name};
use super::{Case, Look, openstack_class, providers, secs, server_id, stackit_class};
use crate::worlds::{PROJECT, switched_shoot};

/// A shoot in which most that labels ask for is as it must be, and now and then one thing is not.
pub fn labelling_case() -> impl Strategy<Value = Case> {
    (case(0).boxed(), vec(chance(88), 9), 901..3_000_u64).prop_map(|(mut case, heal, ago)| {
        let facts = &mut case.facts;
        if heal[0] {
            let healthy = switched_shoot();
            (facts.cluster, facts.workers, facts.project) = (healthy.cluster, healthy.workers, healthy.project);
            facts.namespace = Some(NamespaceLabels { guard: Some(GuardLabel::Closed), terminating: false });
            facts.migration = Some(MigrationFacts { armed: true, ..facts.migration.unwrap_or_default() });
        }
        if heal[1] {
            case.classes = CLASSES.into_iter().map(|class| (class.into(), stackit_class())).collect();
            facts.classes = providers(&case.classes);
        }
        if heal[2] {
            facts.mcm_deployment = Some(McmContainers { openstack: false, stackit: true });
        }
        if heal[3] {
            let mut pod = McmPodFacts { uid: "uid-0".into(), node: "n-0".into(), ..McmPodFacts::default() };
            pod.containers.stackit = true;
            facts.mcm_pods = [("mcm-0".into(), pod)].into();
        }
        if heal[4] {
            for n in 0..MACHINES {
                let Some(machine) = facts.machines.get_mut(&*machine_name(n)) else { continue };
                machine.provider_id = format!("stackit://{PROJECT}/{}", server_id(n)).into();
                (machine.class, machine.migrated) = (CLASSES[0].into(), true);
            }
        }
        if heal[5] {
            case.nodes =
                Some((0..3).map(|n| NodeSeen { name: format!("n-{n}"), ready_since: Some(secs(0)) }).collect());
        }
        if heal[6] {
            (case.cloud.stopped, case.cloud.troubles) = (None, std::collections::BTreeMap::new());
            case.cloud.part_troubles.clear();
            case.cloud.parts_stopped.clear();
            for list in case.cloud.parts.values_mut() {
                list.at = list.at.max(secs(NOW - 60));
            }
            for list in case.cloud.lists.values_mut() {
                list.at = list.at.max(secs(NOW - 60));
            }
        }
        if heal[7] {
            for look in &mut case.looks {
                look.facts = case.facts.clone();
            }
        }
        if heal[8] {
            let looks = [(ago, 0), (800, 1), (700, 2), (0, 3)];
            case.looks = looks.map(|(ago, renewed)| seen_healthy(&case.facts, ago, renewed)).into();
        }
        case
    })
}

/// A shoot that has just been switched and has Machines without an ID, for some of which there is no server.
pub fn settling_case() -> impl Strategy<Value = Case> {
    let ago = prop_oneof![(1..600_u64).boxed(), (600..1_500_u64).boxed()];
    (case(2).boxed(), vec(chance(85), 4), ago, vec(chance(60), MACHINES), vec(chance(80), MACHINES)).prop_map(
        |(mut case, heal, ago, unsettled, listed)| {
            let facts = &mut case.facts;
            if heal[0] {
                let healthy = switched_shoot();
                (facts.cluster, facts.workers, facts.migration) = (healthy.cluster, healthy.workers, None);
                (facts.namespace, facts.mcm_pods) = (healthy.namespace, [].into());
                facts.mcm_deployment = healthy.mcm_deployment;
            }
            for (n, _) in unsettled.iter().enumerate().filter(|(_, unsettled)| **unsettled) {
                if let Some(machine) = facts.machines.get_mut(&*machine_name(n)) {
                    *machine = MachineFacts { class: CLASSES[0].into(), ..MachineFacts::default() };
                }
            }
            if heal[1] {
                case.classes.insert(CLASSES[0].into(), openstack_class());
                facts.classes = providers(&case.classes);
            }
            if heal[2] {
                (case.cloud.stopped, case.cloud.troubles) = (None, std::collections::BTreeMap::new());
            }
            for list in case.cloud.lists.values_mut() {
                let servers = std::sync::Arc::make_mut(&mut list.servers);
                servers.retain(|_, server| (0..MACHINES).any(|n| listed[n] && *server.name == *machine_name(n)));
            }
            if heal[3] {
                case.looks = [ago, 0].map(|ago| seen_healthy(&case.facts, ago, 0)).into();
                if ago % 5 == 0 {
                    case.looks[0].facts.mcm_deployment = Some(McmContainers { openstack: true, stackit: false });
                }
                case.looks[0].facts.machines.retain(|name, _| ago % 7 != 0 || name.len() > 4);
            }
            case
        },
    )
}

fn seen_healthy(facts: &NamespaceFacts, ago: u64, renewed: u8) -> Look {
    let lease = LeaseSighting { holder: "mcm-0".into(), renewed: format!("t{renewed}").into() };
    Look { at: secs(NOW - ago), facts: facts.clone(), lease: Some(Some(lease)), listed: true, lost: false }
}
